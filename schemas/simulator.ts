/**
 * Options of the simulated call-data service (`callsync simulate`). Every section but `calls`, `edits` and the
 * addresses can be changed while it runs (control method `configure`).
 */
import { z } from 'zod';
import { dialectSchema } from './simulator-dialect.ts';
import { quirksSchema } from './simulator-quirks.ts';

const share = z.number().min(0).max(1);
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

const callsSchema = z.object({
  count: z.number().int().min(0).max(4_000_000).default(2_000).describe('Calls planned over the range.'),
  from: instant.optional().describe('Start of the range of call times, inclusive; 30 days before `to` by default.'),
  to: instant.optional().describe("End of the range, exclusive; the simulator's now, floored to a minute, by default."),
  density: z.enum(['office', 'even']).default('office').describe('Calls follow office hours (UTC), or not.'),
  precision: z.enum(['seconds', 'milliseconds']).default('seconds').describe('Precision of timestamp and qualified.'),
  printedPrecision: z
    .enum(['seconds', 'milliseconds'])
    .optional()
    .describe('Precision of times in records; that of the list’s filters by default.'),
  printedOffMs: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Times in records differ from those that the list filters by, by up to so many milliseconds either way.'),
  printedZoneMinutes: z
    .number()
    .int()
    .optional()
    .describe(
      'Times in records are local times without a zone, so many minutes ahead of UTC; UTC with a Z by default.',
    ),
  utterances: z.number().int().min(0).max(5_000).default(40).describe('Mean utterances of a call (± 25%).'),
  words: z.number().int().min(1).max(100).default(12).describe('Mean words of an utterance (± 25%).'),
  overlapShare: share.default(0).describe('Utterances that begin before the one before them has ended.'),
  tags: z.number().int().min(0).max(24).default(5).describe('Tags of a call.'),
  padding: z.number().int().min(0).default(0).describe('Bytes of filler in every transcript, to make pages huge.'),
  voidShare: share.default(0.1).describe('Calls whose status is void.'),
  otherShare: share.default(0.02).describe('Calls of a status that is listed but never sent to a webhook.'),
  processingSeconds: z.number().min(0).default(240).describe('Median time from the end of a call to its qualified.'),
  lateShare: share.default(0.01).describe('Calls processed up to lateMaxDays after their time.'),
  lateMaxDays: z.number().min(0).default(5).describe('Longest such delay, in days.'),
  malformedShare: share
    .default(0)
    .describe(
      'Records listed and sent malformed: not an object, without unique_id (both outside the truth), wrong types.',
    ),
});

const editsSchema = z.object({
  share: share.default(0).describe('Planned calls that change once after they were processed.'),
  maxAgeDays: z.number().min(0).default(3).describe('Greatest age (since qualified) of a planned edit, in days.'),
  kinds: z
    .array(z.enum(editKinds))
    .min(1)
    .default(['transcript', 'tags', 'metadata'])
    .describe('What an edit changes.'),
  requalifyShare: share.default(0.5).describe('Edits that give the call a new end of processing; others are silent.'),
  webhookShare: share.default(1).describe('Edits that send the record again by webhook.'),
});

const liveSchema = z.object({
  callsPerSecond: z.number().min(0).default(0).describe('New calls per real second, appearing as time passes.'),
  processingSeconds: z.number().min(0).default(1).describe('From the end of a live call to its qualified.'),
  editShare: share.default(0).describe('Live ticks that also edit an existing call.'),
});

const webhooksSchema = z.object({
  url: z.url().optional().describe('Where records are sent once processed; nothing is sent without it.'),
  secret: z.string().nullable().optional().describe('Signing secret; generated when absent, null sends unsigned.'),
  hookId: z.string().default('hook-1').describe('X-Service-Hook-Id.'),
  headerPrefix: z.string().default('X-Service').describe('Prefix of the three headers of interface §4.3.'),
  agent: z.string().default('Service-Webhook/1.2.0').describe('User-agent.'),
  timeoutMs: z.number().int().min(1).default(10_000).describe('Time for a 2XX answer, per attempt.'),
  concurrency: z.number().int().min(1).default(16).describe('Deliveries in flight.'),
  from: instant
    .optional()
    .describe('Also send what was processed since then; default: only what is processed from now on.'),
  dropShare: share.default(0).describe('Deliveries that are never sent.'),
});

const tokensSchema = z.object({
  realm: z.string().min(1).default('calls').describe('Realm in the path of the token endpoint.'),
  clientId: z.string().min(1).default('demo-client').describe('The one client.'),
  clientSecret: z.string().min(1).optional().describe('Its secret; generated when absent.'),
  lifetimeSeconds: z.number().min(0).default(3_600).describe('Lifetime of a token for the call API, in real time.'),
  expiresIn: z.enum(['present', 'absent']).default('present').describe('Whether the response says its lifetime.'),
  idToken: z
    .enum(['none', 'wrong_issuer', 'expired', 'garbage'])
    .default('none')
    .describe('A surprising id_token in the response.'),
  delayMs: z.number().min(0).default(0).describe('Time before a token response.'),
});

const rateLimitSchema = z.object({
  requests: z.number().int().min(0).default(40).describe('Requests granted per source address in any window; 0 = off.'),
  seconds: z.number().positive().default(10).describe('Length of the rolling window, in real time.'),
  retryAfter: z.enum(['none', 'seconds', 'date']).default('none').describe('Retry-After on 429.'),
  headers: z.boolean().default(false).describe('Send X-RateLimit-Limit, -Remaining and -Reset.'),
});

const faultsSchema = z.object({
  rates: z.partialRecord(z.enum(faultKinds), share).default({}).describe('Share of requests per kind of fault.'),
  at: z
    .array(z.object({ request: z.number().int().min(0), kind: z.enum(faultKinds) }))
    .default([])
    .describe('Single requests to the call API that fail, by their number from 0.'),
  scope: z
    .array(z.enum(['list', 'call', 'token']))
    .default(['list', 'call'])
    .describe('Endpoints that fail.'),
  retryAfterSeconds: z.number().int().min(0).default(1).describe('What Retry-After of a fault says.'),
  slowMs: z.number().int().min(0).default(2_000).describe('How long a slow body takes.'),
});

const churnSchema = z.object({
  everyPages: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('After every n-th page, one call leaves and one joins its range.'),
  limit: z.number().int().min(0).default(50).describe('Most such swaps.'),
});

const websocketSchema = z.object({
  path: z.string().startsWith('/').default('/stream').describe('Path of the WebSocket endpoint.'),
  tokenAgeSeconds: z.number().min(0).default(300).describe('Greatest age of the token at opening (§5.2).'),
  whitelist: z.array(z.string()).default([]).describe('Source addresses allowed to open; empty = all.'),
  framesPerSecond: z.number().min(0).default(5).describe('Frames per connection; every fifth is binary.'),
});

export const simulatorOptionsSchema = z.object({
  seed: z.number().int().min(0).default(1).describe('The same seed makes the same calls, faults and choices.'),
  host: z.string().default('127.0.0.1').describe('Listening address.'),
  port: z.number().int().min(0).max(65_535).default(0).describe('Listening port; 0 = a free one.'),
  calls: callsSchema.prefault({}).describe('The calls that exist.'),
  edits: editsSchema.prefault({}).describe('Planned changes of calls.'),
  live: liveSchema.prefault({}).describe('Calls that appear while it runs.'),
  clock: z
    .object({
      now: instant.optional().describe("The simulator's now at start; real time by default."),
    })
    .prefault({})
    .describe('Clock of call times, visibility, delivery ids and the Date header; tokens and limits use real time.'),
  dialect: z.string().default('activate').describe('Named dialect of the call list.'),
  dialectOverrides: dialectSchema.partial().prefault({}).describe('Properties of the dialect to replace.'),
  listOmits: fields
    .default(['audio_state', 'visit'])
    .describe('Fields of the webhook record that the call list does not carry.'),
  listAdds: z.record(z.string(), z.unknown()).default({}).describe('Fields added to every listed record (drift).'),
  quirks: quirksSchema.prefault({}).describe('What the call list does although no interface mentions it.'),
  unstableTies: z.boolean().default(false).describe('Calls of the same instant are listed in another order each time.'),
  compression: z.boolean().default(false).describe('Answer with br or gzip where accepted.'),
  staticPages: z
    .boolean()
    .default(false)
    .describe('Freeze all calls and serve serialised bytes from memory, without rate limit (benchmarks).'),
  webhooks: webhooksSchema.prefault({}).describe('The webhook sender.'),
  tokens: tokensSchema.prefault({}).describe('The token endpoint.'),
  rateLimit: rateLimitSchema.prefault({}).describe('Rate limit of the call API.'),
  faults: faultsSchema.prefault({}).describe('Seeded faults.'),
  churn: churnSchema.prefault({}).describe('Calls that leave and join a range between two pages, keeping the count.'),
  websocket: websocketSchema.prefault({}).describe('The WebSocket endpoint.'),
  mrcp: z
    .object({
      mode: z
        .enum(['accept', 'refuse', 'unanswered'])
        .default('accept')
        .describe('The port accepts connections, refuses them, or never answers.'),
    })
    .prefault({})
    .describe('The MRCP port.'),
});

/** What a caller passes: everything is optional. */
export type SimulatorOptions = z.input<typeof simulatorOptionsSchema>;
/** With defaults filled in; mutable, because sections are replaced while the simulator runs. */
export type SimulatorSettings = z.output<typeof simulatorOptionsSchema>;
export type WebhookSettings = SimulatorSettings['webhooks'];
