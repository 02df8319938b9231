/** Values that several sections of the configuration have: durations, ports, certificates, time zones. */
import { z } from 'zod';

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
  /** May be left out. */
  text: z.string().optional(),
  texts: z.array(z.string()).default([]),
  webAddress: z.url({ protocol: /^https?$/ }),
};

/** A duration in YAML, milliseconds once parsed. */
export const durationSchema = z
  .string()
  .regex(pattern, { error: 'must be a number with its unit: ms, s, m, h or d, such as 5m' })
  .transform((text) => parseDuration(text) as number);

/** The port of a server that callsync starts itself. */
export const ownPortSchema = (server: string) =>
  z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe(`Port of ${server}; 0 = the last used port, or any free port.`);

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
