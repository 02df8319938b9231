/** Queries: jobs without side effects, so a lost one is simply asked again. */
import { randomUUID } from 'node:crypto';
import type { Connection } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { decodeRow, type Reading, type WireField, type WireRow } from './decode.ts';
import type { Jobs } from './jobs.ts';
import { failTo, retry } from './retry.ts';

interface Query {
  readonly sql: string;
  /** Undefined ones are left out. */
  readonly parameters?: Readonly<Record<string, ParameterValue | undefined>>;
  /** Type of each parameter: `STRING`, `INT64` or `ARRAY<STRING>`. */
  readonly types?: Readonly<Record<string, string>>;
  /** Cancels the job. */
  readonly signal?: AbortSignal | undefined;
}

type ParameterValue = string | number | readonly string[];

export type Queries = ReturnType<typeof createQueries>;

interface PlanAnswer {
  readonly statementType?: string;
  readonly totalBytesProcessed?: string;
  readonly referencedTables?: readonly (DatasetOf & { readonly tableId: string })[];
  readonly referencedRoutines?: readonly (DatasetOf & { readonly routineId: string })[];
}

interface DatasetOf {
  readonly projectId: string;
  readonly datasetId: string;
}

interface ResultPage {
  readonly schema?: { readonly fields: readonly WireField[] };
  readonly rows?: readonly WireRow[];
  readonly pageToken?: string;
}

const pageRows = 10_000;
export const jobTimeoutMs = 10 * 60_000;

/** The configuration of a query job, scripts included. */
export const queryConfiguration = (config: BigqueryWarehouseConfig, { sql, parameters, types = {} }: Query) => ({
  jobTimeoutMs: String(jobTimeoutMs),
  labels: config.labels,
  query: {
    query: sql,
    useLegacySql: false,
    defaultDataset: { projectId: config.project, datasetId: config.dataset },
    parameterMode: parameters && 'NAMED',
    queryParameters:
      parameters &&
      Object.entries(parameters).flatMap(([name, value]) =>
        value === undefined ? [] : [{ name, ...parameter(types[name] ?? 'STRING', value) }],
      ),
    maximumBytesBilled: config.maximum_bytes_billed?.toString(),
  },
});

const parameter = (type: string, value: ParameterValue) => {
  if (typeof value === 'object')
    return {
      parameterType: { type: 'ARRAY', arrayType: { type: 'STRING' } },
      parameterValue: { arrayValues: value.map((item) => ({ value: item })) },
    };
  return { parameterType: { type }, parameterValue: { value: String(value) } };
};

export const createQueries = ({ config, rest, pause }: Omit<Connection, 'clock'>, jobs: Jobs) => {
  /** Nobody waits for the job any more, and it would be billed. Where BigQuery does not hear it, the job ends by its time limit. */
  const cancelAt = (signal: AbortSignal | undefined, jobId: string): (() => void) => {
    signal?.throwIfAborted();
    const request = { method: 'POST', path: `/jobs/${jobId}/cancel`, query: { location: config.location } } as const;
    const cancel = (): void => void rest(request).catch(() => undefined);
    signal?.addEventListener('abort', cancel, { once: true });
    return () => signal?.removeEventListener('abort', cancel);
  };

  const runJob = async (query: Query): Promise<string> => {
    const configuration = queryConfiguration(config, query);
    const submit = async (): Promise<string> => {
      const jobId = `callsync_${config.dataset}_query_${randomUUID()}`;
      const release = cancelAt(query.signal, jobId);
      try {
        await jobs.run({ jobId, configuration });
      } catch (cause) {
        // A cancelled job counts as a job that another attempt may finish.
        query.signal?.throwIfAborted();
        throw cause;
      } finally {
        release();
      }
      return jobId;
    };
    return await retry(pause, submit, { meanings: ['again'] }).catch(failTo('run a query'));
  };

  const readPage = (jobId: string, pageToken: string | undefined): Promise<ResultPage> => {
    const { location } = config;
    const query = { location, maxResults: pageRows, pageToken, 'formatOptions.useInt64Timestamp': true };
    return retry(pause, () => rest<ResultPage>({ path: `/queries/${jobId}`, query }));
  };

  const readPages = async function* (jobId: string, reading: Reading): AsyncIterable<Record<string, unknown>> {
    let pageToken: string | undefined;
    let fields: readonly WireField[] = [];
    do {
      const result = await readPage(jobId, pageToken);
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
      failTo('read the result of a query')(cause);
    }
  };

  return {
    stream,
    run: (query: Query, reading?: Reading) => collect(stream(query, reading)),
    /** Rows that a finished job returned; BigQuery keeps them for a day. */
    resultOf: (jobId: string) => collect(readPages(jobId, 'flat')).catch(failTo('read the result of a load')),
    /**
     * Result of BigQuery's own parser, without a run of the statement. Tables are `dataset.table`, of this project, or
     * `project.dataset.table`; of a view, also the tables behind it.
     */
    async plan(sql: string) {
      const configuration = { ...queryConfiguration(config, { sql }), dryRun: true };
      const ask = () =>
        rest<{ statistics?: { query?: PlanAnswer } }>({
          method: 'POST',
          path: '/jobs',
          json: { jobReference: { projectId: config.project, location: config.location }, configuration },
        });
      const job = await retry(pause, ask).catch(failTo('check a query', 'shown'));
      const plan = job.statistics?.query ?? {};
      const { statementType: type, totalBytesProcessed = '0', referencedTables = [], referencedRoutines = [] } = plan;
      const nameIn = ({ projectId, datasetId }: DatasetOf, name: string): string =>
        `${projectId === config.project ? '' : `${projectId}.`}${datasetId}.${name}`;
      // With those behind views: `dataset.name`, or `project.dataset.name` of another project.
      const reads = [
        ...referencedTables.map((one) => nameIn(one, one.tableId)),
        ...referencedRoutines.map((one) => nameIn(one, one.routineId)),
      ];
      return { type, bytes: Number(totalBytesProcessed), reads };
    },
  };
};

const collect = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
};
