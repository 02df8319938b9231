/** Config section `webhook:`: the receiver of deliveries (interface §4.3, §5.4). */
import { z } from 'zod';
import { a, durationSchema, tlsSchema } from './values.ts';

const MiB = 1024 * 1024;

const addressForms = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const addressSchema = z.string().refine((text) => addressForms.safeParse(text).success, {
  error: 'must be an address or a CIDR range, such as 203.0.113.7 or 203.0.113.0/24',
});

const signingSecretSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,64}$/)
      .describe('Name under which the use of this secret is counted; it appears in metrics and in the warehouse.'),
    secret: z.string().min(1).optional().describe('The signing secret itself; prefer `secret_file`.'),
    secret_file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File that holds the signing secret; read again when it changes, retired when it is emptied or removed.',
      ),
    hook_ids: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('The secret verifies only deliveries of these webhooks (X-Service-Hook-Id); of all without it.'),
  })
  .refine((entry) => entry.secret !== undefined || entry.secret_file !== undefined, {
    error: 'needs `secret_file` (or `secret`)',
  });

const limitsSchema = z.strictObject({
  body_bytes: a.count
    .max(256 * MiB)
    .default(16 * MiB)
    .describe('Largest delivery taken; a larger one is answered 413. A two-hour call is several MiB.'),
  inflight_bytes: a.count
    .default(48 * MiB)
    .describe(
      'Bytes of deliveries held in memory at once; beyond it, the sender that holds most is answered 503. Senders that never signed a delivery rightly share half of it.',
    ),
  header_bytes: z.number().int().min(1024).default(16_384).describe('Largest request head taken.'),
  connections: a.count.default(2_000).describe('Connections open at once; beyond it, who has most of them loses one.'),
  connections_per_sender: a.count
    .default(500)
    .describe('Of these, from one address (IPv6: network of 64 bits); `trusted_proxies` are exempt.'),
  headers_timeout_s: a.positive.default(5).describe('Seconds within which the request head must be here.'),
  request_timeout_s: a.positive
    .default(9)
    .describe('Seconds within which a whole request must be here; the service itself gives up after 10.'),
  keep_alive_s: a.positive.default(30).describe('Seconds that an idle connection is kept.'),
  answer_within_s: a.positive
    .max(10)
    .default(8)
    .describe('A delivery that is not durable after these seconds is answered 503, so that the service tries again.'),
});

const groupCommitSchema = z.strictObject({
  writers: z.number().int().min(1).max(16).default(2).describe('Groups written at once.'),
  max_delay_ms: a.notNegative
    .max(100)
    .default(2)
    .describe('Milliseconds that a delivery waits for others before its group is written.'),
  batch_rows: z.number().int().min(1).max(1_000).default(128).describe('Most deliveries in one group.'),
  batch_bytes: a.count.default(8 * MiB).describe('Most bytes in one group, unless a single delivery is larger.'),
  deadline_s: a.positive
    .default(2)
    .describe('Seconds after which writing a group to the inbox counts as failed and its deliveries go to the spool.'),
});

const spoolSchema = z.strictObject({
  dir: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of the spool, on a disk that survives a restart; `spool` below store.data_dir without it.'),
  max_bytes: a.count.default(1024 * MiB).describe('Largest size of the spool; beyond it deliveries are answered 503.'),
  min_free_bytes: a.natural
    .default(512 * MiB)
    .describe('Free space left alone on the spool’s disk; below it deliveries are answered 503.'),
  segment_bytes: a.count.default(64 * MiB).describe('Size at which a new spool file is begun.'),
  damaged_retention: durationSchema
    .prefault('30d')
    .describe('How long to keep spool files with unreadable bytes after their other deliveries are stored.'),
});

export const webhookConfigSchema = z
  .strictObject({
    enabled: a.on.describe('Start the receiver with `callsync up`.'),
    listen: z.string().min(1).default('127.0.0.1').describe('Address to listen on; 0.0.0.0 or :: for all.'),
    port: a.natural.max(65_535).default(8780).describe('Port to listen on; 0 takes any free one.'),
    path: z
      .string()
      .regex(/^\/[A-Za-z0-9._~/-]*$/)
      .default('/webhook')
      .describe('Path of the webhook URL; everything else is answered 404.'),
    public_url: a.webAddress
      .optional()
      .describe(
        'Address to which the service sends, as seen from outside (https://…); `callsync doctor` and `callsync go-live` try it.',
      ),
    header_prefix: z
      .string()
      .regex(/^[A-Za-z0-9-]+-$/)
      .default('X-Service-')
      .describe('Prefix of the headers Signature, Delivery and Hook-Id.'),
    secrets: z
      .array(signingSecretSchema)
      .default([])
      .refine((entries) => new Set(entries.map((entry) => entry.name)).size === entries.length, {
        error: 'two secrets have the same name',
      })
      .describe('Signing secrets; several at once while one replaces another.'),
    allow_unsigned: a.off.describe(
      'Take deliveries without a signature. Anyone who can reach the port can then write call data.',
    ),
    tls: tlsSchema.optional().describe('Serve HTTPS with this certificate; plain HTTP without it.'),
    trusted_proxies: z
      .array(addressSchema)
      .default([])
      .describe('Addresses or CIDR ranges of proxies whose X-Forwarded-For is believed.'),
    allow_from: z
      .array(addressSchema)
      .default([])
      .describe('Addresses or CIDR ranges from which deliveries are taken; from anywhere if empty.'),
    limits: limitsSchema.prefault({}).describe('Limits against slow, large and many requests.'),
    group_commit: groupCommitSchema
      .prefault({})
      .describe('Groups in which the receiver writes deliveries to the inbox.'),
    spool: spoolSchema.prefault({}).describe('Folder of deliveries while the store is away.'),
    rejected_per_minute: a.natural
      .default(10)
      .describe('Rejected deliveries recorded one by one in a minute; the rest is counted in one row.'),
    wake_interval_ms: a.natural.default(200).describe('Least milliseconds between two wake-ups of the inbox merge.'),
  })
  .describe('Receiver of webhook deliveries.');

export type WebhookConfig = z.infer<typeof webhookConfigSchema>;
export type SigningSecretConfig = z.infer<typeof signingSecretSchema>;
