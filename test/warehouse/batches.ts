/** Small loads for warehouse tests, through flatten as in real life. */
import { type Row, tableOf } from '../../schemas/tables.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import type { CallLoad, DigestedName, LoadBatch, TombstoneLoad, Warehouse } from '../../src/warehouse/warehouse.ts';
import { collect } from '../support/rows.ts';

export interface CallShape {
  readonly callId: string;
  readonly revision?: number;
  /** ISO 8601; null = none sent. */
  readonly timestamp?: string | null;
  readonly utterances?: number;
  readonly tags?: number;
  readonly text?: string;
  readonly status?: string;
  readonly partitions?: readonly (string | null)[];
  readonly extra?: Record<string, unknown>;
}

const makeDocument = (shape: CallShape): Record<string, unknown> => {
  const { text = 'good morning', utterances = 2, tags = 1, timestamp = '2026-01-05T10:00:00.123456Z' } = shape;
  return {
    unique_id: shape.callId,
    ...(timestamp === null ? {} : { timestamp }),
    ...{ status: shape.status ?? 'qualified', duration: '61.25', ivr_end: 1.5, campaign: 'spring' },
    metadata: { Agent: 'Ann', UDF_num_01: '123.450', UDF_num_02: 'n/a', UDF_text_01: text },
    tags: Array.from({ length: tags }, (_, n) => ({
      ...{ unique_id: `tag-${n}`, display_name: `Tag ${n}`, confidence: 0.5, type: 'bool', value: n % 2 === 0 },
    })),
    visit: { page: '/', depth: [1, 2.5, null] },
    in: { label: null, data: '+1 555 0100', type: 'PHONE' },
    transcript_json: {
      callData: Array.from({ length: utterances }, (_, index) => ({
        ...{ from: index % 2 === 0 ? 'out' : 'in', content: text, datetime: index, duration: 0.9 },
        words: text.split(' ').map((value, at) => ({ value, start: index + at / 10, length: 0.1, score: 0.75 })),
      })),
      meta: { lang: 'en', obfuscated: 'false' },
      callsync_redactions: Array.from({ length: utterances }, (_, index) => [index, 0, 0, 'phone', 1]),
    },
    ...shape.extra,
  };
};

export const makeCall = (shape: CallShape): CallLoad => {
  const seen = { firstSeenAt: 1_767_600_000_000_000, changedAt: 1_767_600_000_000_001, sourceDeletedAt: null };
  const { callId, revision = 1, partitions = [] } = shape;
  const call = { callId, document: makeDocument(shape), ...seen, rules: 'some rules' };
  const { callTimestamp, rows } = flattenCall(call, { documents: true });
  // As of a call that was first seen.
  const change = { call_id: callId, call_timestamp: callTimestamp, field: '*', revision: 1, source: 'poll' };
  const changes = [{ ...change, observed_at: seen.firstSeenAt }];
  return { callId, revision, callTimestamp, flatten: () => rows, partitions, changes };
};

export const keyOf = (callId: string): string => `key-of-${callId}`;

export const makeTombstone = (callId: string, revision: number, partitions: TombstoneLoad['partitions']) => ({
  callId,
  callKey: keyOf(callId),
  revision,
  partitions,
});

let loads = 0;
export const makeBatch = (over: Partial<LoadBatch>): LoadBatch => {
  loads += 1;
  const loadId = `load_${process.pid}_${Date.now()}_${loads}`;
  const usual = { loadId, epoch: 1, flattenVersion: 1, origin: 'read', calls: [], tombstones: [], logs: {}, keyOf };
  return { ...usual, ...over };
};

/** The row of a delivery or verdict; what tells it apart is made from its number. */
export const makeLogRow = (table: 'deliveries' | 'verdicts', values: Record<string, unknown>): Row => {
  const row: Record<string, unknown> = { arrival_id: `seq:${values.seq}`, digest: `${values.verdict_id}`, ...values };
  return Object.fromEntries(tableOf(table).columns.map(({ name }) => [name, row[name] ?? null]));
};

/** Of a row in `verdicts`. */
export const verdictValues = {
  ...{ verdict_id: 1, axis: 'call', window_from: 0, window_to: 86_400_000_000, level: 'ids', confirmed: 'total' },
  ...{ calls_listed: 5, calls_found: 5, missing: 0, different: 0, healed: 0, compared_at: 1, digest: 'd1' },
};

/** Rows of one call in a table, as objects. */
export const rowsOfCall = async (warehouse: Warehouse, table: DigestedName, callId: string) =>
  (await allRows(warehouse, table)).filter((row) => row.call_id === callId);

export const allRows = (warehouse: Warehouse, table: DigestedName) => collect(warehouse.proof.rowsOf(table));
export const children = ['utterances', 'tags', 'metadata', 'udfs', 'contacts', 'redactions', 'documents'] as const;
