/** Test files that take long begin first, so that no core waits for the last of them at the end. */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * In this order: those that wait for time to pass stand between those that compute. Files that ask the one local BigQuery
 * much are not neighbours, because it answers one at a time.
 */
const longest: readonly string[] = `
  operations/up warehouse/conformance e2e/demo e2e/soak docs/quickstart temporal/versioning e2e/demo-bigquery e2e/restore
  marts/dbt cli/no-worker e2e/benches local/embedded-postgres e2e/side-by-side pipeline/read/never-lost
  e2e/kill-temporal marts/views source/never-lost e2e/live mcp/mcp temporal/backfill-schedules source/probe
  e2e/reconcile warehouse/bigquery/faults cli/signals marts/bigquery-sql cli/failures cli/query-ways-out webhook/kill
  deploy/shipped e2e/activate-backfill pipeline/load/privacy pipeline/reconcile/lost-warehouse postgres/tls
  pipeline/reconcile/tamper cli/go-live store/scale mcp/bigquery
`
  .trim()
  .split(/\s+/);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longest.indexOf(relative(this.ctx.config.root, moduleId).replace(/^test\/(.*)\.test\.ts$/, '$1'));
      return found < 0 ? longest.length : found;
    };
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}
