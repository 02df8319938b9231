/** Instants as people write them, for options and configuration. Without zod, which every command would load. */

const form = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Microseconds of a date (UTC) or a date-time with its zone, from 1685 to 2254; undefined for any other text. */
export const parseInstant = (text: string): number | undefined => {
  const day = text.slice(0, 10);
  const midnight = form.test(text) ? Date.parse(`${day}T00:00Z`) : Number.NaN;
  const isReal = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
  const micros = isReal ? Date.parse(text) * 1000 : Number.NaN;
  return Number.isSafeInteger(micros) ? micros : undefined;
};
