/** Config section `operations:`: health, readiness and metrics, away from the port that takes deliveries. */
import { optional, z } from 'zod';
import { a, matching, ownNames, tlsSchema, withDefault } from './values.ts';

const { list, natural } = withDefault;

const userSchema = z.strictObject({
  name: matching(/^[A-Za-z0-9._-]{1,64}$/).describe('Name of the user in the timeline and in the browser.'),
  token_file: a.some.describe('File of the token, which is the password; read at each request.'),
});

export const operationsConfigSchema = z
  .strictObject({
    enabled: a.on.describe('Serve /healthz, /readyz and /metrics.'),
    listen: a.listen.describe('Address to listen on. In a container, its own or `0.0.0.0`, so that probes reach it.'),
    port: natural(9464, 65_535).describe('Port to listen on; 0 = any free port.'),
    tls: optional(tlsSchema).describe('Serve HTTPS with this certificate, /healthz and /metrics too; HTTP without it.'),
    token_file: a.file.describe(
      'File of a token that /metrics then requires, in the header Authorization as bearer token. Health probes need no token.',
    ),
    page: a.on.describe('Serve the status page at /. On other addresses than loopback, it needs a token.'),
    hosts: list(z.string().regex(/^[A-Za-z0-9.-]{1,253}$/)).describe('Further host names of the page for browsers.'),
    users: list(userSchema)
      .refine(...ownNames)
      .describe('Users that may read the page and act on it, each with its own token.'),
    process_metrics: a.on.describe('Include memory, CPU and event loop of the process in /metrics.'),
  })
  .describe('Health, readiness and metrics (for Prometheus or an OpenTelemetry collector), on a port of their own.');
