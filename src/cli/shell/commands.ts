/** All commands, in the order of `callsync --help`. */
import type { AddCommand } from './define.ts';

/** One line of `callsync --help` each. */
export const commandsDo = {
  demo: 'run all of callsync against a simulated service, and prove the result',
  init: 'ask for settings, probe the call list, and write a checked configuration file',
  up: 'run everything in one process; start embedded servers if none are configured',
  serve: 'run the webhook receiver alone; needs no Temporal',
  worker: 'run a worker alone; add workers on any number of hosts',
  backfill: 'read all calls of a range; needs a worker',
  'go-live': 'start without a gap: check the receiver, read the past, compare, start the schedules',
  import: 'import call records from files: NDJSON or JSON arrays, plain or gzip',
  status: 'show the ledger, queues, pending calls of each warehouse, and problems',
  coverage: 'show the state of each day (proven, healed, read, unproven or unread)',
  reconcile: 'compare the service with every warehouse, heal differences, record verdicts; needs a worker',
  await: 'wait until a range is proven, to start downstream jobs only on verified data; needs a worker',
  report: 'write a signed report of a month for auditors, and verify one',
  verdicts: 'verify that nobody changed the results of comparisons',
  search: 'find words and phrases in transcripts; needs a search index',
  query: 'run one read-only SQL query on a warehouse',
  mcp: 'serve a warehouse to assistants (Model Context Protocol)',
  warehouse: 'fill or rebuild a warehouse from the ledger; manage its search index',
  export: 'write calls of a range to files: NDJSON, Parquet or vCons',
  grants: 'create roles that read a warehouse, with or without transcripts, numbers and free fields',
  store: 'print or grant the rights of receivers, which cannot read calls',
  config: 'print example or JSON Schema of the configuration; check yours',
  doctor: 'check every dependency and permission, and name each repair',
  calibrate: 'measure from loaded calls whether durations are seconds or milliseconds',
  probe: 'find out how the call list works, and write source.list',
  frames: 'store the frames of the streaming WebSocket until Ctrl-C',
  'bigquery-emulator': 'run a local BigQuery on loopback; the first run installs 600 MB and needs Python 3.11',
  quarantine: 'list, replay or discard records that callsync cannot read',
  privacy: 'preview and apply privacy rules; answer requests of persons',
  erase: 'erase calls permanently, by call id or personal value; counts them first',
  webhook: 'list signing keys with their last use',
  notify: 'send test messages to the configured channels',
  schema: 'show how records differ from the interface',
  simulate: 'run the simulated call-data service, on loopback',
} as const;

/**
 * The file in `commands/` has the command's name. Files load on demand, because Temporal's SDK alone takes a second.
 */
export const loadCommand = async (name: keyof typeof commandsDo): Promise<AddCommand> =>
  ((await import(`../commands/${name}.ts`)) as { readonly default: AddCommand }).default;
