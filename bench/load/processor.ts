/** Processor time of processes as the kernel counts it: other work on the machine does not change it, as it changes seconds. */
import { readdirSync, readFileSync } from 'node:fs';

/** Seconds by part. */
export type ProcessorTime = Readonly<Record<'worker_main' | 'worker_threads' | 'postgres' | 'temporal', number>>;

export interface MeasuredProcesses {
  readonly worker?: number | undefined;
  readonly postgres: number;
  readonly temporal?: number | undefined;
}

const ticksPerSecond = 100;

/** The fields of a `stat` file behind the name, which may hold blanks: `[1]` is the parent, `[11]` to `[14]` are times. */
const readStat = (path: string): readonly number[] => {
  try {
    return readFileSync(path, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number);
  } catch {
    return [];
  }
};

const sum = (stat: readonly number[], from: number, to: number): number =>
  stat.slice(from, to).reduce((total, ticks) => total + ticks, 0) / ticksPerSecond;

/** Of one process since it started. */
export const readSeconds = (pid: number): number => sum(readStat(`/proc/${pid}/stat`), 11, 13);

/** Of a process, its children, and those of them that have ended. */
const ofTree = (pid: number): number => {
  const stats = readdirSync('/proc').flatMap((name) => {
    const stat = /^\d+$/.test(name) ? readStat(`/proc/${name}/stat`) : [];
    return Number(name) === pid || stat[1] === pid ? [stat] : [];
  });
  return stats.reduce((total, stat) => total + sum(stat, 11, 15), 0);
};

/** Since these processes started. */
export const readProcessorTime = ({ worker, postgres, temporal }: MeasuredProcesses): ProcessorTime => {
  const main = worker === undefined ? 0 : sum(readStat(`/proc/${worker}/task/${worker}/stat`), 11, 13);
  return {
    worker_main: main,
    worker_threads: worker === undefined ? 0 : readSeconds(worker) - main,
    postgres: ofTree(postgres),
    temporal: temporal === undefined ? 0 : ofTree(temporal),
  };
};

/** Use between two readings. */
export const usedBetween = (before: ProcessorTime, after: ProcessorTime): ProcessorTime => ({
  worker_main: after.worker_main - before.worker_main,
  worker_threads: after.worker_threads - before.worker_threads,
  postgres: after.postgres - before.postgres,
  temporal: after.temporal - before.temporal,
});
