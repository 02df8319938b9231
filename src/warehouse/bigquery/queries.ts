/** Queries: jobs without side effects, so a lost one is simply asked again. */
import { randomUUID } from 'node:crypto';
import type { BigqueryWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { backoffMs } from '../../backoff.ts';
import type { Rest } from './client.ts';
import { decodeRow, type Reading, type WireField, type WireRow } from './decode.ts';
import { errorOf, faultOf, judge } from './errors.ts';
import { type Jobs, type Pause, retryPace } from './jobs.ts';

export interface Query {
  readonly sql: string;
  readonly parameters?: Readonly<Record<string, string | number | readonly string[]>>;
  /** Type of each parameter: `STRING`, `INT64` or `ARRAY<STRING>`. */
  readonly types?: Readonly<Record<string, string>>;
}

export interface Queries {
  run(query: Query, reading?: Reading): Promise<Record<string, unknown>[]>;
  stream(query: Query, reading?: Reading): AsyncIterable<Record<string, unknown>>;
  /** Rows that a finished job left; undefined once BigQuery has dropped them. */
  resultOf(jobId: string): Promise<Record<string, unknown>[] | undefined>;
  /** What kind of statement it is, by BigQuery's own parser, without running it. */
  statementTypeOf(sql: string): Promise<string | undefined>;
}

interface ResultPage {
  readonly schema?: { readonly fields: readonly WireField[] };
  readonly rows?: readonly WireRow[];
  readonly pageToken?: string;
}

const maxAttempts = 8;
const pageRows = 10_000;
const jobTimeoutMs = 10 * 60_000;

/** The configuration of a query job, scripts included. */
export const queryConfiguration = (config: BigqueryWarehouseConfig, query: Query): Record<string, unknown> => {
  const { maximum_bytes_billed: limit } = config;
  return {
    jobTimeoutMs: String(jobTimeoutMs),
    labels: config.labels,
    query: {
      query: query.sql,
      useLegacySql: false,
      defaultDataset: { projectId: config.project, datasetId: config.dataset },
      ...(query.parameters === undefined
        ? {}
        : {
            parameterMode: 'NAMED',
            queryParameters: Object.entries(query.parameters).map(([name, value]) => ({
              name,
              ...parameter(query.types?.[name] ?? 'STRING', value),
            })),
          }),
      ...(limit === undefined ? {} : { maximumBytesBilled: String(limit) }),
    },
  };
};

const parameter = (type: string, value: string | number | readonly string[]): Record<string, unknown> => {
  if (typeof value === 'object') {
    return {
      parameterType: { type: 'ARRAY', arrayType: { type: 'STRING' } },
      parameterValue: { arrayValues: value.map((item) => ({ value: item })) },
    };
  }
  return { parameterType: { type }, parameterValue: { value: String(value) } };
};

export const createQueries = (deps: {
  readonly config: BigqueryWarehouseConfig;
  readonly rest: Rest;
  readonly jobs: Jobs;
  readonly pause: Pause;
}): Queries => {
  const { config, rest, jobs, pause } = deps;

  const runJob = async (query: Query): Promise<string> => {
    const configuration = queryConfiguration(config, query);
    for (let attempt = 1; ; attempt += 1) {
      const jobId = `callsync_${config.dataset}_query_${randomUUID()}`;
      const { job, fault } = await jobs.run({ jobId, configuration });
      if (job !== undefined) return jobId;
      if (judge(fault).meaning !== 'again' || attempt >= maxAttempts) throw errorOf(fault, 'run a query');
      await pause(backoffMs(attempt, retryPace));
    }
  };

  const page = async (jobId: string, pageToken: string | undefined): Promise<ResultPage> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await rest<ResultPage>({
          path: `/queries/${jobId}`,
          query: {
            location: config.location,
            maxResults: pageRows,
            pageToken,
            'formatOptions.useInt64Timestamp': true,
          },
        });
      } catch (cause) {
        const { meaning } = judge(faultOf(cause));
        if ((meaning !== 'lost' && meaning !== 'again') || attempt >= maxAttempts) throw cause;
        await pause(backoffMs(attempt, retryPace));
      }
    }
  };

  const readPages = async function* (jobId: string, reading: Reading): AsyncIterable<Record<string, unknown>> {
    let pageToken: string | undefined;
    let fields: readonly WireField[] = [];
    do {
      const result = await page(jobId, pageToken);
      fields = result.schema?.fields ?? fields;
      for (const row of result.rows ?? []) yield decodeRow(fields, row, reading);
      pageToken = result.pageToken;
    } while (pageToken !== undefined && pageToken !== '');
  };

  const stream = async function* (query: Query, reading: Reading = 'flat') {
    const jobId = await runJob(query);
    try {
      yield* readPages(jobId, reading);
    } catch (cause) {
      throw cause instanceof Error ? cause : errorOf(faultOf(cause), 'read the result of a query');
    }
  };

  return {
    stream,
    run: (query, reading) => collect(stream(query, reading)),
    async resultOf(jobId) {
      try {
        const rows = await collect(readPages(jobId, 'flat'));
        return rows.length === 0 ? undefined : rows;
      } catch (cause) {
        const fault = faultOf(cause);
        if (judge(fault).meaning === 'missing') return undefined;
        throw errorOf(fault, 'read the result of a load');
      }
    },
    async statementTypeOf(sql) {
      const configuration = { ...queryConfiguration(config, { sql }), dryRun: true };
      try {
        const job = await rest<{ statistics?: { query?: { statementType?: string } } }>({
          method: 'POST',
          path: '/jobs',
          json: { jobReference: { projectId: config.project, location: config.location }, configuration },
        });
        return job.statistics?.query?.statementType;
      } catch (cause) {
        throw errorOf(faultOf(cause), 'check a query');
      }
    },
  };
};

const collect = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
};
