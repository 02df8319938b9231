import type { Command } from 'commander';
import { addBackfill } from './commands/backfill.ts';
import { addBigqueryEmulator } from './commands/bigquery-emulator.ts';
import { addConfig } from './commands/config.ts';
import { addCoverage } from './commands/coverage.ts';
import { addDemo } from './commands/demo.ts';
import { addDoctor } from './commands/doctor.ts';
import { addGoLive } from './commands/go-live.ts';
import { addImport } from './commands/import.ts';
import { addPresets } from './commands/presets.ts';
import { addProbe } from './commands/probe.ts';
import { addQuarantine } from './commands/quarantine.ts';
import { addReconcile } from './commands/reconcile.ts';
import { addSchema } from './commands/schema.ts';
import { addServe } from './commands/serve.ts';
import { addSimulate } from './commands/simulate.ts';
import { addSql } from './commands/sql.ts';
import { addStatus } from './commands/status.ts';
import { addTap } from './commands/tap.ts';
import { addUp } from './commands/up.ts';
import { addWarehouse } from './commands/warehouse.ts';
import { addWebhook } from './commands/webhook.ts';
import { addWorker } from './commands/worker.ts';

/** In the order of `callsync --help`. */
export const commands: readonly ((program: Command) => void)[] = [
  addDemo,
  addUp,
  addServe,
  addWorker,
  addBackfill,
  addGoLive,
  addImport,
  addStatus,
  addCoverage,
  addReconcile,
  addWarehouse,
  addSql,
  addConfig,
  addDoctor,
  addPresets,
  addProbe,
  addTap,
  addBigqueryEmulator,
  addQuarantine,
  addWebhook,
  addSchema,
  addSimulate,
];
