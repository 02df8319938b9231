/** Values that several sections of the configuration have: durations, ports, certificates, time zones. Settings of every kind of warehouse. */
import { optional, z } from 'zod';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const pattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * Milliseconds of a number with its unit, such as `500ms`, `30s`, `5m`, `2h`, `7d`; undefined if the text is no
 * duration.
 */
export const parseDuration = (text: string): number | undefined => {
  const [, amount, unit] = pattern.exec(text) ?? [];
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (units[unit] as number);
};

/** A duration in YAML, milliseconds once parsed. */
export const durationSchema = z
  .string()
  .regex(pattern, 'must be a number with its unit: ms, s, m, h or d, such as 5m')
  .transform((text) => parseDuration(text) as number);

/**
 * Types of settings; default and description stand with each setting. Whole numbers: `count` from 1, `natural` from
 * 0.
 */
export const a = {
  count: z.number().int().positive(),
  natural: z.number().int().min(0),
  positive: z.number().positive(),
  notNegative: z.number().min(0),
  share: z.number().min(0).max(1),
  off: z.boolean().default(false),
  on: z.boolean().default(true),
  /** Not empty. */
  some: z.string().min(1),
  /** May be left out. */
  text: z.string().optional(),
  texts: z.array(z.string()).default([]),
  /** A path or a secret; may be left out. */
  file: z.string().min(1).optional(),
  /** May be left out. */
  duration: durationSchema.optional(),
  /** Where a server of ours listens. */
  listen: z.string().min(1).default('127.0.0.1'),
  webAddress: z.url({ protocol: /^https?$/ }),
};

const numberWithDefault = (schema: z.ZodNumber) => (byDefault: number, most?: number) =>
  (most === undefined ? schema : schema.max(most)).default(byDefault);

/** @param error for texts of another form; zod's own names the form. */
export const matching = (form: RegExp, error?: string) => z.string().regex(form, error);

/** Types with a default. */
export const withDefault = {
  count: numberWithDefault(a.count),
  natural: numberWithDefault(a.natural),
  positive: numberWithDefault(a.positive),
  notNegative: numberWithDefault(a.notNegative),
  share: numberWithDefault(a.share),
  between: (least: number, most: number, byDefault: number) => z.number().int().min(least).max(most).default(byDefault),
  text: (byDefault: string) => z.string().default(byDefault),
  matching: (form: RegExp, byDefault: string, error?: string) => matching(form, error).default(byDefault),
  duration: (byDefault: string) => durationSchema.prefault(byDefault),
  /** Empty. */
  list: <T extends z.ZodType>(item: T) => z.array(item).default([]),
  oneOf: <const T extends string>(values: readonly T[], byDefault: NoInfer<T>) =>
    z.enum(values).default(byDefault as never),
};

/** The port of a server that callsync starts itself. */
export const ownPortSchema = (server: string) =>
  withDefault.between(0, 65_535, 0).describe(`Port of ${server}; 0 = the last used port, or any free port.`);

/** Certificate of a server of ours: section `tls` of the receiver and of the operations port. */
export const tlsSchema = z.strictObject({
  cert_file: z.string().min(1).describe('Certificate chain, PEM; read again when it changes.'),
  key_file: z.string().min(1).describe('Private key, PEM; read again when it changes.'),
});

/** Whether a name is a time zone that this machine knows, such as Europe/Paris. */
export const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
};

/** Settings that every kind of warehouse has. */
export const everyWarehouse = {
  documents: a.off.describe('Also keep the full folded document of each call in a table of its own.'),
  marts: a.on.describe('Create the marts: views for analysts, in a schema or dataset of their own.'),
  marts_schema: optional(matching(/^[a-z_][a-z0-9_]{0,62}$/)).describe(
    'Schema or dataset of the marts; by default that of the tables, followed by _marts.',
  ),
};
