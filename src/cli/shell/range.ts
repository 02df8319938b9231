/** Time range, or length of time, in the options of a command. */
import { parseDuration } from '../../../schemas/config/values.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import { terminal } from '../../lib/errors.ts';
import { iso, nowMicros } from '../../lib/timestamps.ts';
import { instant, orRefuse, parsed, required } from './define.ts';
import { say } from './output.ts';

/** @throws CallsyncError USAGE_RANGE */
export const refuseEmptyRange = ({ from, to }: { from?: number | undefined; to?: number | undefined }): void => {
  if (from !== undefined && to !== undefined && from >= to)
    throw terminal('USAGE_RANGE', 'The range is empty: its start must be before its end and before now.');
};

/** A range that ends now at the latest: a future window would count as read. @throws CallsyncError USAGE_RANGE */
export const untilNow = (
  { from, to }: { readonly from: number; readonly to?: number | undefined },
  tell: (message: string) => void = say,
): Range => {
  const now = nowMicros();
  const range = { from, to: Math.min(to ?? now, now) };
  refuseEmptyRange(range);
  if (to !== undefined && to > now) tell(`The range ends now: ${iso(to)} lies in the future.`);
  return range;
};

export const fromOption = required(parsed('--from <instant>', 'start of the range, inclusive (UTC)', instant));
export const toOption = parsed('--to <instant>', 'end of the range, exclusive (UTC); now by default', instant);

/** → milliseconds. */
export const duration = (text: string): number =>
  orRefuse(text === '0' ? 0 : parseDuration(text), 'Use a duration such as 30s, 5m or 2h.');

/** The first instant of a date in a time zone, in milliseconds. */
export const startOfDay = (date: string, timeZone: string): number => {
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const aheadAt = (ms: number): number => Date.parse(`${clock.format(ms).replace(' ', 'T')}Z`) - ms;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // The offset may change between midnight UTC and midnight of the zone.
  return midnight - aheadAt(midnight - aheadAt(midnight));
};
