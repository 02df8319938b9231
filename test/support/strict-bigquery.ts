/**
 * A proxy before the emulator that enforces the missing rules of BigQuery. Job ids are used once, jobs take time,
 * changing statements conflict, responses get lost. Job errors are worded as BigQuery words them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { listen } from './listen.ts';

/** Steps of a load as the service sees them; a test may stop a client at any of them. */
export const strictPoints = [
  ...(['staging-asked', 'staging-made', 'load-asked', 'load-accepted', 'load-answered', 'load-done'] as const),
  ...(['script-asked', 'script-accepted', 'script-answered', 'script-done', 'drop-asked', 'drop-done'] as const),
] as const;
type StrictPoint = (typeof strictPoints)[number];

interface WireError {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

export type Trouble =
  /** The connection breaks before the request is carried out. */
  | { readonly kind: 'lost-request' }
  /** The request is carried out and its answer never arrives. */
  | { readonly kind: 'lost-response' }
  /** The request is refused; no id is used up. */
  | { readonly kind: 'refused'; readonly error: WireError }
  /** The job is accepted and ends in this error; its id is used up. */
  | { readonly kind: 'job-error'; readonly reason: string; readonly message: string };

export type StrictBigquery = Awaited<ReturnType<typeof startStrictBigquery>>;

type Job = NonNullable<Arrival['job']>;
type StoredJob = { resource: Record<string, unknown>; finished: Promise<void> };

export const startStrictBigquery = async (options: { readonly upstream: string }) => {
  const jobs = new Map<string, StoredJob>();
  const underWay = new Map<string, { readonly changed: readonly string[]; readonly isTransaction: boolean }>();
  const troubles = { load: [] as Trouble[], script: [] as Trouble[], other: [] as Trouble[] };
  const accepted = { load: 0, script: 0, query: 0 };
  const limits = { rowBytes: Number.POSITIVE_INFINITY };
  const tables = new Map<string, string | null>();
  let listener: (point: StrictPoint) => void | Promise<void> = () => undefined;
  // The emulator does not isolate what runs at once.
  let turn: Promise<unknown> = Promise.resolve();

  const forward = async ({ url, method, headers, body }: Arrival): Promise<{ status: number; body: string }> => {
    const sent = { method, headers, ...(body.length > 0 && { body: new Uint8Array(body) }) };
    const response = await fetch(`${options.upstream}${url}`, sent);
    return { status: response.status, body: await response.text() };
  };

  /** Takes a job among those under way; says how it ends if others stand in its way. */
  const begin = ({ id, kind, sql, destination, createDisposition }: Job, media: Arrival['media']) => {
    const rows = media?.bytes.toString().split('\n') ?? [];
    if (rows.some(({ length }) => length > limits.rowBytes))
      return { reason: 'invalid', message: `Error while reading data: Row size is larger than: ${limits.rowBytes}.` };
    if (kind === 'load' && createDisposition === 'CREATE_NEVER' && !tables.has(destination ?? ''))
      return { reason: 'notFound', message: `Not found: Table ${destination}` };
    if (kind !== 'script') return undefined;
    const [changed, isTransaction] = [changedTables(sql), /\bBEGIN TRANSACTION\b/i.test(sql)];
    const rivals = [...underWay.values()].filter((other) => other.changed.some((table) => changed.includes(table)));
    underWay.set(id, { changed, isTransaction });
    if (!rivals.some((rival) => isTransaction || rival.isTransaction)) return undefined;
    const message = `Transaction is aborted due to concurrent update against table ${changed[0]}. Could not serialize access to table ${changed[0]} due to concurrent update`;
    return { reason: 'invalidQuery', message };
  };

  const runJob = (arrival: Arrival, asked: Job, job: StoredJob, trouble: Trouble | undefined): void => {
    const { id, kind } = asked;
    const conflict = begin(asked, arrival.media);
    const work = async (): Promise<void> => {
      try {
        const fault = trouble?.kind === 'job-error' ? trouble : conflict;
        if (fault !== undefined) return finish(job, { reason: fault.reason, message: fault.message });
        const { status, error } = JSON.parse((await forward(gunzipMedia(arrival))).body);
        finish(job, error === undefined ? status?.errorResult : (error.errors?.[0] ?? error));
      } finally {
        underWay.delete(id);
        if (kind !== 'query') await listener(`${kind}-done`);
      }
    };
    job.finished = turn.then(work, work);
    turn = job.finished.catch(() => undefined);
  };

  const submit = async (arrival: Arrival, asked: Job, response: ServerResponse): Promise<void> => {
    const { id, kind } = asked;
    if (kind !== 'query') await listener(`${kind}-asked`);
    const trouble = kind === 'query' ? undefined : troubles[kind].shift();
    if (trouble?.kind === 'lost-request') return void response.destroy();
    if (trouble?.kind === 'refused') return answerError(response, trouble.error);
    if (jobs.has(id))
      return answerError(response, { status: 409, reason: 'duplicate', message: `Already Exists: Job ${id}` });
    const jobReference = { projectId: arrival.project, jobId: id, location: 'EU' };
    const resource = { kind: 'bigquery#job', jobReference, status: { state: 'RUNNING' } };
    const job: StoredJob = { resource, finished: Promise.resolve() };
    jobs.set(id, job);
    accepted[kind] += 1;
    if (kind !== 'query') await listener(`${kind}-accepted`);
    runJob(arrival, asked, job, trouble);
    if (trouble?.kind === 'lost-response') return void response.destroy();
    answer(response, 200, JSON.stringify(job.resource));
    if (kind !== 'query') await listener(`${kind}-answered`);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const arrival = await parseArrival(request);
    if (arrival.job !== undefined && !arrival.dryRun) return await submit(arrival, arrival.job, response);
    const trouble = troubles.other.shift();
    if (trouble?.kind === 'lost-request') return void response.destroy();
    if (trouble?.kind === 'refused') return answerError(response, trouble.error);
    const jobId = /^\/bigquery\/v2\/projects\/[^/]+\/jobs\/([^/?]+)/.exec(arrival.url)?.[1];
    if (jobId !== undefined && arrival.method === 'GET') {
      const job = jobs.get(jobId);
      if (job === undefined)
        return answerError(response, { status: 404, reason: 'notFound', message: 'Not found: Job' });
      // A client that asks every few milliseconds takes more processor time than the emulator.
      await Promise.race([job.finished.catch(() => undefined), delay(250)]);
      return answer(response, 200, JSON.stringify(job.resource));
    }
    const result = await pass(arrival);
    if (trouble?.kind === 'lost-response') return void response.destroy();
    answer(response, result.status, result.body);
  };

  const pass = async (arrival: Arrival): Promise<{ status: number; body: string }> => {
    const { made, dropped } = arrival;
    if (made?.staging === true) await listener('staging-asked');
    if (dropped !== undefined) await listener('drop-asked');
    const result = await forward(arrival);
    if (result.status < 300 && made !== undefined) tables.set(made.name, made.expirationTime);
    if (result.status < 300 && dropped !== undefined) tables.delete(dropped);
    if (made?.staging === true) await listener('staging-made');
    if (dropped !== undefined) await listener('drop-done');
    return result;
  };

  const { url, close } = await listen((request, response) => {
    handle(request, response).catch((cause: Error) => {
      if (!response.headersSent)
        answerError(response, { status: 500, reason: 'internalError', message: cause.message });
    });
  });
  return {
    url,
    /** Faults of the next submissions of load or script jobs, first in first out. */
    troubles,
    /** BigQuery takes rows of 100 MB in a load of JSON. */
    limits,
    /** Jobs accepted, by kind. */
    accepted,
    /** Expiry of every table that was made and not dropped since; null = none. */
    tables,
    /** Waits for whatever the test does at that point before going on. */
    onPoint: (next: (point: StrictPoint) => void | Promise<void>) => {
      listener = next;
    },
    async close() {
      await turn;
      await close();
    },
  };
};

const finish = (job: StoredJob, errorResult: unknown): void => {
  job.resource = { ...job.resource, status: { state: 'DONE', errorResult } };
};

/** The emulator does not unpack what it is sent. */
const gunzipMedia = (arrival: Arrival): Arrival => {
  if (arrival.media === undefined || arrival.media.bytes.readUInt16BE(0) !== 0x1f8b) return arrival;
  const { before, bytes, after } = arrival.media;
  return { ...arrival, body: Buffer.concat([before, gunzipSync(bytes), after]) };
};

const answer = (response: ServerResponse, status: number, body: string): void => {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(body);
};

const answerError = (response: ServerResponse, { status, reason, message }: WireError): void => {
  const error = { code: status, message, errors: [{ domain: 'global', reason, message }] };
  answer(response, status, JSON.stringify({ error }));
};

type Arrival = Awaited<ReturnType<typeof parseArrival>>;

/** The subject of a request: the job, table and statement in it. */
const parseArrival = async (request: IncomingMessage) => {
  const body = Buffer.concat(await request.toArray());
  const { url = '/', method = 'GET' } = request;
  const type = request.headers['content-type'];
  const path = /^(?:\/upload)?\/bigquery\/v2\/projects\/([^/]+)(\/[^?]*)?/.exec(url);
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  const rest = path?.[2] ?? '';
  const nothing = { dryRun: false, job: undefined, media: undefined };
  const asked = method === 'POST' && rest === '/jobs' ? parseJob(url, type ?? '', body) : nothing;
  return { method, url, project: path?.[1] ?? '', headers, body, ...asked, ...parseTableRequest(method, rest, body) };
};

const parseJob = (url: string, type: string, body: Buffer) => {
  const media = url.startsWith('/upload') ? splitMultipart(type, body) : undefined;
  const { jobReference, configuration } = JSON.parse((media?.json ?? body).toString());
  const sql: string = configuration.query?.query ?? '';
  const { destinationTable: target, createDisposition } = configuration.load ?? {};
  const id: string = jobReference?.jobId ?? `unnamed_${Math.random()}`;
  /** `script` changes something, `query` only reads. */
  const ofQuery = changedTables(sql).length > 0 ? ('script' as const) : ('query' as const);
  const kind = target === undefined ? ofQuery : ('load' as const);
  const destination: string | undefined = target && `${target.datasetId}.${target.tableId}`;
  return { dryRun: configuration.dryRun === true, job: { id, kind, sql, destination, createDisposition }, media };
};

const splitMultipart = (type: string, body: Buffer) => {
  const boundary = `--${/boundary=([^;]+)/.exec(type)?.[1] ?? ''}`;
  const jsonStart = body.indexOf('\r\n\r\n') + 4;
  const second = body.indexOf(`\r\n${boundary}`, jsonStart);
  const mediaStart = body.indexOf('\r\n\r\n', second + 2) + 4;
  const mediaEnd = body.lastIndexOf(`\r\n${boundary}--`);
  return {
    json: body.subarray(jsonStart, second),
    before: body.subarray(0, mediaStart),
    bytes: body.subarray(mediaStart, mediaEnd),
    after: body.subarray(mediaEnd),
  };
};

/** Tables (`dataset.table`) that the statements of a script change. */
const changedTables = (sql: string): string[] => {
  const statement = /\b(?:INSERT INTO|MERGE|DELETE FROM|UPDATE)\s+`?(?:[\w-]+\.)?(\w+\.\w+)`?/gi;
  return [...new Set([...sql.matchAll(statement)].map(([, table = '']) => table))];
};

const parseTableRequest = (method: string, path: string, body: Buffer) => {
  const none = { made: undefined, dropped: undefined };
  const tables = /^\/datasets\/(\w+)\/tables(?:\/(\w+))?$/.exec(path);
  if (tables === null) return none;
  const [, dataset, table] = tables;
  if (method === 'DELETE') return { ...none, dropped: `${dataset}.${table}` };
  if (method !== 'POST') return none;
  const { tableReference, expirationTime = null } = JSON.parse(body.toString());
  const { tableId } = tableReference as { tableId: string };
  return { ...none, made: { name: `${dataset}.${tableId}`, staging: tableId.includes('staging'), expirationTime } };
};
