/** Parsers of arguments and options. */
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../../../schemas/config/values.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';

const orRefuse = <T>(value: T | undefined, advice: string): T => {
  if (value === undefined) throw new InvalidArgumentError(advice);
  return value;
};

export const wholeNumber =
  (least: number, most: number = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    const isOne = text.trim() !== '' && Number.isSafeInteger(value) && value >= least && value <= most;
    const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`;
    return orRefuse(isOne ? value : undefined, `Use a whole number from ${least}${upTo}.`);
  };

export const port = wholeNumber(0, 65_535);

/** A date or date-time (UTC) → microseconds since the epoch. */
export const instant = (text: string): number =>
  orRefuse(
    /^\d{4}-/.test(text) ? parseTimestamp(text) : undefined,
    'Use a date or date-time such as 2025-01-31 or 2025-01-31T08:00:00Z.',
  );

/** → milliseconds. */
export const duration = (text: string): number =>
  orRefuse(text === '0' ? 0 : parseDuration(text), 'Use a duration such as 30s, 5m or 2h.');

/** A number of seconds, with or without fraction. */
export const seconds = (text: string): number => {
  const value = Number(text);
  return orRefuse(value >= 0.1 && value <= 86_400 ? value : undefined, 'Use a number of seconds, at least 0.1.');
};
