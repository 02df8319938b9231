import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { chooseWarehouse, readersOf } from '../../app/activity-deps.ts';
import { explain } from '../../app/open-health.ts';
import { openUsers } from '../../app/open-operations.ts';
import { openStoreServer, readActor, type Services, withServices } from '../../app/services.ts';
import { createAccess } from '../../health/page/access.ts';
import { readCertificate } from '../../lib/certificate.ts';
import { terminal } from '../../lib/errors.ts';
import { readVersion } from '../../lib/find-built.ts';
import { say } from '../../lib/say.ts';
import { createAssistant } from '../../mcp/assistant.ts';
import { serveHttp } from '../../mcp/serve-http.ts';
import { openDatabase } from '../../postgres/database.ts';
import { isLoopback } from '../../source/http/http.ts';
import { recordEvent } from '../../store/status/events.ts';
import { kindOf } from '../../warehouse/kinds.ts';
import { requireFrom } from '../../warehouse/warehouse.ts';
import { flag, leaf, option, parsed, port, wholeNumber } from '../shell/define.ts';
import { untilStopped } from '../shell/output.ts';
import { explainAt } from './query.ts';

const gigabyte = 2 ** 30;

/** Assistants load nothing, so they need neither a lease nor the commits. */
const withoutLoads = {
  lease: { run: () => Promise.reject(new Error('assistants load nothing')) },
  memory: () => ({ read: async () => [], write: async () => undefined }),
};

/** Away from loopback, everybody on the network could ask. @throws CallsyncError MCP_EXPOSED */
const checkHttp = ({ config }: Services, listen: string) => {
  const { tls, hosts } = config.operations;
  const users = openUsers(config);
  const certificate = tls && readCertificate(tls);
  if (!isLoopback(listen) && (certificate === undefined || users.length === 0))
    throw terminal('MCP_EXPOSED', `Assistants on ${listen} need a certificate and a token.`);
  const access = createAccess({ isOpen: users.length === 0, readToken: undefined, users, hosts });
  return { listen, tls: certificate, access };
};

export default leaf({
  options: {
    warehouse: option(
      '--warehouse <name>',
      'warehouse to read (default: the first PostgreSQL warehouse, else the first)',
    ),
    transcripts: flag('--transcripts', 'let assistants read transcripts, telephone numbers and free fields'),
    http: parsed('--http <port>', 'serve streamable HTTP on this port, instead of standard input and output', port),
    listen: option('--listen <address>', 'with --http: address to listen on', '127.0.0.1'),
    maxRows: parsed('--max-rows <n>', 'most rows of an answer', wholeNumber(1, 100_000), '1000'),
    maxBytes: parsed(
      '--max-bytes <n>',
      'most bytes of the rows of an answer',
      wholeNumber(1_000, 100_000_000),
      '1000000',
    ),
    maxSeconds: parsed('--max-seconds <n>', 'longest time of a query, in seconds', wholeNumber(1, 600), '30'),
    maxBilledGb: parsed(
      '--max-billed-gb <n>',
      'on BigQuery, most gigabytes that a query may read',
      wholeNumber(1),
      '10',
    ),
  },
  examples: [
    'callsync mcp',
    'callsync mcp --transcripts --warehouse main',
    'callsync mcp --http 9470',
    'claude mcp add callsync -- npx callsync mcp --config callsync.yaml',
  ],
  remarks: `Assistants that speak the Model Context Protocol start this command, or connect to http://127.0.0.1:PORT/mcp.
Without --transcripts, the role of the server reads no transcript, telephone number or free field. callsync records the
user, tool and number of rows of each tool call. On addresses other than loopback, --http requires operations.tls and a token (operations.users).`,
  within: withServices,
  run: async (options, services) => {
    const { config } = services;
    const openHttp = options.http === undefined ? undefined : checkHttp(services, options.listen);
    const { name, settings, place } = chooseWarehouse(config, options.warehouse);
    const kind = kindOf(settings);
    const storeUrl = await openStoreServer(services);
    const warehouse = kind.create({ name, config: settings, storeUrl, ...withoutLoads });
    services.defer(() => warehouse.close());
    const reader = requireFrom(
      warehouse,
      'openReader',
    )({
      marts: place.marts,
      queryMs: options.maxSeconds * 1_000,
      restricted: options.transcripts === true ? undefined : readersOf({ settings, place }),
    });
    services.defer(() => reader.close());
    const { schema } = config.store;
    const store = openDatabase({ url: storeUrl, schema, application: 'callsync mcp', purpose: 'store', max: 1 });
    services.defer(store.close);
    const assistantOf = (user = readActor(), session?: string) =>
      createAssistant(
        {
          version: readVersion(),
          warehouse: name,
          dialect: kind.type,
          place,
          has: settings,
          analytics: config.analytics,
          reader,
          limits: { rows: options.maxRows, bytes: options.maxBytes, billedBytes: options.maxBilledGb * gigabyte },
          search: options.transcripts === true ? requireFrom(warehouse, 'search') : undefined,
          explainDay: (at) => explain(config, store, at),
          explain: explainAt,
          record: (what, actor) => recordEvent(store, { kind: 'assistant', what, actor }),
        },
        user,
        session,
      );
    const onError = (error: Error): void => services.log('a request of an assistant failed', { error });
    const { stopped } = untilStopped();
    if (openHttp !== undefined) {
      const { url, close } = await serveHttp({ ...openHttp, port: options.http as number, assistantOf, onError });
      services.defer(close);
      say(`Assistants connect to ${url}`);
      await stopped();
      return;
    }
    const handle = serveStdio(() => assistantOf(), { onerror: onError });
    services.defer(() => handle.close());
    await stopped(new Promise((done) => process.stdin.once('close', done).once('end', done)));
  },
});
