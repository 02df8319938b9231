/** Queries: jobs without side effects, so a lost one is simply asked again. */
import { randomUUID } from 'node:crypto';
import { readJson, readNumber } from '../../lib/parse-json.ts';
import { isoMicros } from '../../lib/timestamps.ts';
import type { Connection } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { faultOf, judge } from './errors.ts';
import { failTo, retry, unless } from './retry.ts';

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
  readonly referencedTables?: readonly Referenced[];
  readonly referencedRoutines?: readonly Referenced[];
}

/** A table or a routine. */
type Referenced = Readonly<Record<'projectId' | 'datasetId', string> & { tableId?: string; routineId?: string }>;

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

  const readPages = async function* (jobId: string, form: ValueForm): AsyncIterable<Record<string, unknown>> {
    const { location } = config;
    let pageToken: string | undefined;
    let fields: readonly WireField[] = [];
    do {
      const query = { location, maxResults: pageRows, pageToken, 'formatOptions.useInt64Timestamp': true };
      const result: ResultPage = await retry(pause, () => rest({ path: `/queries/${jobId}`, query }));
      fields = result.schema?.fields ?? fields;
      for (const row of result.rows ?? []) yield decodeRow(fields, row, form);
      pageToken = result.pageToken;
    } while (pageToken !== undefined && pageToken !== '');
  };

  const stream = async function* (query: Query, form: ValueForm = 'flat') {
    const jobId = await runJob(query);
    try {
      yield* readPages(jobId, form);
    } catch (cause) {
      failTo('read the result of a query')(cause);
    }
  };

  return {
    stream,
    run: (query: Query, form?: ValueForm) => collect(stream(query, form)),
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
      // With those behind views: `dataset.name`, or `project.dataset.name` of another project.
      const reads = [...referencedTables, ...referencedRoutines].map(
        ({ projectId, datasetId, tableId, routineId }) =>
          `${projectId === config.project ? '' : `${projectId}.`}${datasetId}.${tableId ?? routineId}`,
      );
      return { type, bytes: Number(totalBytesProcessed), reads };
    },
  };
};

const collect = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
};

/** Rows of the REST API (`{f: [{v: …}]}`) as plain values, by the schema that came with them. */

export interface WireField {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  readonly description?: string;
  readonly fields?: readonly WireField[];
}

export type WireRow = { readonly f: readonly { readonly v: unknown }[] };

/** How instants and JSON appear: as flatten makes them (microseconds, text), or for people (ISO 8601, parsed). */
type ValueForm = 'flat' | 'plain';

const decodeRow = (fields: readonly WireField[], row: WireRow, form: ValueForm): Record<string, unknown> =>
  Object.fromEntries(fields.map((field, index) => [field.name, decodeField(field, row.f[index]?.v, form)]));

const decodeField = (field: WireField, value: unknown, form: ValueForm): unknown =>
  field.mode === 'REPEATED'
    ? ((value ?? []) as WireRow['f']).map((item) => decodeValue(field, item.v, form))
    : decodeValue(field, value, form);

/** Values of other types are texts, and stay. */
const decoders: Readonly<Record<string, (value: unknown, form: ValueForm, field: WireField) => unknown>> = {
  INT64: (value) => readNumber(String(value)),
  FLOAT64: (value, form) => (form === 'flat' ? Number(value) : readNumber(String(value))),
  BOOL: (value) => value === true || value === 'true',
  TIMESTAMP: (value, form) => (form === 'flat' ? Number(value) : isoMicros(String(value))),
  JSON: (value, form) => (form === 'flat' ? value : readJson(String(value))),
  STRUCT: (value, form, { fields = [] }) => decodeRow(fields, value as WireRow, form),
};

const decodeValue = (field: WireField, value: unknown, form: ValueForm): unknown => {
  const decode = decoders[standardType(field.type)];
  return value === null || value === undefined ? null : decode === undefined ? value : decode(value, form, field);
};

const legacyNames: Readonly<Record<string, string>> = {
  INTEGER: 'INT64',
  FLOAT: 'FLOAT64',
  BOOLEAN: 'BOOL',
  RECORD: 'STRUCT',
  BIGDECIMAL: 'BIGNUMERIC',
};

/** The API answers with the names of legacy SQL. */
export const standardType = (type: string): string => legacyNames[type] ?? type;

// Jobs under ids of our own: a submission whose answer is lost is repeated under the same id, and is still one job.

interface JobResource {
  readonly jobReference: { readonly jobId: string; readonly projectId: string; readonly location?: string };
  readonly status: {
    readonly state: 'PENDING' | 'RUNNING' | 'DONE';
    readonly errorResult?: { readonly reason?: string; readonly message?: string };
  };
  readonly statistics?: { readonly query?: { readonly totalBytesBilled?: string } };
}

interface JobRequest {
  /** Unique in the project. If BigQuery knows the id, callsync takes that job for an earlier submission of this one. */
  readonly jobId: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly media?: readonly Buffer[];
}

export type Jobs = ReturnType<typeof createJobs>;

const attempts = 12;
const pollFirstMs = 100;
const pollCapMs = 2_000;
const uploadTimeoutMs = 10 * 60_000;

/** Runs jobs in one project and location. A request whose answer is lost is repeated 12 times under the same id. */
export const createJobs = ({ config, rest, pause }: Omit<Connection, 'clock'>) => {
  const { project, location } = config;
  let submitted = 0;
  let billedBytes = 0;

  /** The job of that id in any state; undefined if there is none. */
  const find = (jobId: string): Promise<JobResource | undefined> => {
    const ask = () => rest<JobResource>({ path: `/jobs/${jobId}`, query: { location } });
    return retry(pause, ask, { attempts }).catch(unless('missing', 'look up a job'));
  };

  const submitOnce = async ({ jobId, configuration, media }: JobRequest): Promise<JobResource> => {
    const json = { jobReference: { projectId: project, jobId, location }, configuration };
    const upload = media === undefined ? {} : { media, timeoutMs: uploadTimeoutMs };
    try {
      const job = await rest<JobResource>({ method: 'POST', path: '/jobs', json, ...upload });
      submitted += 1;
      return job;
    } catch (cause) {
      const fault = faultOf(cause);
      const { meaning } = judge(fault);
      const job = meaning === 'lost' || meaning === 'duplicate' ? await find(jobId) : undefined;
      if (job === undefined) throw fault;
      return job;
    }
  };

  return {
    /** Jobs submitted since the start. */
    submitted: () => submitted,
    /** Bytes that BigQuery billed for finished queries since the start. */
    billedBytes: () => billedBytes,
    /** Submits the job and waits for its end. Rejects with the `Fault` of the submission or of the job. */
    async run(request: JobRequest, signal?: AbortSignal) {
      let job: JobResource | undefined = await retry(pause, () => submitOnce(request), { attempts, signal });
      for (let wait = pollFirstMs; job.status.state !== 'DONE'; wait = Math.min(pollCapMs, wait * 1.5)) {
        await pause(wait, signal);
        job = await find(request.jobId);
        if (job === undefined) throw { message: 'the job is gone', lost: true };
      }
      billedBytes += Number(job.statistics?.query?.totalBytesBilled ?? 0);
      const { errorResult } = job.status;
      if (errorResult !== undefined) throw { message: 'no reason given', ...errorResult };
    },
  };
};
