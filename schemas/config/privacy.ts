/** Config section `privacy:`: rules for personal data, applied before storage. */
import { z } from 'zod';
import { a, isFor, matching, withDefault } from './values.ts';

const { list, oneOf } = withDefault;

const ruleSchema = z.strictObject({
  path: matching(/^[^.]+(\.[^.]+)*$/).describe(
    'Dotted path of the field, such as `metadata.ANI`, `in.data` or `visit`; `*` is any text within a name. A rule acts on all values below its field, also in lists. `transcript.known_values` stands for labels and numbers of the contacts, and for metadata keys with a rule of their own, wherever the transcript says them.',
  ),
  action: z
    .enum(['keep', 'drop', 'token', 'last4', 'redact'])
    .describe(
      '`drop` removes the field. `token` replaces the whole value by a token that still joins. `last4` keeps four characters. `redact` replaces values that the detectors find. `keep` changes nothing.',
    ),
});

const patternSchema = z.strictObject({
  name: matching(/^(?!(?:known|unread)$)[a-z][a-z0-9_]{0,31}$/).describe('Name in brackets that replaces a match.'),
  pattern: a.some
    .refine(
      isFor((text) => new RegExp(text, 'gu')),
      { error: 'is not a regular expression' },
    )
    .describe('Regular expression (JavaScript, Unicode) over each utterance and each text.'),
});

const keyIdSchema = z.string().regex(/^[a-z0-9]{1,16}$/);

const formerKeySchema = z.strictObject({
  id: keyIdSchema.describe('Name that the key had as `key_id`. The name is part of its tokens.'),
  file: z.string().min(1).describe('File with the former key.'),
});

export const privacyConfigSchema = z
  .strictObject({
    profile: oneOf(['none', 'pseudonymous', 'no_transcript'], 'none').describe(
      'Ready-made rules, applied after your own. `none` has no rules. `pseudonymous` replaces contacts, ANI, Agent and ClientID by tokens, and redacts all other fields, also transcripts. `no_transcript` also drops the transcript.',
    ),
    rules: list(ruleSchema).describe('Your rules, before those of the profile. The first match of a field decides.'),
    countries: z
      .array(matching(/^[A-Z]{2}$/))
      .min(1)
      .default(['FR'])
      .describe('Countries (ISO codes) whose national telephone numbers the detectors know; the first is the default.'),
    disabled_detectors: list(
      z.enum(['phone', 'card', 'cvv', 'iban', 'email', 'nir', 'birth', 'account', 'expiry', 'last4']),
    ).describe('Detectors that `redact` leaves out.'),
    patterns: list(patternSchema).describe('Detectors of your own.'),
    retention: z
      .strictObject({
        words: a.duration.describe('Age limit of words with their times; the text of utterances stays.'),
        transcripts: a.duration.describe('Age limit of transcripts.'),
        free_fields: a.duration.describe(
          'Age limit of metadata, `visit`, `tracking_info`, and every field that the interface does not name. The times of `source.list.cursor_fields` stay.',
        ),
        calls: a.duration.describe('Age limit of whole calls. A tombstone stays, as for erased calls.'),
      })
      .prefault({})
      .describe(
        'Retention limits of the parts of a call, counted from its own time, in ledger and warehouses. callsync also cuts incoming calls. Without a value, there is no limit.',
      ),
    key_id: keyIdSchema.default('k1').describe('Name of the key, part of every token. A new key needs a new name.'),
    key_file: a.file.describe(
      'File with the key of tokens, at least 16 bytes. Receivers and workers need the same key. With rules, `callsync serve` and `callsync worker` require it. Default elsewhere: `privacy.key` in `store.data_dir`, made at the first start. Keep it outside the store. Anyone with both can guess numbers and match them to tokens.',
    ),
    former_keys: list(formerKeySchema).describe(
      'Former keys of tokens, the oldest first. While a key is here, erasures, objections, holds and exports find calls under its tokens, and callsync recognises repeated deliveries.',
    ),
    unreadable: oneOf(['seal', 'drop'], 'seal').describe(
      'Treatment of records that callsync cannot parse. `seal` keeps them for `callsync quarantine replay --key-file`; `drop` loses them.',
    ),
    seal_key_file: a.file.describe(
      'File with the public key (X25519, PEM) that seals. Keep the private key elsewhere. Make the keys with `openssl genpkey -algorithm x25519 -out private.pem` and `openssl pkey -in private.pem -pubout`.',
    ),
    former_seal_key_files: list(z.string().min(1)).describe('Former public keys; they allow another `seal_key_file`.'),
  })
  .refine(
    ({ profile, rules, unreadable, seal_key_file }) =>
      (profile === 'none' && rules.length === 0) || unreadable === 'drop' || seal_key_file !== undefined,
    { error: 'needs `seal_key_file`, or `unreadable: drop`' },
  )
  .refine(
    ({ key_id, former_keys }) => new Set([key_id, ...former_keys.map(({ id }) => id)]).size > former_keys.length,
    { error: 'names a key twice, or the present one', path: ['former_keys'] },
  )
  .describe('Rules for personal data, applied before callsync stores anything. Without rules, nothing changes.');

export type PrivacyConfig = z.infer<typeof privacyConfigSchema>;
