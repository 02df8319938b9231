/** Config section `privacy:`: rules for personal data, applied before storage. */
import { z } from 'zod';
import { durationSchema } from './values.ts';

const ruleSchema = z.strictObject({
  path: z
    .string()
    .regex(/^[^.]+(\.[^.]+)*$/)
    .describe(
      'Field, dotted, such as `metadata.ANI`, `in.data` or `visit`; `*` is any text within a name. Lists have no path of their own; a rule acts on everything below its field.',
    ),
  action: z
    .enum(['keep', 'drop', 'token', 'last4', 'redact'])
    .describe(
      '`drop` leaves the field out, `token` replaces the whole value by one that still joins, `last4` keeps four characters, `redact` replaces values that the detectors find, `keep` changes nothing.',
    ),
});

const patternSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,31}$/)
    .describe('Stands in brackets where a match was.'),
  pattern: z
    .string()
    .min(1)
    .refine(
      (text) => {
        try {
          return new RegExp(text, 'gu') !== undefined;
        } catch {
          return false;
        }
      },
      { error: 'is not a regular expression' },
    )
    .describe('Regular expression (JavaScript, Unicode) over each utterance and each text.'),
});

const keyIdSchema = z.string().regex(/^[a-z0-9]{1,16}$/);

const formerKeySchema = z.strictObject({
  id: keyIdSchema.describe('Name that the key had as `key_id`: it is part of the tokens that were made with it.'),
  file: z.string().min(1).describe('File with the key, as it was `key_file`.'),
});

export const privacyConfigSchema = z
  .strictObject({
    profile: z
      .enum(['none', 'pseudonymous', 'no_transcript'])
      .default('none')
      .describe(
        'Rules behind your own: `none` has none; `pseudonymous` tokenises contacts, ANI, Agent and ClientID and redacts everything else, transcripts included; `no_transcript` drops the transcript too.',
      ),
    rules: z
      .array(ruleSchema)
      .default([])
      .describe('Rules of your own, before those of the profile: the first that fits a field decides.'),
    countries: z
      .array(z.string().regex(/^[A-Z]{2}$/))
      .min(1)
      .default(['FR'])
      .describe('Countries (ISO codes) whose national telephone numbers are known; the first is the default.'),
    disabled_detectors: z
      .array(z.enum(['phone', 'card', 'cvv', 'iban', 'email', 'nir', 'birth']))
      .default([])
      .describe('Detectors that `redact` leaves out.'),
    patterns: z.array(patternSchema).default([]).describe('Detectors of your own.'),
    retention: z
      .strictObject({
        words: durationSchema.optional().describe('Words with their times; the text of utterances stays.'),
        transcripts: durationSchema.optional().describe('Transcripts.'),
        free_fields: durationSchema
          .optional()
          .describe('Metadata, `visit`, `tracking_info`, and every field that the interface does not name.'),
        calls: durationSchema.optional().describe('Whole calls. A tombstone stays, as of erased ones.'),
      })
      .prefault({})
      .describe(
        'Retention limits of the parts of a call, counted from its own time, in ledger and warehouses. callsync also cuts incoming calls. Without a value, there is no limit.',
      ),
    key_id: keyIdSchema.default('k1').describe('Name of the key, part of every token. A new key needs a new name.'),
    key_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File with the key of tokens, at least 16 bytes; receivers and workers need the same. `callsync serve` and `callsync worker` require it. Default elsewhere: `privacy.key` in `store.data_dir`, made at the first start. Keep it outside the store: anyone who has both can try numbers out.',
      ),
    former_keys: z
      .array(formerKeySchema)
      .default([])
      .describe(
        'Keys that tokens were made with before, the oldest first. While a key is here, erasures, objections, holds and exports find calls under its tokens, and callsync recognises repeated deliveries.',
      ),
    unreadable: z
      .enum(['seal', 'drop'])
      .default('seal')
      .describe(
        'Treatment of records that callsync cannot parse: sealed for `callsync quarantine replay --key-file`, or dropped, which loses them.',
      ),
    seal_key_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File with the public key (X25519, PEM) that seals; the private one stays elsewhere. Made by `openssl genpkey -algorithm x25519 -out private.pem` and `openssl pkey -in private.pem -pubout`.',
      ),
    former_seal_key_files: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Files with public keys that sealed before: with them, `seal_key_file` may be another key than before.',
      ),
  })
  .refine(
    ({ profile, rules, unreadable, seal_key_file }) =>
      (profile === 'none' && rules.length === 0) || unreadable === 'drop' || seal_key_file !== undefined,
    { error: 'needs `seal_key_file`, or `unreadable: drop`', path: ['seal_key_file'] },
  )
  .refine(
    ({ key_id, former_keys }) => new Set([key_id, ...former_keys.map(({ id }) => id)]).size > former_keys.length,
    { error: 'names a key twice, or the present one', path: ['former_keys'] },
  )
  .describe('Rules for personal data, applied before callsync stores anything. Without rules, nothing changes.');

export type PrivacyConfig = z.infer<typeof privacyConfigSchema>;
