/** Durations in the configuration: a number with its unit, such as `500ms`, `30s`, `5m`, `2h`, `7d`. */
import { z } from 'zod';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const pattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Milliseconds; undefined when the text is not a duration. */
export const parseDuration = (text: string): number | undefined => {
  const [, amount, unit] = pattern.exec(text) ?? [];
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (units[unit] as number);
};

/** A duration in YAML, milliseconds once parsed. */
export const durationSchema = z
  .string()
  .regex(pattern, { error: 'must be a number with its unit: ms, s, m, h or d, such as 5m' })
  .transform((text) => parseDuration(text) as number);
