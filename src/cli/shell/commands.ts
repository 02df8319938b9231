/** All commands, in the order of `callsync --help`. */
import type { AddCommand } from './define.ts';

/** One line of `callsync --help` each. */
export const commandsDo = {
  demo: 'run the whole job on this machine against a simulated service, and check the result against the truth',
  init: 'write a first configuration file: asks, finds out how the call list works, and checks everything',
  up: 'run everything in one process: receiver, worker, schedules; embedded servers where none are configured',
  serve: 'run the webhook receiver alone; it needs no Temporal and survives a store that is away',
  worker: 'run a worker alone; as many as you like, on as many hosts as you like',
  backfill: 'read all calls of a range; needs a running worker (callsync up or callsync worker)',
  'go-live': 'switch over without a gap: verify the receiver, read the past, compare both ways in, turn schedules on',
  import: 'bring call records in from files: NDJSON or JSON arrays, plain or gzip',
  status: 'what is in the ledger, what waits, what is pending per warehouse, and what could not be read',
  coverage: 'which days are proven complete, healed, unproven or unread, and how calls arrived',
  reconcile: 'compare windows in the API with every warehouse, heal what differs, record verdicts; needs a worker',
  await: 'wait until a range is proven, for pipelines that start on proof and not on a clock; needs a worker',
  verdicts: 'the recorded outcomes of reconciling',
  search: 'find words and phrases in transcripts, with accents and inflections; needs a search index',
  query: 'ask a warehouse in SQL: one query that only reads',
  mcp: 'let assistants ask a warehouse, by the Model Context Protocol; each answer says how far it is proven',
  warehouse: 'fill or rebuild a warehouse from the ledger, without asking the service; its search index',
  export: 'write calls of a range to files: whole documents as NDJSON, rows of all tables as Parquet, or vCons',
  grants: 'roles that read a warehouse: analysts, and others who see no transcript, telephone number or free field',
  sql: 'print every statement that can be sent to a warehouse',
  store: 'print or give the rights of receivers that can read no call',
  config: 'example, reference and JSON Schema of the configuration, and a check of yours',
  doctor: 'check every dependency and permission, and say how to repair what is wrong',
  calibrate: 'find out from loaded calls whether durations are seconds or milliseconds, for the marts',
  presets: 'settings of documented services, as plain configuration files to use, copy and change',
  probe: 'find out with few requests how the call list works, and write source.list of the configuration',
  frames: 'keep the streaming WebSocket open and store its frames as they come, until Ctrl-C',
  'bigquery-emulator': 'install (once, 600 MB, needs Python 3.11) and run a local stand-in for BigQuery, on loopback',
  quarantine: 'records that could not become calls, with their bytes',
  privacy: 'what the configured privacy rules make of calls',
  erase: 'erase calls for good, by telephone number, call id or metadata value; counts them first',
  webhook: 'the signing keys in use, and deliveries for trying out a receiver',
  notify: 'try out who is told when something stays wrong',
  schema: 'how records differ from the interface, and which agents deliver them',
  simulate: 'run the simulated call-data service alone, on loopback',
} as const;

/** Its file in `commands/` has its name: each loads what it needs, and Temporal's SDK alone takes a second. */
export const loadCommand = async (name: keyof typeof commandsDo): Promise<AddCommand> =>
  ((await import(`../commands/${name}.ts`)) as { readonly default: AddCommand }).default;
