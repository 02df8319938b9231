/** Config section `webhook:`: the receiver of deliveries (interface §4.3, §5.4). */
import { optional, z } from 'zod';
import { a, matching, notBoth, ownNames, tlsSchema, withDefault } from './values.ts';

const { between, count, duration, list, natural, notNegative, positive } = withDefault;

const MiB = 1024 * 1024;

const addressForms = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const addressSchema = z.string().refine((text) => addressForms.safeParse(text).success, {
  error: 'must be an address or a CIDR range, such as 203.0.113.7 or 203.0.113.0/24',
});

const signingSecretSchema = z
  .strictObject({
    name: matching(/^[A-Za-z0-9._-]{1,64}$/).describe('Name of this secret in metrics and in the warehouse.'),
    secret: a.file.describe('The signing secret itself; prefer `secret_file`.'),
    secret_file: a.file.describe(
      'File that holds the signing secret. callsync reads it again when it changes. An empty or removed file retires the secret.',
    ),
    hook_ids: optional(z.array(z.string().min(1)).min(1)).describe(
      'Webhooks whose deliveries the secret verifies (X-Service-Hook-Id); all by default.',
    ),
  })
  .refine((entry) => entry.secret !== undefined || entry.secret_file !== undefined, {
    error: 'needs `secret_file` (or `secret`)',
  })
  .refine(...notBoth('secret'));

const limitsSchema = z.strictObject({
  body_bytes: count(16 * MiB, 256 * MiB).describe('Largest accepted delivery, in bytes; a larger delivery gets 413.'),
  inflight_bytes: count(48 * MiB).describe(
    'Most bytes of deliveries in memory. At this limit, the sender with most bytes gets 503. Senders without a valid signature so far share half of the limit.',
  ),
  header_bytes: z.number().int().min(1024).default(16_384).describe('Largest accepted request head, in bytes.'),
  connections: count(2_000).describe('Most open connections. At this limit, the sender with most of them loses one.'),
  connections_per_sender: count(500).describe('Most connections of one address (IPv6: /64), except `trusted_proxies`.'),
  headers_timeout_s: positive(5).describe('Longest time until the request head has arrived, in seconds.'),
  request_timeout_s: positive(9).describe('Longest time of a request, in seconds. The service itself stops after 10.'),
  keep_alive_s: positive(620).describe(
    'Time for which an idle connection stays open, in seconds; longer than load balancers keep theirs (ALB 60, Google Cloud 600).',
  ),
  answer_within_s: positive(8, 10).describe('Seconds until a delivery that is not durable gets 503, to be sent again.'),
});

const groupCommitSchema = z.strictObject({
  writers: between(1, 16, 2).describe('Groups written at once.'),
  max_delay_ms: notNegative(2, 100).describe('Milliseconds that a delivery waits for others of its group.'),
  batch_rows: between(1, 1_000, 128).describe('Most deliveries in one group.'),
  batch_bytes: count(8 * MiB).describe('Most bytes in one group, unless a single delivery is larger.'),
  deadline_s: positive(2).describe('Seconds until the write of a group fails, and its deliveries go to the spool.'),
});

const spoolSchema = z.strictObject({
  dir: a.file.describe('Folder of the spool, on a disk that survives a restart. Default: `spool` in `store.data_dir`.'),
  max_bytes: count(1024 * MiB).describe('Largest size of the spool, in bytes; beyond it, deliveries get 503.'),
  min_free_bytes: natural(512 * MiB).describe('Free bytes left on the disk of the spool; below, deliveries get 503.'),
  segment_bytes: count(64 * MiB).describe('Size at which callsync begins a new spool file, in bytes.'),
  damaged_retention: duration('30d').describe('Retention of spool files with unreadable bytes, once all else is in.'),
});

export const webhookConfigSchema = z
  .strictObject({
    enabled: a.on.describe('Start the receiver with `callsync up`.'),
    listen: a.listen.describe('Address to listen on; `0.0.0.0` or `::` for all.'),
    port: natural(8780, 65_535).describe('Port to listen on; 0 = any free port.'),
    path: withDefault
      .matching(/^\/[A-Za-z0-9._~/-]*$/, '/webhook')
      .describe('Path of the webhook URL; the receiver answers 404 on all others.'),
    public_url: optional(a.webAddress).describe(
      'Address to which the service sends, as seen from outside (https://…); `callsync doctor` and `callsync go-live` try it.',
    ),
    header_prefix: withDefault
      .matching(/^[A-Za-z0-9-]+-$/, 'X-Service-')
      .describe('Prefix of the headers Signature, Delivery and Hook-Id.'),
    secrets: list(signingSecretSchema)
      .refine(...ownNames)
      .describe('Signing secrets; several at once while one replaces another.'),
    allow_unsigned: a.off.describe('Take unsigned deliveries. Anyone who can reach the port can then write call data.'),
    tls: tlsSchema.optional().describe('Serve HTTPS with this certificate; plain HTTP without it.'),
    trusted_proxies: list(addressSchema).describe('Addresses or CIDR ranges of proxies whose X-Forwarded-For counts.'),
    allow_from: list(addressSchema).describe('Addresses or CIDR ranges of allowed senders; empty = all.'),
    limits: limitsSchema.prefault({}).describe('Limits against slow, large and many requests.'),
    group_commit: groupCommitSchema
      .prefault({})
      .describe('Groups in which the receiver writes deliveries to the inbox.'),
    spool: spoolSchema.prefault({}).describe('Folder of deliveries while the store is away.'),
    shutdown_delay_s: between(0, 300, 5).describe(
      'Seconds for which a stopping receiver (SIGTERM) still accepts deliveries while `/readyz` answers 503, so that proxies notice. Ctrl-C skips them.',
    ),
    rejected_per_minute: natural(10).describe('Most rows for rejected deliveries a minute; one more counts others.'),
    wake_interval_ms: natural(200).describe('Shortest time between two wake-ups of the inbox merge, in milliseconds.'),
  })
  .describe('Receiver of webhook deliveries.');

export type WebhookConfig = z.infer<typeof webhookConfigSchema>;
export type SigningSecretConfig = z.infer<typeof signingSecretSchema>;
