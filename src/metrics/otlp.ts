/** Sends the metrics of the process to an OpenTelemetry collector (OTLP/HTTP, JSON). */
import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import { request } from 'undici';
import type { OtlpConfig } from '../../schemas/config/metrics.ts';
import { terminal, transient } from '../errors.ts';
import { toOtlp } from './otlp-format.ts';

export interface OtlpExport {
  /** Exports now; rejects when the collector did not take it. */
  flush(): Promise<void>;
  /** Exports a last time, if the collector takes it. */
  close(): Promise<void>;
}

/** @param onFailure told once per outage. */
export const startOtlpExport = (options: {
  registry: Registry;
  config: OtlpConfig;
  onFailure: (error: unknown) => void;
}): OtlpExport => {
  const { registry, config, onFailure } = options;
  const since = nanoseconds();
  let failing = false;
  let underWay: Promise<void> | undefined;

  const flush = async (): Promise<void> => {
    const body = toOtlp({
      metrics: await registry.getMetricsAsJSON(),
      attributes: { 'service.name': 'callsync', ...config.attributes },
      since,
      now: nanoseconds(),
    });
    const response = await request(config.endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...config.headers, ...(await readHeaders(config.headers_file)) },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(config.timeout_s * 1_000),
    });
    await response.body.dump();
    if (response.statusCode >= 300) {
      throw transient('OTLP_REFUSED', `The OpenTelemetry collector answered ${response.statusCode}.`);
    }
  };

  const attempt = (): Promise<void> => {
    underWay ??= flush()
      .then(
        () => {
          failing = false;
        },
        (error: unknown) => {
          if (!failing) onFailure(error);
          failing = true;
        },
      )
      .finally(() => {
        underWay = undefined;
      });
    return underWay;
  };

  const timer = setInterval(attempt, config.interval_s * 1_000);
  timer.unref();
  return {
    flush,
    async close() {
      clearInterval(timer);
      await attempt();
    },
  };
};

const readHeaders = async (path: string | undefined): Promise<Record<string, string>> => {
  if (path === undefined) return {};
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw terminal('OTLP_HEADERS_UNREADABLE', `The file ${path} (metrics.otlp.headers_file) cannot be read.`, {
      cause,
    });
  });
  return Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon === -1 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]];
    }),
  );
};

const nanoseconds = (): string => `${Date.now()}000000`;
