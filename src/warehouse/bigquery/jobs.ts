/** Jobs under ids of our own: a submission that is repeated, by us or by another process, is still one job. */
import { setTimeout as delay } from 'node:timers/promises';
import { type BackoffRules, backoffMs } from '../../backoff.ts';
import type { Rest } from './client.ts';
import { errorOf, type Fault, faultOf, judge } from './errors.ts';

export interface JobResource {
  readonly jobReference: { readonly jobId: string; readonly projectId: string; readonly location?: string };
  readonly status: {
    readonly state: 'PENDING' | 'RUNNING' | 'DONE';
    readonly errorResult?: { readonly reason?: string; readonly message?: string };
  };
  readonly statistics?: Readonly<Record<string, unknown>>;
}

export interface JobRequest {
  readonly jobId: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly media?: readonly Buffer[];
}

export type JobOutcome =
  /** `found`: an earlier submission of the same id had been accepted. */
  | { readonly job: JobResource; readonly found: boolean; readonly fault?: undefined }
  | { readonly fault: Fault; readonly found: boolean; readonly job?: undefined };

export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

export const pause: Pause = async (ms, signal) => {
  await delay(ms, undefined, signal === undefined ? {} : { signal });
};

/** Bounds of the pause before BigQuery is asked again. */
export const retryPace: BackoffRules = { baseMs: 500, maxMs: 15_000 };

const maxSubmissions = 12;
const pollFirstMs = 100;
const pollCapMs = 2_000;
const uploadTimeoutMs = 10 * 60_000;

export interface Jobs {
  /** Submits, or finds, the job and waits for its end. Throws only where there is no way to learn its outcome. */
  run(request: JobRequest, signal?: AbortSignal): Promise<JobOutcome>;
  /** The job of that id, whatever its state; undefined if there is none. */
  find(jobId: string): Promise<JobResource | undefined>;
  /** Jobs submitted since the start, those found again not counted. */
  submitted(): number;
}

export const createJobs = (deps: {
  readonly rest: Rest;
  readonly project: string;
  readonly location: string;
  readonly pause: Pause;
}): Jobs => {
  const { rest, project, location, pause } = deps;
  let submitted = 0;

  const find = async (jobId: string): Promise<JobResource | undefined> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await rest<JobResource>({ path: `/jobs/${jobId}`, query: { location } });
      } catch (cause) {
        const fault = faultOf(cause);
        const { meaning } = judge(fault);
        if (meaning === 'missing') return undefined;
        if (meaning === 'stop' || attempt >= maxSubmissions) throw errorOf(fault, 'look up a job');
        await pause(backoffMs(attempt, retryPace));
      }
    }
  };

  const submit = async (request: JobRequest): Promise<{ job: JobResource; found: boolean } | { fault: Fault }> => {
    const json = {
      jobReference: { projectId: project, jobId: request.jobId, location },
      configuration: request.configuration,
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const job = await rest<JobResource>({
          method: 'POST',
          path: '/jobs',
          json,
          ...(request.media === undefined ? {} : { media: request.media, timeoutMs: uploadTimeoutMs }),
        });
        submitted += 1;
        return { job, found: false };
      } catch (cause) {
        const fault = faultOf(cause);
        const { meaning } = judge(fault);
        if (meaning === 'stop' || meaning === 'missing' || meaning === 'quota') return { fault };
        if (meaning === 'duplicate' || meaning === 'lost') {
          const job = await find(request.jobId);
          if (job !== undefined) return { job, found: meaning === 'duplicate' };
          if (meaning === 'duplicate') return { fault };
        }
        if (attempt >= maxSubmissions) return { fault };
        await pause(backoffMs(attempt, retryPace));
      }
    }
  };

  return {
    find,
    submitted: () => submitted,
    async run(request, signal) {
      const accepted = await submit(request);
      if ('fault' in accepted) return { fault: accepted.fault, found: false };
      let job: JobResource | undefined = accepted.job;
      for (let wait = pollFirstMs; job.status.state !== 'DONE'; wait = Math.min(pollCapMs, wait * 1.5)) {
        await pause(wait, signal);
        job = await find(request.jobId);
        if (job === undefined) return { fault: { message: 'the job is gone', lost: true }, found: accepted.found };
      }
      const error = job.status.errorResult;
      if (error === undefined) return { job, found: accepted.found };
      return { fault: { message: error.message ?? 'no reason given', ...pickReason(error) }, found: accepted.found };
    },
  };
};

const pickReason = ({ reason }: { readonly reason?: string }): { reason?: string } =>
  reason === undefined ? {} : { reason };
