/** Instants are integers: microseconds since 1970, so that nothing a service sends is rounded into another window. */
export type Micros = number;

export type TimeFormat = 'iso' | 'iso_seconds' | 'datetime' | 'date' | 'epoch_s' | 'epoch_ms';

const isoPattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:[.,](\d{1,9})\d*)?)?\s*(?:[Zz]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?)?$/;

/** As ISO 8601 without signs, and systems of telephony, write times: `20231204T151829Z`, or 14 digits. */
const basicPattern = /^((?:19|20)\d\d)(\d\d)(\d\d)T?(\d\d)(\d\d)(\d\d)(?=$|[.Z+-])/;

/** As mail and HTTP write times, such as `Mon, 04 Dec 2023 15:18:29 +0000`. */
const mailPattern = /^(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) (?:([+-]\d{4})|GMT|UTC)$/;
const months = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/**
 * Microseconds of a time from a service, for list, ledger and warehouse alike.
 * Accepts ISO 8601: UTC without a zone, midnight without an hour, finer fractions cut. Accepts times of mail, and seconds,
 * milliseconds, microseconds or nanoseconds since 1970, as a number or text. Undefined for anything else. Years 1685 to 2254 stay exact.
 */
export const parseTimestamp = (value: unknown): Micros | undefined => {
  if (typeof value === 'number') return fromEpoch(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim().replace(basicPattern, '$1-$2-$3T$4:$5:$6');
  // A double does not hold nanoseconds: rounded, they would end another day.
  if (/^(\d{19}|\d{9,16}(\.\d{1,9})?)$/.test(text)) return fromEpoch(Number(text.replace(/^(\d{16})\d{3}$/, '$1')));
  const match = isoPattern.exec(text);
  if (match === null) return fromMail(text);
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = '', sign, zoneHour = 0, zoneMinute = 0] =
    match;
  const at = new Date(0);
  at.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (at.getUTCMonth() !== Number(month) - 1 || at.getUTCDate() !== Number(day)) return undefined;
  const offset = (sign === '-' ? -1 : 1) * (60 * Number(zoneHour) + Number(zoneMinute));
  at.setUTCHours(Number(hour), Number(minute) - offset, Number(second));
  const micros = at.getTime() * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6));
  return Number.isSafeInteger(micros) ? micros : undefined;
};

const fromMail = (text: string): Micros | undefined => {
  const [, day = '', name = '', year, time, zone = 'Z'] = mailPattern.exec(text) ?? [];
  const month = `${months.indexOf(name) / 3 + 1}`.padStart(2, '0');
  return day === '' ? undefined : parseTimestamp(`${year}-${month}-${day.padStart(2, '0')}T${time}${zone}`);
};

/** Seconds below 1e11 (year 5138), milliseconds below 1e13, microseconds from 1e14 on, nanoseconds from 1e18 on; between them are dates in digits. */
const fromEpoch = (value: number): Micros | undefined => {
  if (!Number.isFinite(value) || value < 1e8 || value > 8.64e18) return undefined;
  if (value < 1e11) return Math.round(value * 1e6);
  if (value < 1e13) return Math.round(value * 1e3);
  if (value >= 1e18) return Math.floor(value / 1e3);
  return value >= 1e14 && value <= 8.64e15 ? Math.round(value) : undefined;
};

/** ISO 8601 in UTC, for messages and output. */
export const iso = (micros: Micros): string => new Date(micros / 1000).toISOString();

/** The same with all microseconds, of which a double holds too few in some centuries. */
export const isoMicros = (micros: string): string => {
  const rest = ((BigInt(micros) % 1000n) + 1000n) % 1000n;
  const fine = String(rest).padStart(3, '0').replace(/0+$/, '');
  return iso(Number(BigInt(micros) - rest)).replace('Z', `${fine}Z`);
};

/** Writes an instant as a bound, which must be a multiple of the format's step. */
export const formatTimestamp = (micros: Micros, format: TimeFormat): string => {
  const ms = Math.floor(micros / 1000);
  const text = new Date(ms).toISOString();
  const [seconds = text] = text.split('.');
  const written: Readonly<Record<TimeFormat, unknown>> = {
    ...{ iso: text, iso_seconds: `${seconds}Z`, datetime: seconds.replace('T', ' '), date: dateOf(ms) },
    ...{ epoch_ms: ms, epoch_s: Math.floor(ms / 1000) },
  };
  return String(written[format]);
};

const steps: Readonly<Partial<Record<TimeFormat, Micros>>> = { iso: 1_000, epoch_ms: 1_000, date: 86_400_000_000 };

/** Finest step that a format can write, in microseconds. */
export const formatStep = (format: TimeFormat): Micros => steps[format] ?? 1_000_000;

/** This machine's clock. */
export const nowMicros = (): Micros => Date.now() * 1000;

/** A day, as timers count it and as instants are counted in warehouses. */
export const dayMs = 86_400_000;
export const dayMicros = 86_400_000_000;

/** The first instant of an instant's UTC day; both in microseconds. */
export const beginOfDay = (at: Micros): Micros => Math.floor(at / dayMicros) * dayMicros;

/** The UTC date (`YYYY-MM-DD`) of an instant in milliseconds. */
export const dateOf = (ms: number): string => new Date(Math.floor(ms)).toISOString().slice(0, 10);

/** The first instant of a date in a time zone, in milliseconds. */
export const startOfDay = (date: string, timeZone: string): number => {
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const aheadAt = (ms: number): number => Date.parse(`${clock.format(ms).replace(' ', 'T')}Z`) - ms;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // The offset may change between midnight UTC and midnight of the zone.
  return midnight - aheadAt(midnight - aheadAt(midnight));
};
