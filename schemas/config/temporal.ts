/** Config section `temporal:`: the cluster that runs the workflows. */
import { optional, z } from 'zod';
import { a, matching, notBoth, ownPortSchema, withDefault } from './values.ts';

const { between, duration } = withDefault;

const tlsSchema = z
  .strictObject({
    enabled: z.boolean().optional().describe('Use TLS. On by default if there is a certificate, a CA or an API key.'),
    cert_file: a.file.describe('Client certificate for mTLS, PEM.'),
    key_file: a.file.describe('Private key of that certificate, PEM.'),
    ca_file: a.file.describe('Certificate authority of the server, PEM. Default: those of the system.'),
    server_name: a.file.describe('Name in the server’s certificate, if it is not the host name.'),
  })
  .refine((tls) => (tls.cert_file === undefined) === (tls.key_file === undefined), {
    error: 'needs `cert_file` and `key_file` together',
  });

const concurrencySchema = z.strictObject({
  workflow_tasks: between(1, 1_000, 20).describe('Workflow tasks at once in one worker process.'),
  live_activities: between(1, 1_000, 4).describe(
    'Live work at once in one worker process: sync, merges of waiting deliveries and re-reads of single calls.',
  ),
  read_activities: between(1, 1_000, 5).describe(
    'Windows read from the service at once in one worker process, for backfills and reconcile. One more than `sync.concurrency`, so that a day is compared while a backfill reads.',
  ),
  load_activities: between(1, 1_000, 2).describe('Loads into warehouses at once in one worker process.'),
});

export const temporalConfigSchema = z
  .strictObject({
    address: optional(matching(/^[^\s:/]+:\d{1,5}$/, 'must be host:port, such as temporal.example.com:7233')).describe(
      'Front end of a Temporal cluster, as `host:port`. Without it, callsync starts a development server.',
    ),
    namespace: a.some.default('default').describe('Temporal namespace; it must exist on a cluster of your own.'),
    tls: tlsSchema.prefault({}).describe('Encryption and client certificate (mTLS).'),
    api_key: a.file.describe('API key of Temporal Cloud; prefer `api_key_file`.'),
    api_key_file: a.file.describe('File that holds the API key; read again when it changes.'),
    task_queue: withDefault
      .matching(/^[A-Za-z0-9._-]{1,100}$/, 'callsync', 'may hold letters, digits, dot, dash and underscore')
      .describe('Prefix of the task queues; two installations on one namespace need different ones.'),
    max_cached_workflows: between(1, 10_000, 200).describe('Most workflows that a worker keeps between their tasks.'),
    deployment: z
      .strictObject({
        name: a.some.describe('Name of the worker deployment, the same for all its versions.'),
        build_id: a.some.describe('Name of the build. A running workflow moves to the current build at its next task.'),
      })
      .optional()
      .describe('Worker versioning: workflow tasks go to the version that was made current. Off without it.'),
    concurrency: concurrencySchema.prefault({}).describe('Concurrency of one worker process.'),
    shutdown_grace: duration('20s').describe('Time that a stopping worker gives activities before it cancels them.'),
    ui_url: optional(a.webAddress).describe('Address of the cluster’s web interface, for links that callsync prints.'),
    cli: a.file.describe(
      'Path of the Temporal CLI for the development server. By default, callsync looks on PATH and in its cache, then downloads or builds it.',
    ),
    port: ownPortSchema('the development server'),
    ui_port: ownPortSchema('its web interface'),
  })
  .refine(...notBoth('api_key'))
  .describe('Temporal, the engine that runs and resumes all work.');

export type TemporalConfig = z.infer<typeof temporalConfigSchema>;
