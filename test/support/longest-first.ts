/** Test files that take long begin first, so that no core waits for the last of them at the end. */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In this order: files that ask the one local BigQuery much are not neighbours, because it answers one at a time. */
const longest: readonly string[] = `
  operations/up e2e/demo warehouse/conformance marts/dbt e2e/demo-both docs/quickstart pipeline/reconcile/lost-warehouse
  e2e/benches marts/views pipeline/read/never-lost local/embedded-postgres cli/no-worker e2e/soak e2e/restore
  temporal/versioning source/never-lost e2e/visible e2e/side-by-side mcp/mcp e2e/kill-temporal source/probe
  warehouse/bigquery/faults e2e/reconcile e2e/long-sync marts/bigquery-sql e2e/live cli/query-ways-out cli/signals
  deploy/shipped cli/failures pipeline/load/privacy temporal/backfill-schedules e2e/activate-backfill postgres/tls
  pipeline/reconcile/tamper store/scale webhook/kill mcp/bigquery cli/go-live
`
  .trim()
  .split(/\s+/);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const path = relative(this.ctx.config.root, moduleId).replace(/^test\/(.*)\.test\.ts$/, '$1');
      const found = longest.indexOf(path);
      return found < 0 ? longest.length : found;
    };
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}
