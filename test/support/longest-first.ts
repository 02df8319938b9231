/** Test files that take long begin first, so that no core waits for the last of them at the end. */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In this order: files that ask the one local BigQuery much are not neighbours, because it answers one at a time. */
const longest: readonly string[] = [
  'test/operations/up.test.ts',
  'test/warehouse/conformance.test.ts',
  'test/e2e/benches.test.ts',
  'test/cli/no-worker.test.ts',
  'test/warehouse/bigquery/faults.test.ts',
  'test/docs/quickstart.test.ts',
  'test/e2e/demo-both.test.ts',
  'test/e2e/backfill.test.ts',
  'test/temporal/versioning.test.ts',
  'test/e2e/three-hour-sync.test.ts',
  'test/e2e/demo.test.ts',
  'test/local/embedded-postgres.test.ts',
  'test/e2e/restore.test.ts',
  'test/source/activate.test.ts',
  'test/cli/signals.test.ts',
  'test/e2e/activate-backfill.test.ts',
  'test/e2e/probe-backfill.test.ts',
  'test/cli/failures.test.ts',
  'test/source/probe.test.ts',
  'test/source/never-lost.test.ts',
  'test/marts/dbt.test.ts',
  'test/pipeline/reconcile/tamper.test.ts',
  'test/temporal/live-work.test.ts',
  'test/pipeline/reconcile/gone.test.ts',
  'test/e2e/live.test.ts',
  'test/e2e/reconcile.test.ts',
  'test/pipeline/reconcile/lost-warehouse.test.ts',
  'test/cli/query-ways-out.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longest.indexOf(relative(this.ctx.config.root, moduleId));
      return found < 0 ? longest.length : found;
    };
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}
