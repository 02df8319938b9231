import { userInfo } from 'node:os';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Command } from 'commander';
import { createAccess } from '../../health/page/access.ts';
import { readCertificate } from '../../lib/certificate.ts';
import { terminal } from '../../lib/errors.ts';
import { openSecret } from '../../lib/secret.ts';
import { openMartColumns } from '../../marts/marts.ts';
import { createAssistant } from '../../mcp/assistant.ts';
import { serveHttp } from '../../mcp/serve-http.ts';
import { openRecorder } from '../../store/status/recorder.ts';
import { kindOf } from '../../warehouse/kinds.ts';
import { openStoreServer } from '../parts/open-store.ts';
import { chooseWarehouse } from '../parts/open-warehouse.ts';
import type { Services } from '../parts/services.ts';
import {
  type CommonOptions,
  say,
  untilStopped,
  wholeNumber,
  withCommonOptions,
  withServices,
} from '../shell/command.ts';
import { readVersion } from '../shell/version.ts';
import { explainAt } from './query.ts';

interface McpOptions extends CommonOptions {
  readonly warehouse?: string;
  readonly transcripts?: boolean;
  readonly http?: number;
  readonly listen: string;
  readonly eventsUrlFile?: string;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxSeconds: number;
  readonly maxBilledGb: number;
}

const gigabyte = 2 ** 30;
const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

export const addMcp = (command: Command): void => {
  withCommonOptions(command)
    .option('--warehouse <name>', 'warehouse to read (default: the first Postgres warehouse, else the first)')
    .option('--transcripts', 'let assistants read transcripts, telephone numbers and free fields')
    .option(
      '--http <port>',
      'serve streamable HTTP on this port, instead of standard input and output',
      wholeNumber(0, 65_535),
    )
    .option('--listen <address>', 'with --http: address to listen on', '127.0.0.1')
    .option('--events-url-file <file>', 'file with the URL of a role that may insert events into the store')
    .option('--max-rows <n>', 'most rows of an answer', wholeNumber(1, 100_000), 1_000)
    .option('--max-bytes <n>', 'most bytes of the rows of an answer', wholeNumber(1_000, 100_000_000), 1_000_000)
    .option('--max-seconds <n>', 'longest time of a query, in seconds', wholeNumber(1, 600), 30)
    .option('--max-billed-gb <n>', 'on BigQuery, most gigabytes that a query may read', wholeNumber(1), 10)
    .addHelpText(
      'after',
      `
Examples:
  callsync mcp
  callsync mcp --transcripts --warehouse main
  callsync mcp --http 9470
  claude mcp add callsync -- npx callsync mcp --config callsync.yaml

Assistants that speak the Model Context Protocol start this command, or connect to http://127.0.0.1:PORT/mcp. They read tables and
marts under a restricted role: no transcript, telephone number or free field. callsync records each tool call as an event: user,
tool, number of rows. On addresses other than loopback, --http requires operations.tls and a token (operations.actors).`,
    )
    .action((options: McpOptions) => withServices(options, (services) => runMcp(services, options)));
};

const runMcp = async (services: Services, options: McpOptions): Promise<void> => {
  const { config } = services;
  const openHttp = options.http === undefined ? undefined : checkHttp(services, options.listen);
  const { name, settings } = chooseWarehouse(config, options.warehouse);
  const kind = kindOf(settings);
  const storeUrl = await openStoreServer(services);
  const warehouse = kind.create({ name, config: settings, storeUrl, ...withoutLoads });
  services.defer(() => warehouse.close());
  const place = kind.place(settings);
  const reader = warehouse.openReader({
    marts: place.marts,
    queryMs: options.maxSeconds * 1_000,
    restricted:
      options.transcripts === true
        ? undefined
        : {
            analyst: 'callsync_analyst',
            restricted: 'callsync_restricted',
            marts: place.marts,
            openMarts: settings.marts ? openMartColumns : {},
          },
  });
  services.defer(() => reader.close());
  const recorder = openRecorder({
    owner: () => storeUrl,
    url: openSecret({ key: 'the URL of --events-url-file', file: options.eventsUrlFile })?.read,
  });
  services.defer(() => recorder.close());
  const assistantOf = (user: string) =>
    createAssistant(
      {
        version: readVersion(),
        warehouse: name,
        dialect: kind.type,
        place,
        analytics: config.analytics,
        reader,
        limits: {
          rows: options.maxRows,
          bytes: options.maxBytes,
          billedBytes: options.maxBilledGb * gigabyte,
        },
        search: options.transcripts === true ? warehouse.search : undefined,
        explain: explainAt,
        record: (what, actor) => recorder.record({ kind: 'assistant', what, actor }),
      },
      user,
    );
  const onError = (error: Error): void => services.log('a request of an assistant failed', { error });
  const { stopped } = untilStopped();
  if (openHttp !== undefined) {
    const { url, close } = await serveHttp({ ...openHttp, port: options.http as number, assistantOf, onError });
    services.defer(close);
    say(`Assistants connect to ${url}`);
    await stopped;
    return;
  }
  const handle = serveStdio(() => assistantOf(userInfo().username), { onerror: onError });
  services.defer(() => handle.close());
  await Promise.race([stopped, new Promise((done) => process.stdin.once('close', done).once('end', done))]);
};

/** Assistants load nothing: no lease is taken, and no memory of commits is needed. */
const withoutLoads = {
  lease: { run: () => Promise.reject(new Error('assistants load nothing')) },
  memory: () => ({ read: async () => [], write: async () => undefined }),
};

/** Away from loopback, everybody on the network could ask. @throws CallsyncError MCP_EXPOSED */
const checkHttp = ({ config }: Services, listen: string) => {
  const { tls, hosts, actors: configured } = config.operations;
  const actors = configured.flatMap(({ name, token_file }) => {
    const secret = openSecret({ key: 'operations.actors[].token', file: token_file });
    return secret === undefined ? [] : [{ name, token: secret.read }];
  });
  const certificate = tls && readCertificate(tls);
  if (!loopback.test(listen) && (certificate === undefined || actors.length === 0)) {
    throw terminal('MCP_EXPOSED', `Assistants on ${listen} need a certificate and a token.`, {
      hint: 'Set operations.tls and operations.actors, or leave out --listen.',
    });
  }
  const access = createAccess({ isOpen: actors.length === 0, readToken: undefined, actors, hosts });
  return { listen, tls: certificate, access };
};
