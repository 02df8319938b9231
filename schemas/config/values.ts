/** Values that several sections of the configuration have: durations, ports, certificates, time zones. Settings of every kind of warehouse. */
import { optional, z } from 'zod';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const pattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** A hundred years: longer times leave the range of dates. */
const longestMs = 36_500 * 86_400_000;

/**
 * Milliseconds of a number with its unit, such as `500ms`, `30s`, `5m`, `2h`, `7d`. Undefined if the text is no
 * duration, or more than 36500d.
 */
export const parseDuration = (text: string): number | undefined => {
  const [, amount, unit = ''] = pattern.exec(text) ?? [];
  const ms = Number(amount) * (units[unit] ?? Number.NaN);
  return ms <= longestMs ? ms : undefined;
};

const durationForm = 'must be a number with its unit: ms, s, m, h or d, such as 5m';

/** A duration in YAML, milliseconds once parsed. @param least such as `1s`, the shortest interval of Temporal */
export const durationSchema = (least = '0s') =>
  z
    .string({ error: durationForm })
    .regex(pattern, durationForm)
    .transform((text) => parseDuration(text) ?? Number.NaN)
    .refine((ms) => ms >= (parseDuration(least) as number), { error: `must be from ${least} to 36500d` });

/** Whether `new URL` leaves these parts of an address empty; callsync would drop them. */
const hasNo =
  (...parts: readonly ('username' | 'password' | 'search' | 'hash')[]) =>
  (text: string): boolean =>
    !URL.canParse(text) || parts.every((part) => new URL(text)[part] === '');

const webAddress = z
  .url({ protocol: /^https?$/ })
  .refine(hasNo('username', 'password', 'hash'), { error: 'must not hold a user, a password or “#”' });

/** Names that the HTTP client keeps for itself are refused too. */
const headerForm =
  /^(?!(?:connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$)[!#$%&'*+.^`|~\w-]+$/i;
const headerName = z.string().regex(headerForm, 'must be the name of a header');
const headerText = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of Latin letters');

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
  duration: durationSchema().optional(),
  /** Where a server of ours listens. */
  listen: z.string().min(1).default('127.0.0.1'),
  webAddress,
  /** callsync appends paths and parameters of its own. */
  baseAddress: webAddress.refine(hasNo('search'), { error: 'must not hold a query (“?”)' }),
  headerName,
  headerText,
};

const numberWithDefault = (schema: z.ZodNumber) => (byDefault: number, most?: number) =>
  (most === undefined ? schema : schema.max(most)).default(byDefault);

/** @param error for texts of another form; zod's own names the form. */
export const matching = (form: RegExp, error?: string) => z.string().regex(form, error);

export const postgresUrl = optional(
  matching(/^postgres(ql)?:\/\//, 'must look like postgres://user:password@host:port/database'),
);

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
  duration: (byDefault: string, least?: string) => durationSchema(least).prefault(byDefault),
  /** Empty. */
  list: <T extends z.ZodType>(item: T) => z.array(item).default([]),
  oneOf: <const T extends string>(values: readonly T[], byDefault: NoInfer<T>) =>
    z.enum(values).default(byDefault as never),
};

/** For lists whose entries have names of their own. */
export const ownNames = [
  (entries: readonly { readonly name: string }[]) => new Set(entries.map(({ name }) => name)).size === entries.length,
  { error: 'names must differ' },
] as const;

/** A secret and the file of it exclude each other: one of them would have no effect. */
export const notBoth = <N extends string>(name: N) =>
  [
    (given: { readonly [K in N | `${N}_file`]?: unknown }) =>
      given[name] === undefined || given[`${name}_file`] === undefined,
    { error: `takes \`${name}\` or \`${name}_file\`, not both` },
  ] as const;

/** The port of a server that callsync starts itself. */
export const ownPortSchema = (server: string) =>
  withDefault.between(0, 65_535, 0).describe(`Port of ${server}; 0 = the last used port, or any free port.`);

/** Certificate of a server of ours: section `tls` of the receiver and of the operations port. */
export const tlsSchema = z.strictObject({
  cert_file: z.string().min(1).describe('Certificate chain, PEM; read again when it changes.'),
  key_file: z.string().min(1).describe('Private key, PEM; read again when it changes.'),
});

/** Whether a text is one that `use` takes without an error. */
export const isFor =
  (use: (text: string) => unknown) =>
  (text: string): boolean => {
    try {
      use(text);
      return true;
    } catch {
      return false;
    }
  };

/** PostgreSQL, BigQuery, Temporal and Node read short names such as CET, and offsets such as +02, differently. */
export const timeZone = matching(
  /^(UTC|(?!.*[A-Z]{4})[A-Z][\w+-]*(\/[A-Z][\w+-]*)+)$/,
  'must be UTC or an IANA name with a slash, such as Europe/Paris',
)
  .refine(
    isFor((timeZone) => new Intl.DateTimeFormat('en', { timeZone })),
    { error: 'is no time zone that this machine knows' },
  )
  .default('UTC');

/** Settings that every kind of warehouse has. */
export const everyWarehouse = {
  documents: a.off.describe('Also keep the full folded document of each call in a table of its own.'),
  marts: a.on.describe('Create the marts: views for analysts, in a schema or dataset of their own.'),
  marts_schema: optional(matching(/^[a-z_][a-z0-9_]{0,62}$/)).describe(
    'Schema or dataset of the marts; by default that of the tables, followed by _marts.',
  ),
};
