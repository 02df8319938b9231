/** BigQuery's limits as rules over what arrives: which request is refused, which job ends in an error. */
import { type Arrival, changedTables } from './strict-bigquery-wire.ts';

export interface StrictLimits {
  readonly loadJobsPerTableAndDay: number;
  readonly metadataUpdatesPer10s: number;
  readonly runningChanges: number;
  readonly queuedChanges: number;
}

const documented: StrictLimits = {
  loadJobsPerTableAndDay: 1_500,
  metadataUpdatesPer10s: 5,
  runningChanges: 2,
  queuedChanges: 20,
};

export const createStrictRules = (limits: Partial<StrictLimits>, clock: () => number) => {
  const rule = { ...documented, ...limits };
  const loads = new Map<string, number[]>();
  const patches = new Map<string, number[]>();
  const streamed = new Set<string>();
  const underWay = new Map<string, { readonly tables: readonly string[]; readonly transaction: boolean }>();

  const inWindow = (times: Map<string, number[]>, key: string, lengthMs: number): number[] => {
    const kept = (times.get(key) ?? []).filter((at) => at > clock() - lengthMs);
    times.set(key, kept);
    return kept;
  };

  return {
    /** Refused before anything happens. */
    admit(arrival: Arrival) {
      if (arrival.streamed !== undefined) streamed.add(arrival.streamed);
      if (arrival.patched !== undefined) {
        const recent = inWindow(patches, arrival.patched, 10_000);
        if (recent.length >= rule.metadataUpdatesPer10s) {
          const message = 'Exceeded rate limits: too many table update operations for this table.';
          return { status: 403, reason: 'rateLimitExceeded', message };
        }
        recent.push(clock());
      }
      const { job } = arrival;
      if (job?.kind !== 'load' || job.destination === undefined) return undefined;
      const today = inWindow(loads, job.destination, 86_400_000);
      if (today.length >= rule.loadJobsPerTableAndDay) {
        const message = 'Quota exceeded: Your table exceeded quota for imports or query appends per table.';
        return { status: 403, reason: 'quotaExceeded', message };
      }
      today.push(clock());
      return undefined;
    },
    /** Takes a job among those under way; says how it ends if others stand in its way. */
    begin({ job }: Arrival, known: ReadonlyMap<string, unknown>) {
      if (job?.kind === 'load' && job.createDisposition === 'CREATE_NEVER' && !known.has(job.destination ?? ''))
        return { reason: 'notFound', message: `Not found: Table ${job.destination}` };
      if (job?.kind !== 'script') return undefined;
      const tables = changedTables(job.sql);
      const transaction = /\bBEGIN TRANSACTION\b/i.test(job.sql);
      const rivals = [...underWay.values()].filter((other) => other.tables.some((table) => tables.includes(table)));
      underWay.set(job.id, { tables, transaction });
      const buffered = /\b(MERGE|UPDATE|DELETE)\b/i.test(job.sql) && tables.find((table) => streamed.has(table));
      if (typeof buffered === 'string') {
        const message = `UPDATE or DELETE statement over table ${buffered} would affect rows in the streaming buffer, which is not supported`;
        return { reason: 'invalidQuery', message };
      }
      if (rivals.length >= rule.runningChanges + rule.queuedChanges) {
        const message = `Resources exceeded during query execution: Too many DML statements outstanding against table ${tables[0]}, limit is ${rule.queuedChanges}.`;
        return { reason: 'resourcesExceeded', message };
      }
      if (rivals.length > 0 && (transaction || rivals.some((rival) => rival.transaction))) {
        const message = `Transaction is aborted due to concurrent update against table ${tables[0]}. Could not serialize access to table ${tables[0]} due to concurrent update`;
        return { reason: 'invalidQuery', message };
      }
      return undefined;
    },
    end({ job }: Arrival) {
      if (job !== undefined) underWay.delete(job.id);
    },
  };
};
