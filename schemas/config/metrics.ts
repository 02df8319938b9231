/** Config section `metrics:`: the Prometheus endpoint; an OpenTelemetry collector scrapes it too. */
import { z } from 'zod';

export const metricsConfigSchema = z
  .strictObject({
    serve: z
      .enum(['separate', 'receiver', 'off'])
      .default('separate')
      .describe(
        'Where /metrics is served: on a separate listener, on the receiver’s (as public as it is), or nowhere.',
      ),
    listen: z.string().min(1).default('127.0.0.1').describe('Address of the separate listener.'),
    port: z
      .number()
      .int()
      .min(0)
      .max(65_535)
      .default(9464)
      .describe('Port of the separate listener; 0 takes any free one.'),
    process: z.boolean().default(true).describe('Include memory, CPU and event-loop figures of the process.'),
  })
  .describe('Metrics of the process.');
