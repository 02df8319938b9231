/** Config section `metrics:`: Prometheus and OpenTelemetry. */
import { z } from 'zod';

export const metricsConfigSchema = z
  .strictObject({
    serve: z
      .enum(['separate', 'receiver', 'off'])
      .default('separate')
      .describe(
        'Where /metrics is served: on a listener of its own, on the receiver’s (as public as it is), or nowhere.',
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
    otlp: z
      .strictObject({
        endpoint: z
          .url({ protocol: /^https?$/ })
          .describe('OTLP/HTTP address of a collector, such as http://127.0.0.1:4318/v1/metrics.'),
        interval_s: z.number().positive().default(30).describe('Seconds between two exports.'),
        timeout_s: z.number().positive().default(10).describe('Seconds after which an export is given up.'),
        headers: z
          .record(z.string(), z.string())
          .default({})
          .describe('Further request headers; credentials belong in `headers_file`.'),
        headers_file: z
          .string()
          .min(1)
          .optional()
          .describe('File of further request headers, one `Name: value` a line; read at every export.'),
        attributes: z
          .record(z.string(), z.string())
          .default({})
          .describe('Further resource attributes beside service.name.'),
      })
      .optional()
      .describe('Also send the metrics to an OpenTelemetry collector.'),
  })
  .describe('Metrics of the process.');

export type MetricsConfig = z.infer<typeof metricsConfigSchema>;
export type OtlpConfig = NonNullable<MetricsConfig['otlp']>;
