/**
 * Options of the simulated call-data service (`callsync simulate`). Every section but `calls`, `edits` and the
 * addresses can be changed while it runs (control method `configure`).
 */
import { optional, z } from 'zod';
import { a, withDefault } from './config/values.ts';
import { dialectSchema } from './simulator-dialect.ts';
import { quirksSchema } from './simulator-quirks.ts';

const { between, list, natural, notNegative, oneOf, positive, share, text } = withDefault;

const instant = z.iso.datetime({ offset: true });
const fields = z.array(z.string().min(1));

const editKinds = ['transcript', 'tags', 'metadata', 'status', 'audio_state', 'visit', 'timestamp'] as const;
export type EditKind = (typeof editKinds)[number];

export const faultKinds = [
  'error_500',
  'html_502',
  'unavailable_503',
  'unavailable_503_seconds',
  'unavailable_503_date',
  'too_many_429',
  'reset_before_headers',
  'reset_after_headers',
  'truncated_body',
  'slow_body',
  'wrong_length',
  'invalid_json',
  'hang',
  'redirect',
  'refused_400',
  'forbidden_403',
  'missing_404',
  'refused_416',
  'refused_422',
] as const;
export type FaultKind = (typeof faultKinds)[number];

const callsSchema = z.strictObject({
  count: natural(2_000, 4_000_000).describe('Calls planned over the range.'),
  from: instant.optional().describe('Start of the range of call times, inclusive; 30 days before `to` by default.'),
  to: instant.optional().describe("End of the range, exclusive; the simulator's now, floored to a minute, by default."),
  density: oneOf(['office', 'even'], 'office').describe('Calls follow office hours (UTC), or not.'),
  precision: oneOf(['seconds', 'milliseconds'], 'seconds').describe('Precision of timestamp and qualified.'),
  printedPrecision: optional(z.enum(['seconds', 'milliseconds'])).describe(
    'Precision of times in records; that of the list’s filters by default.',
  ),
  printedOffMs: natural(0).describe(
    'Times in records differ from those that the list filters by, by up to so many milliseconds either way.',
  ),
  printedZoneMinutes: optional(z.number().int()).describe(
    'Times in records are local times without a zone, so many minutes ahead of UTC; UTC with a Z by default.',
  ),
  utterances: natural(40, 5_000).describe('Mean utterances of a call (± 25%).'),
  words: between(1, 100, 12).describe('Mean words of an utterance (± 25%).'),
  overlapShare: share(0).describe('Utterances that begin before the one before them has ended.'),
  tags: natural(5, 24).describe('Tags of a call.'),
  padding: natural(0).describe('Bytes of filler in every transcript, to make pages huge.'),
  voidShare: share(0.1).describe('Calls whose status is void.'),
  otherShare: share(0.02).describe('Calls of a status that is listed but never sent to a webhook.'),
  processingSeconds: notNegative(240).describe('Median time from the end of a call to its qualified.'),
  lateShare: share(0.01).describe('Calls processed up to lateMaxDays after their time.'),
  lateMaxDays: notNegative(5).describe('Longest such delay, in days.'),
});

const editsSchema = z.strictObject({
  share: share(0).describe('Planned calls that change once after they were processed.'),
  maxAgeDays: notNegative(3).describe('Greatest age (since qualified) of a planned edit, in days.'),
  kinds: z
    .array(z.enum(editKinds))
    .min(1)
    .default(['transcript', 'tags', 'metadata'])
    .describe('What an edit changes.'),
  requalifyShare: share(0.5).describe('Edits that give the call a new end of processing; others are silent.'),
  webhookShare: share(1).describe('Edits that send the record again by webhook.'),
});

const liveSchema = z.strictObject({
  callsPerSecond: notNegative(0).describe('New calls per real second, appearing as time passes.'),
  processingSeconds: notNegative(1).describe('From the end of a live call to its qualified.'),
  editShare: share(0).describe('Live ticks that also edit an existing call.'),
});

const webhooksSchema = z.strictObject({
  url: z.url().optional().describe('Where records are sent once processed; nothing is sent without it.'),
  secret: z.string().nullable().optional().describe('Signing secret; generated when absent, null sends unsigned.'),
  hookId: text('hook-1').describe('X-Service-Hook-Id.'),
  headerPrefix: text('X-Service').describe('Prefix of the three headers of interface §4.3.'),
  agent: text('Service-Webhook/1.2.0').describe('User-agent.'),
  timeoutMs: z.number().int().min(1).default(10_000).describe('Time for a 2XX answer, per attempt.'),
  concurrency: z.number().int().min(1).default(16).describe('Deliveries in flight.'),
  from: optional(instant).describe('Also send what was processed since then; default: what is processed from now on.'),
  dropShare: share(0).describe('Deliveries that are never sent.'),
});

const tokensSchema = z.strictObject({
  realm: z.string().min(1).default('calls').describe('Realm in the path of the token endpoint.'),
  clientId: z.string().min(1).default('demo-client').describe('The one client.'),
  clientSecret: a.file.describe('Its secret; generated when absent.'),
  lifetimeSeconds: notNegative(3_600).describe('Lifetime of a token for the call API, in real time.'),
  expiresIn: oneOf(['present', 'absent'], 'present').describe('Whether the response says its lifetime.'),
  delayMs: notNegative(0).describe('Time before a token response.'),
});

const rateLimitSchema = z.strictObject({
  requests: natural(40).describe('Requests granted per source address in any window; 0 = off.'),
  seconds: positive(10).describe('Length of the rolling window, in real time.'),
  retryAfter: oneOf(['none', 'seconds', 'date'], 'none').describe('Retry-After on 429.'),
  headers: a.off.describe('Send X-RateLimit-Limit, -Remaining and -Reset.'),
});

const faultsSchema = z.strictObject({
  rates: z.partialRecord(z.enum(faultKinds), a.share).default({}).describe('Share of requests per kind of fault.'),
  at: list(z.strictObject({ request: a.natural, kind: z.enum(faultKinds) })).describe(
    'Single requests to the call API that fail, by their number from 0.',
  ),
  scope: z
    .array(z.enum(['list', 'call', 'token']))
    .default(['list', 'call'])
    .describe('Endpoints that fail.'),
  retryAfterSeconds: natural(1).describe('What Retry-After of a fault says.'),
  slowMs: natural(2_000).describe('How long a slow body takes.'),
});

const churnSchema = z.strictObject({
  everyPages: natural(0).describe('After every n-th page, one call leaves and one joins its range.'),
  limit: natural(50).describe('Most such swaps.'),
});

const websocketSchema = z.strictObject({
  path: z.string().startsWith('/').default('/stream').describe('Path of the WebSocket endpoint.'),
  tokenAgeSeconds: notNegative(300).describe('Greatest age of the token at opening (§5.2).'),
  whitelist: a.texts.describe('Source addresses allowed to open; empty = all.'),
  framesPerSecond: notNegative(5).describe('Frames per connection; every fifth is binary.'),
});

export const simulatorOptionsSchema = z.strictObject({
  seed: natural(1).describe('The same seed makes the same calls, faults and choices.'),
  host: text('127.0.0.1').describe('Listening address.'),
  port: natural(0, 65_535).describe('Listening port; 0 = a free one.'),
  calls: callsSchema.prefault({}).describe('The calls that exist.'),
  edits: editsSchema.prefault({}).describe('Planned changes of calls.'),
  live: liveSchema.prefault({}).describe('Calls that appear while it runs.'),
  clock: z
    .strictObject({ now: instant.optional().describe("The simulator's now at start; real time by default.") })
    .prefault({})
    .describe('Clock of call times, visibility, delivery ids and the Date header; tokens and limits use real time.'),
  dialect: text('activate').describe('Named dialect of the call list.'),
  dialectOverrides: dialectSchema.partial().prefault({}).describe('Properties of the dialect to replace.'),
  listOmits: fields
    .default(['audio_state', 'visit'])
    .describe('Fields of the webhook record that the call list does not carry.'),
  listAdds: z.record(z.string(), z.unknown()).default({}).describe('Fields added to every listed record (drift).'),
  quirks: quirksSchema.prefault({}).describe('What the call list does although no interface mentions it.'),
  unstableTies: a.off.describe('Calls of the same instant are listed in another order each time.'),
  compression: a.off.describe('Answer with br or gzip where accepted.'),
  staticPages: a.off.describe('Freeze all calls and serve bytes from memory, without rate limit (benchmarks).'),
  webhooks: webhooksSchema.prefault({}).describe('The webhook sender.'),
  tokens: tokensSchema.prefault({}).describe('The token endpoint.'),
  rateLimit: rateLimitSchema.prefault({}).describe('Rate limit of the call API.'),
  faults: faultsSchema.prefault({}).describe('Seeded faults.'),
  churn: churnSchema.prefault({}).describe('Calls that leave and join a range between two pages, keeping the count.'),
  websocket: websocketSchema.prefault({}).describe('The WebSocket endpoint.'),
  keep: a.file.describe('File that keeps inserted, changed and deleted calls for the next run.'),
  mrcp: z
    .strictObject({
      mode: oneOf(['accept', 'refuse', 'unanswered'], 'accept').describe(
        'The port accepts connections, refuses them, or never answers.',
      ),
    })
    .prefault({})
    .describe('The MRCP port.'),
});

/** Input of callers: everything is optional. */
export type SimulatorOptions = z.input<typeof simulatorOptionsSchema>;
/** With defaults filled in; mutable, because sections are replaced while the simulator runs. */
export type SimulatorSettings = z.output<typeof simulatorOptionsSchema>;
