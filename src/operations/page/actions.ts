/** What an operator may do on the page: each action is a form that is posted to a path of its own. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallsyncError } from '../../errors.ts';
import type { Access } from './access.ts';

/** Does it and returns in words what was done. @throws CallsyncError that the page shows to the operator who asked. */
export type Action = (fields: URLSearchParams, actor: string) => Promise<string>;

export type ActionName = 'pause' | 'resume' | 'backfill' | 'reconcile' | 'replay';
export type Actions = Readonly<Record<ActionName, Action>>;

export interface ActionAnswer {
  readonly status: number;
  readonly text: string;
}

const prefix = '/actions/';
const maxBodyBytes = 4_096;
/** Actions under way at once. */
const maxActions = 4;

export const isActionPath = (path: string): boolean => path.startsWith(prefix);

/** Runs the action that a request asks for, if its sender may. 303 = done, back to the page. */
export const createActionRunner = (access: Access, actions: Actions) => {
  let underWay = 0;
  const run = async (request: IncomingMessage): Promise<ActionAnswer> => {
    if (request.method !== 'POST') return { status: 405, text: 'Actions are posted.\n' };
    const name = (request.url ?? '').slice(prefix.length).split('?', 1)[0] ?? '';
    if (!Object.hasOwn(actions, name)) return { status: 404, text: 'There is no such action.\n' };
    const body = await readBody(request);
    if (body === undefined) return { status: 413, text: 'The form is too large.\n' };
    const fields = new URLSearchParams(body);
    // Before the question for a token, so that no foreign page can make the browser ask for one.
    if (!access.isOurForm(request, fields.get('form') ?? '')) {
      return { status: 403, text: 'This form is not of this page as it is now. Load the page again.\n' };
    }
    const actor = access.actorOf(request);
    if (actor === undefined) return { status: 401, text: 'A token of operations.actors is needed.\n' };
    try {
      return { status: 303, text: await actions[name as ActionName](fields, actor) };
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      return {
        status: error.kind === 'terminal' ? 400 : 503,
        text: `${error.code}: ${error.message} ${error.hint ?? ''}\n`,
      };
    }
  };
  return async (request: IncomingMessage, response: ServerResponse): Promise<ActionAnswer> => {
    if (underWay >= maxActions) return { status: 503, text: 'Too many actions at once; try again.\n' };
    underWay += 1;
    try {
      const answer = await run(request);
      if (answer.status === 401) response.setHeader('www-authenticate', 'Basic realm="callsync", charset="UTF-8"');
      if (answer.status === 303) response.setHeader('location', '/#events');
      return answer;
    } finally {
      underWay -= 1;
    }
  };
};

const readBody = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};
