/** Config section `source:`: the service and how callsync speaks to it (interface §4, §5, §9). */
import { optional, z } from 'zod';
import { listConfigSchema } from './list.ts';
import { a, matching, notBoth, withDefault } from './values.ts';

const { count, natural, notNegative, oneOf, positive, text } = withDefault;

const limitsSchema = z.strictObject({
  requests: count(40).describe('Requests allowed within `per_s`, over all workers together.'),
  per_s: positive(10).describe('Length of the rolling window of `requests`, in seconds.'),
  live_share: notNegative(0.25, 0.9).describe(
    'Share of `requests` kept for continuous sync and for re-reads of single calls; backfills and reconcile take the rest. After 5 minutes without sync or re-reads, backfills and reconcile take all.',
  ),
  concurrency: count(8, 256).describe('Connections at once from one process.'),
  connect_timeout_s: positive(10).describe('Longest time to open a connection, in seconds.'),
  headers_timeout_s: positive(120).describe('Longest wait for response headers, in seconds; some lists count first.'),
  idle_timeout_s: positive(30).describe('Longest pause within a response body, in seconds.'),
  total_timeout_s: positive(300).describe('Longest time for one whole response, in seconds.'),
  max_response_bytes: count(134_217_728).describe('Largest response taken, in bytes after decoding.'),
  retries: natural(5).describe('Number of retries of a request that may succeed later.'),
  retry_base_ms: count(500).describe('Bound of the random wait before the first retry, in ms; each retry doubles it.'),
  retry_max_ms: count(30_000).describe('Largest bound of the random wait before a retry, in milliseconds.'),
});

const versionForm = /^(none:=|host:=[\w.-]+(:\d+)?|path:=.+|(header|query):[^=]+=.+)$/;

const versionSchema = z
  .strictObject({
    by: oneOf(['none', 'host', 'path', 'header', 'query'], 'none').describe(
      'Part of the request that selects the version of the call API (interface §9 does not define it).',
    ),
    name: optional(a.headerName).describe('Name of the header or query parameter.'),
    value: optional(a.headerText).describe('Host name, path prefix, header value or query value.'),
  })
  .refine(({ by, name, value = '' }) => versionForm.test(`${by}:${name ?? ''}=${value}`), {
    error: 'needs `by` and `value`, a host name for a host, and `name` only for a header or a query',
  });

const websocketSchema = z.strictObject({
  url: optional(z.url({ protocol: /^wss?$/, error: 'must be an address such as wss://stream.example.com' })).describe(
    'Address of the streaming WebSocket API (ws:// or wss://); the interface does not show it.',
  ),
  scheme: a.headerText.default('bearer').describe('Word before the token in the Authorization header.'),
  token_max_age_s: positive(240, 300).describe('Highest age of the opening token, in seconds (interface §5.2: 300).'),
  protocols: a.texts.describe('WebSocket subprotocols to offer.'),
  max_frame_bytes: count(16_777_216).describe('Largest frame taken, in bytes.'),
  ping_interval_s: positive(30).describe('Interval between pings of a silent connection, in seconds.'),
});

export const sourceConfigSchema = z
  .strictObject({
    base_url: a.baseAddress.describe('Address of the call API, {base_url} of the interface.'),
    auth_url: a.baseAddress.optional().describe('Address of the identity provider, {auth_url} of the interface.'),
    allow_http: a.off.describe('Allow plain HTTP to other hosts. Anyone on the path can then read token and secret.'),
    realm: optional(matching(/^(?!\.{1,2}$)./, 'must be the name of a realm')).describe('Realm of the token endpoint.'),
    token_url: optional(a.webAddress).describe(
      'Whole address of the token endpoint, if it is not {auth_url}/realms/<realm>/protocol/openid-connect/token.',
    ),
    client_id: z.string().trim().optional().describe('Client id issued by the account manager.'),
    client_secret: a.text.describe('Client secret issued by the account manager; better kept in a file.'),
    client_secret_file: a.text.describe('File that holds the client secret; read again when it changes.'),
    token_format: oneOf(['form', 'json'], 'form').describe(
      'Format of the token request, a form or a JSON object with the same fields (interface §4.1).',
    ),
    scope: text('openid').describe('Scope of the token request; empty = none.'),
    token: a.text.describe('A fixed token, used instead of the token endpoint (older services).'),
    token_file: a.text.describe('File that holds the fixed token.'),
    token_lifetime_s: positive(3_600).describe('Lifetime of a token without `expires_in`, in seconds (interface §8).'),
    auth_header: a.headerName.default('Authorization').describe('Header that carries the token.'),
    auth_scheme: a.headerText
      .default('bearer')
      .describe('Word before the token, such as `bearer` or `Token`; empty = none.'),
    headers: z.record(a.headerName, a.headerText).default({}).describe('Further headers sent with every request.'),
    version: versionSchema.prefault({}).describe('Version of the call API.'),
    list: listConfigSchema.prefault({}).describe('Requests and answers of the call list.'),
    limits: limitsSchema.prefault({}).describe('Limits of the requests to the service.'),
    websocket: websocketSchema.prefault({}).describe('The streaming WebSocket API (interface §5.2).'),
  })
  .refine(...notBoth('client_secret'))
  .refine(...notBoth('token'));

export type SourceConfig = z.infer<typeof sourceConfigSchema>;
export type SourceConfigInput = z.input<typeof sourceConfigSchema>;
export type SourceLimits = z.infer<typeof limitsSchema>;
