/** Verdicts, deliveries and changes of the filled warehouses, by days from the first one, from which answers are counted too. */
import { makeLogRow } from '../warehouse/batches.ts';

export const dayMicros = 86_400_000_000;

/**
 * Oldest verdict first, by days from the first one. Of another axis, or of an earlier ledger, where it is not `timestamp`
 * and 1: neither counts.
 */
export const verdictShapes = [
  { from: 0, to: 1, outcome: 'proven' },
  { from: 1, to: 3, outcome: 'proven' },
  { from: 2, to: 2.5, outcome: 'unproven' },
  { from: 2.5, to: 3, outcome: 'healed', level: 'rows' },
  { from: 3, to: 4, outcome: 'proven', axis: 'other' },
  { from: 3, to: 4, outcome: 'proven', epoch: 0 },
];

export const verdictRows = (firstDay: number) =>
  verdictShapes.map(({ from, to, outcome, axis = 'timestamp', epoch = 1, level = 'guards' }, index) =>
    makeLogRow('verdicts', {
      ...{ verdict_id: index + 1, axis, level: 'fields', warehouse_level: level, outcome, ledger_epoch: epoch },
      ...{ window_from: firstDay + from * dayMicros, window_to: firstDay + to * dayMicros },
      ...{ calls_listed: 1, calls_found: 1, missing: 0, different: 0, healed: 0 },
      compared_at: firstDay + 10 * dayMicros + index,
    }),
  );

const outcomes = ['accepted', 'accepted', 'duplicate', 'repeat', 'quarantined', 'rejected'];

/** One in nine hours. */
export const deliveryRows = (firstDay: number) =>
  outcomes.map((outcome, seq) =>
    makeLogRow('deliveries', {
      ...{ seq, outcome, hook_id: seq === 5 ? null : `hook-${seq % 2}`, received_at: firstDay + seq * 32_400_000_000 },
      ...{ call_id: seq < 4 ? `c${seq % 2}` : null, revision: seq < 2 ? 1 : null },
      visible_at: seq === 0 ? firstDay + 250_000 : null,
    }),
  );

const changeShapes = [
  { field: '*', revision: 1, source: 'poll', kind: 'added', after: 30_000_001 },
  { field: 'status', revision: 2, source: 'webhook', kind: 'changed', after: 90_000_002 },
  { field: 'tags', revision: 2, source: 'webhook', kind: 'added', after: 90_000_002 },
  { field: 'metadata', revision: 3, source: 'poll', kind: 'removed', after: 150_000_003 },
  { field: 'tags', revision: 3, source: 'poll', kind: null, after: 150_000_003 },
] as const;

/** The log rows of the call with this number; some calls have none after the first load. `after` in microseconds. */
export const changesOf = (index: number) => changeShapes.slice(0, [5, 1, 3][index % 3]);

/** A row of sync_state; the newest call and the last load are as old as the watermark. */
export const stateRow = (times: Readonly<Record<'watermark' | 'proven_through' | 'heartbeat_at', number>>) => ({
  ...{ warehouse: 'main', newest_call: times.watermark, proven_axis: 'timestamp', pending: 0 },
  ...{ last_load_at: times.watermark, last_error: null, ledger_epoch: 1, ...times },
});

/** Half a minute past midnight: an instant at midnight would read as a date where UTC is the machine's time zone. */
export const stateTimes = (firstDay: number) => ({
  proven_through: firstDay + dayMicros + 30_000_000,
  heartbeat_at: firstDay + 11 * dayMicros + 30_000_000,
});
