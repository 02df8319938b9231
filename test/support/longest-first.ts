/** Test files that take long begin first, so that no core waits for the last of them at the end. */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In this order: files that ask the one local BigQuery much are not neighbours, because it answers one at a time. */
const longest: readonly string[] = [
  'operations/up',
  'warehouse/conformance',
  'e2e/demo',
  'docs/quickstart',
  'marts/dbt',
  'e2e/demo-both',
  'cli/no-worker',
  'temporal/versioning',
  'e2e/restore',
  'e2e/backfill',
  'cli/signals',
  'e2e/benches',
  'e2e/soak',
  'e2e/long-sync',
  'local/embedded-postgres',
  'e2e/live',
  'temporal/backfill-schedules',
  'e2e/activate-backfill',
  'pipeline/reconcile/tamper',
  'e2e/reconcile',
  'cli/query-ways-out',
  'mcp/mcp',
  'cli/import',
  'pipeline/reconcile/lost-warehouse',
  'e2e/probe-backfill',
  'warehouse/bigquery/faults',
  'marts/views',
  'cli/failures',
  'pipeline/import/import-file',
  'temporal/live-work',
  'cli/init',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification): number => {
      const path = relative(this.ctx.config.root, moduleId).replace(/^test\/(.*)\.test\.ts$/, '$1');
      const found = longest.indexOf(path);
      if (found >= 0) return found;
      // At the end and side by side: then their workers go on with the modules that they have.
      return longest.length + (project.config.isolate ? 0 : 1);
    };
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}
