import type { Command } from 'commander';

export interface CommandEntry {
  readonly name: string;
  /** What it does, in one line of `callsync --help`. */
  readonly does: string;
  /** Loads the command and what it imports. */
  readonly load: () => Promise<(command: Command) => void>;
}

/** In the order of `callsync --help`. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'demo',
    does: 'run the whole job on this machine against a simulated service, and check the result against the truth',
    load: async () => (await import('../commands/demo.ts')).addDemo,
  },
  {
    name: 'init',
    does: 'write a first configuration file: asks, finds out how the call list works, and checks everything',
    load: async () => (await import('../commands/init.ts')).addInit,
  },
  {
    name: 'up',
    does: 'run everything in one process: receiver, worker, schedules; embedded servers where none are configured',
    load: async () => (await import('../commands/up.ts')).addUp,
  },
  {
    name: 'serve',
    does: 'run the webhook receiver alone; it needs no Temporal and survives a store that is away',
    load: async () => (await import('../commands/serve.ts')).addServe,
  },
  {
    name: 'worker',
    does: 'run a worker alone; as many as you like, on as many hosts as you like',
    load: async () => (await import('../commands/worker.ts')).addWorker,
  },
  {
    name: 'backfill',
    does: 'read all calls of a range; needs a running worker (callsync up or callsync worker)',
    load: async () => (await import('../commands/backfill.ts')).addBackfill,
  },
  {
    name: 'go-live',
    does: 'switch over without a gap: verify the receiver, read the past, compare both ways in, turn schedules on',
    load: async () => (await import('../commands/go-live.ts')).addGoLive,
  },
  {
    name: 'import',
    does: 'bring call records in from files: NDJSON or JSON arrays, plain or gzip',
    load: async () => (await import('../commands/import.ts')).addImport,
  },
  {
    name: 'status',
    does: 'what is in the ledger, what waits, what is pending per warehouse, and what could not be read',
    load: async () => (await import('../commands/status.ts')).addStatus,
  },
  {
    name: 'coverage',
    does: 'which days are proven complete, healed, unproven or unread, and how calls arrived',
    load: async () => (await import('../commands/coverage.ts')).addCoverage,
  },
  {
    name: 'reconcile',
    does: 'compare windows in the API with every warehouse, heal what differs, record verdicts; needs a worker',
    load: async () => (await import('../commands/reconcile.ts')).addReconcile,
  },
  {
    name: 'await',
    does: 'wait until a range is proven, for pipelines that start on proof and not on a clock; needs a worker',
    load: async () => (await import('../commands/await.ts')).addAwait,
  },
  {
    name: 'verdicts',
    does: 'the recorded outcomes of reconciling',
    load: async () => (await import('../commands/verdicts.ts')).addVerdicts,
  },
  {
    name: 'search',
    does: 'find words and phrases in transcripts, with accents and inflections; needs a search index',
    load: async () => (await import('../commands/search.ts')).addSearch,
  },
  {
    name: 'query',
    does: 'ask a warehouse in SQL: one query that only reads',
    load: async () => (await import('../commands/query.ts')).addQuery,
  },
  {
    name: 'mcp',
    does: 'let assistants ask a warehouse, by the Model Context Protocol; each answer says how far it is proven',
    load: async () => (await import('../commands/mcp.ts')).addMcp,
  },
  {
    name: 'warehouse',
    does: 'fill or rebuild a warehouse from the ledger, without asking the service; its search index',
    load: async () => (await import('../commands/warehouse.ts')).addWarehouse,
  },
  {
    name: 'export',
    does: 'write calls of a range to files: whole documents as NDJSON, rows of all tables as Parquet, or vCons',
    load: async () => (await import('../commands/export.ts')).addExport,
  },
  {
    name: 'grants',
    does: 'roles that read a warehouse: analysts, and others who see no transcript, telephone number or free field',
    load: async () => (await import('../commands/grants.ts')).addGrants,
  },
  {
    name: 'sql',
    does: 'print every statement that can be sent to a warehouse',
    load: async () => (await import('../commands/sql.ts')).addSql,
  },
  {
    name: 'store',
    does: 'print or give the rights of receivers that can read no call',
    load: async () => (await import('../commands/store.ts')).addStore,
  },
  {
    name: 'config',
    does: 'example, reference and JSON Schema of the configuration, and a check of yours',
    load: async () => (await import('../commands/config.ts')).addConfig,
  },
  {
    name: 'doctor',
    does: 'check every dependency and permission, and say how to repair what is wrong',
    load: async () => (await import('../commands/doctor.ts')).addDoctor,
  },
  {
    name: 'calibrate',
    does: 'find out from loaded calls whether durations are seconds or milliseconds, for the marts',
    load: async () => (await import('../commands/calibrate.ts')).addCalibrate,
  },
  {
    name: 'presets',
    does: 'settings of documented services, as plain configuration files to use, copy and change',
    load: async () => (await import('../commands/presets.ts')).addPresets,
  },
  {
    name: 'probe',
    does: 'find out with few requests how the call list works, and write source.list of the configuration',
    load: async () => (await import('../commands/probe.ts')).addProbe,
  },
  {
    name: 'tap',
    does: 'keep the streaming WebSocket open and store its frames as they come, until Ctrl-C',
    load: async () => (await import('../commands/tap.ts')).addTap,
  },
  {
    name: 'bigquery-emulator',
    does: 'install (once, 600 MB, needs Python 3.11) and run a local stand-in for BigQuery, on loopback',
    load: async () => (await import('../commands/bigquery-emulator.ts')).addBigqueryEmulator,
  },
  {
    name: 'quarantine',
    does: 'records that could not become calls, with their bytes',
    load: async () => (await import('../commands/quarantine.ts')).addQuarantine,
  },
  {
    name: 'privacy',
    does: 'what the configured privacy rules make of calls',
    load: async () => (await import('../commands/privacy.ts')).addPrivacy,
  },
  {
    name: 'erase',
    does: 'erase calls for good, by telephone number, call id or metadata value; counts them first',
    load: async () => (await import('../commands/erase.ts')).addErase,
  },
  {
    name: 'webhook',
    does: 'the signing keys in use, and deliveries for trying out a receiver',
    load: async () => (await import('../commands/webhook.ts')).addWebhook,
  },
  {
    name: 'notify',
    does: 'try out who is told when something stays wrong',
    load: async () => (await import('../commands/notify.ts')).addNotify,
  },
  {
    name: 'schema',
    does: 'how records differ from the interface, and which agents deliver them',
    load: async () => (await import('../commands/schema.ts')).addSchema,
  },
  {
    name: 'simulate',
    does: 'run the simulated call-data service alone, on loopback',
    load: async () => (await import('../commands/simulate.ts')).addSimulate,
  },
];
