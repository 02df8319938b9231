/** Config section `notifications:`: channels, and the conditions that they report. */
import { z } from 'zod';
import { a, ownNames, withDefault } from './values.ts';

const { duration, list } = withDefault;

export const conditions = [
  'stale',
  'inbox_stalled',
  'load_stalled',
  'calls_refused',
  'maintenance_failed',
  'quota_low',
  'quarantine_open',
  'reread_unanswered',
  'unproven',
  'suspicious_empty',
  'webhook_refused',
  'worker_gone',
] as const;
export type Condition = (typeof conditions)[number];

const nameSchema = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);

const channelSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('webhook').describe('Signed after Standard Webhooks.'),
    name: nameSchema.describe('Name of the channel, for rules and errors.'),
    url: a.webAddress.describe('Address that gets the messages, as JSON.'),
    secret_file: z.string().min(1).describe('File of the signing secret (base64, with or without whsec_).'),
  }),
  z.strictObject({
    type: z.literal('slack').describe('An incoming webhook of Slack.'),
    name: nameSchema.describe('Name of the channel, for rules and errors.'),
    url_file: z.string().min(1).describe('File with the address of the webhook. The address is a secret.'),
  }),
]);

const ruleSchema = z.strictObject({
  when: z.enum(conditions).describe('Condition; docs/reference/metrics.md explains each.'),
  after: duration('0s').describe('Time for which the condition must last before callsync sends a message.'),
  channels: z.array(nameSchema).min(1).optional().describe('Names of channels for the message; all by default.'),
});

const isNameOf = (channels: readonly { readonly name: string }[]) => (wanted: string) =>
  channels.some(({ name }) => name === wanted);

export const notificationsConfigSchema = z
  .strictObject({
    channels: list(channelSchema)
      .refine(...ownNames)
      .describe('Receivers of messages. Without one, callsync sends none.'),
    rules: z
      .array(ruleSchema)
      .default(conditions.map((when) => ({ when, after: when === 'unproven' ? 86_400_000 : 0 })))
      .describe('Conditions to report. By default all conditions, with unproven windows after a day.'),
    digest: a.on.describe(
      'Send a summary of each week to every channel, once its days are compared: proven days, missing calls, lost webhooks, healed differences.',
    ),
    page_url: a.webAddress
      .optional()
      .describe('Address of the status page, for links in messages. By default, messages name a command instead.'),
  })
  .refine(({ channels, rules }) => rules.every((rule) => rule.channels?.every(isNameOf(channels)) ?? true), {
    path: ['rules'],
    error: 'must name channels that are there',
  })
  .describe('Messages with names and figures, without personal data, when a condition begins and when it ends.');

export type NotificationsConfig = z.infer<typeof notificationsConfigSchema>;
export type ChannelConfig = NotificationsConfig['channels'][number];
