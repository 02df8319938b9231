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
  'too_many_429',
  'reset_before_headers',
  'truncated_body',
  'slow_body',
  'wrong_length',
  'invalid_json',
  'hang',
  'refused_400',
  'forbidden_403',
  'missing_404',
  'refused_416',
  'refused_422',
] as const;
export type FaultKind = (typeof faultKinds)[number];

const callsSchema = z.strictObject({
  /** Calls planned over the range. */
  count: natural(2_000, 4_000_000),
  /** Start of the range of call times, inclusive; 30 days before `to` by default. */
  from: instant.optional(),
  /** End of the range, exclusive; the simulator's now, floored to a minute, by default. */
  to: instant.optional(),
  /** Calls follow office hours (UTC), or not. */
  density: oneOf(['office', 'even'], 'office'),
  /** Precision of timestamp and qualified. */
  precision: oneOf(['seconds', 'milliseconds'], 'seconds'),
  /** Precision of times in records; that of the list’s filters by default. */
  printedPrecision: optional(z.enum(['seconds', 'milliseconds'])),
  /** Times in records differ from those that the list filters by, by up to so many milliseconds either way. */
  printedOffMs: natural(0),
  /** Times in records are local times without a zone, so many minutes ahead of UTC; UTC with a Z by default. */
  printedZoneMinutes: optional(z.number().int()),
  /** Mean utterances of a call (± 25%). */
  utterances: natural(40, 5_000),
  /** Mean words of an utterance (± 25%). */
  words: between(1, 100, 12),
  /** Utterances that begin before the one before them has ended. */
  overlapShare: share(0),
  /** Tags of a call. */
  tags: natural(5, 24),
  /** Bytes of filler in every transcript, to make pages huge. */
  padding: natural(0),
  /** Calls whose status is void. */
  voidShare: share(0.1),
  /** Calls of a status that is listed but never sent to a webhook. */
  otherShare: share(0.02),
  /** Median time from the end of a call to its qualified. */
  processingSeconds: notNegative(240),
  /** Calls processed up to lateMaxDays after their time. */
  lateShare: share(0.01),
  /** Longest such delay, in days. */
  lateMaxDays: notNegative(5),
});

const editsSchema = z.strictObject({
  /** Parts that an edit changes. */
  kinds: z.array(z.enum(editKinds)).min(1).default(['transcript', 'tags', 'metadata']),
  /** Edits that give the call a new end of processing; others are silent. */
  requalifyShare: share(0.5),
  /** Edits that send the record again by webhook. */
  webhookShare: share(1),
});

const liveSchema = z.strictObject({
  /** New calls per real second, appearing as time passes. */
  callsPerSecond: notNegative(0),
  /** From the end of a live call to its qualified. */
  processingSeconds: notNegative(1),
  /** Live ticks that also edit an existing call. */
  editShare: share(0),
});

const webhooksSchema = z.strictObject({
  /** Where records are sent once processed; nothing is sent without it. */
  url: z.url().optional(),
  /** Signing secret; generated when absent, null sends unsigned. */
  secret: z.string().nullable().optional(),
  /** Prefix of the three headers of interface §4.3. */
  headerPrefix: text('X-Service'),
  /** Time for a 2XX answer, per attempt. */
  timeoutMs: z.number().int().min(1).default(10_000),
  /** Deliveries in flight. */
  concurrency: z.number().int().min(1).default(16),
  /** Deliveries that are never sent. */
  dropShare: share(0),
});

const tokensSchema = z.strictObject({
  /** Realm in the path of the token endpoint. */
  realm: z.string().min(1).default('calls'),
  /** The one client. */
  clientId: z.string().min(1).default('demo-client'),
  /** Secret of the client; generated when absent. */
  clientSecret: a.file,
  /** Lifetime of a token for the call API, in real time. */
  lifetimeSeconds: notNegative(3_600),
});

const rateLimitSchema = z.strictObject({
  /** Requests granted per source address in any window; 0 = off. */
  requests: natural(40),
  /** Length of the rolling window, in real time. */
  seconds: positive(10),
  /** Retry-After on 429. */
  retryAfter: oneOf(['none', 'seconds', 'date'], 'none'),
  /** Send X-RateLimit-Limit, -Remaining and -Reset. */
  headers: a.off,
});

const faultsSchema = z.strictObject({
  /** Share of requests per kind of fault. */
  rates: z.partialRecord(z.enum(faultKinds), a.share).default({}),
  /** Single requests to the call API that fail, by their number from 0. */
  at: list(z.strictObject({ request: a.natural, kind: z.enum(faultKinds) })),
  /** Endpoints that fail. */
  scope: z.array(z.enum(['list', 'call', 'token'])).default(['list', 'call']),
  /** How long a slow body takes. */
  slowMs: natural(2_000),
});

const churnSchema = z.strictObject({
  /** After every n-th page, one call leaves and one joins its range. */
  everyPages: natural(0),
  /** Most such swaps. */
  limit: natural(50),
});

const websocketSchema = z.strictObject({
  /** Path of the WebSocket endpoint. */
  path: z.string().startsWith('/').default('/stream'),
  /** Source addresses allowed to open; empty = all. */
  whitelist: a.texts,
  /** Frames per connection; every fifth is binary. */
  framesPerSecond: notNegative(5),
});

export const simulatorOptionsSchema = z.strictObject({
  /** The same seed makes the same calls, faults and choices. */
  seed: natural(1),
  /** Listening address. */
  host: text('127.0.0.1'),
  /** Listening port; 0 = a free one. */
  port: natural(0, 65_535),
  /** The calls that exist. */
  calls: callsSchema.prefault({}),
  /** Changes of calls. */
  edits: editsSchema.prefault({}),
  /** Calls that appear while it runs. */
  live: liveSchema.prefault({}),
  /** Clock of call times, visibility, delivery ids and the Date header; tokens and limits use real time. */
  clock: z
    .strictObject({ now: instant.optional().describe("The simulator's now at start; real time by default.") })
    .prefault({}),
  /** Named dialect of the call list. */
  dialect: text('activate'),
  /** Properties of the dialect to replace. */
  dialectOverrides: dialectSchema.partial().prefault({}),
  /** Fields of the webhook record that the call list does not carry. */
  listOmits: fields.default(['audio_state', 'visit']),
  /** Fields added to every listed record (drift). */
  listAdds: z.record(z.string(), z.unknown()).default({}),
  /** Behaviour of the call list that no interface mentions. */
  quirks: quirksSchema.prefault({}),
  /** Calls of the same instant are listed in another order each time. */
  unstableTies: a.off,
  /** Freeze all calls and serve bytes from memory, without rate limit (benchmarks). */
  staticPages: a.off,
  /** The webhook sender. */
  webhooks: webhooksSchema.prefault({}),
  /** The token endpoint. */
  tokens: tokensSchema.prefault({}),
  /** Rate limit of the call API. */
  rateLimit: rateLimitSchema.prefault({}),
  /** Seeded faults. */
  faults: faultsSchema.prefault({}),
  /** Calls that leave and join a range between two pages, keeping the count. */
  churn: churnSchema.prefault({}),
  /** The WebSocket endpoint. */
  websocket: websocketSchema.prefault({}),
  /** File that keeps inserted, changed and deleted calls for the next run. */
  keep: a.file,
});

/** Input of callers: everything is optional. */
export type SimulatorOptions = z.input<typeof simulatorOptionsSchema>;
/** With defaults filled in; mutable, because sections are replaced while the simulator runs. */
export type SimulatorSettings = z.output<typeof simulatorOptionsSchema>;
