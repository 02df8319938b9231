/** Instants are integers: microseconds since 1970, so that nothing a service sends is rounded into another window. */
export type Micros = number;

export type TimeFormat = 'iso' | 'iso_seconds' | 'epoch_s' | 'epoch_ms';

const isoPattern =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,12}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i;

/**
 * Microseconds of a time as a service may send it: ISO 8601 (UTC where it names no zone), or seconds or milliseconds
 * since 1970 as a number or its text. Undefined when it is none of these.
 */
export const parseTimestamp = (value: unknown): Micros | undefined => {
  if (typeof value === 'number') return fromEpoch(value);
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const text = value.trim();
  if (/^\d{9,16}(\.\d{1,9})?$/.test(text)) return fromEpoch(Number(text));
  const match = isoPattern.exec(text);
  if (match === null) return undefined;
  const [, day = '', minutes = '00:00', seconds = '00', fraction = '', zone = 'Z'] = match;
  const offset = /^z$/i.test(zone) ? 'Z' : zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  const ms = Date.parse(`${day}T${minutes}:${seconds}${offset}`);
  if (Number.isNaN(ms) || !isDay(day)) return undefined;
  return ms * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
};

/** Date.parse takes 30 February for 2 March. */
const isDay = (day: string): boolean => {
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
};

/** Seconds below 1e11 (year 5138), milliseconds below 1e14, microseconds above. */
const fromEpoch = (value: number): Micros | undefined => {
  if (!Number.isFinite(value) || value < 1e8 || value > 8.64e18) return undefined;
  if (value < 1e11) return Math.round(value * 1e6);
  if (value < 1e14) return Math.round(value * 1e3);
  return value <= 8.64e15 ? Math.round(value) : undefined;
};

/** Writes an instant as a bound, which must be a multiple of the format's step. */
export const formatTimestamp = (micros: Micros, format: TimeFormat): string => {
  const ms = Math.floor(micros / 1000);
  if (format === 'epoch_ms') return String(ms);
  if (format === 'epoch_s') return String(Math.floor(ms / 1000));
  const iso = new Date(ms).toISOString();
  return format === 'iso' ? iso : iso.replace(/\.\d{3}Z$/, 'Z');
};

/** Finest step that a format can write, in microseconds. */
export const formatStep = (format: TimeFormat): Micros =>
  format === 'iso' || format === 'epoch_ms' ? 1_000 : 1_000_000;

/** This machine's clock. */
export const nowMicros = (): Micros => Date.now() * 1000;
