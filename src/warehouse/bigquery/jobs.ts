/** Jobs under ids of our own: a submission whose answer is lost is repeated under the same id, and is still one job. */
import type { Connection } from './client.ts';
import { faultOf, judge } from './errors.ts';
import { failTo, retry } from './retry.ts';

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
  const find = async (jobId: string): Promise<JobResource | undefined> => {
    try {
      const request = { path: `/jobs/${jobId}`, query: { location } };
      return await retry(pause, () => rest<JobResource>(request), { attempts });
    } catch (cause) {
      if (judge(faultOf(cause)).meaning === 'missing') return undefined;
      return failTo('look up a job')(cause);
    }
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
      if (errorResult === undefined) return;
      const { message = 'no reason given', reason } = errorResult;
      throw reason === undefined ? { message } : { message, reason };
    },
  };
};
