/** Imported records → observations, or the reasons why they are none. */
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { identifyRecord, importObservedAt } from '../../calls/record.ts';
import type { SplitRecord } from './split-records.ts';

export interface ReadRules {
  /** Name of the file, for the origin of what is refused. */
  readonly name: string;
  /** Microseconds since the epoch. */
  readonly now: number;
  /** observed_at of every record, where the user gave one. */
  readonly given: number | undefined;
  readonly processedField: string;
  /** Microseconds that a record's own time may be ahead. */
  readonly clockSkew: number;
}

const noTime = 'no time of its own in the past, and none was given for the import';

/** The observations of a batch, and the records that go to quarantine. */
export const readBatch = (
  batch: readonly SplitRecord[],
  rules: ReadRules,
): {
  readonly observations: readonly Observation[];
  readonly rejected: readonly RejectedRecord[];
  readonly refuse: (observation: Observation, reason: string) => RejectedRecord;
} => {
  const observations: Observation[] = [];
  const rejected: RejectedRecord[] = [];
  const cutFrom = new Map<Observation, SplitRecord>();
  const reject = (record: SplitRecord, reason: string): RejectedRecord => ({
    reason,
    body: record.bytes,
    source: 'import',
    origin: `${rules.name}:${record.line}`,
    receivedAt: new Date(rules.now / 1000),
  });
  for (const record of batch) {
    const read = record.isWhole
      ? readImported(record.bytes, rules)
      : { reason: 'too long; only its beginning is kept' };
    if ('reason' in read) rejected.push(reject(record, read.reason));
    else {
      observations.push(read.observation);
      cutFrom.set(read.observation, record);
    }
  }
  return {
    observations,
    rejected,
    refuse: (observation, reason) => reject(cutFrom.get(observation) as SplitRecord, reason),
  };
};

/** One record's bytes → observation, or why it is none. */
export const readImported = (
  bytes: Buffer,
  rules: Omit<ReadRules, 'name'>,
): { readonly observation: Observation } | { readonly reason: string } => {
  let record: unknown;
  try {
    record = JSON.parse(bytes.toString('utf8'));
  } catch {
    return { reason: 'not JSON' };
  }
  const identified = identifyRecord(record);
  if ('reason' in identified) return identified;
  const observedAt = importObservedAt(identified.record, rules);
  if (observedAt === undefined) return { reason: noTime };
  return { observation: { callId: identified.callId, source: 'import', observedAt, fields: identified.record } };
};
