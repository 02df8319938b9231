/** Progress on standard error: a bar on a terminal, else a line every few seconds. */
import { SingleBar } from 'cli-progress';
import type { BackfillProgress } from '../../../workflows/messages.ts';
import { countOf } from '../../lib/count-of.ts';
import type { ImportProgress } from '../../pipeline/import/import-file.ts';

export interface ProgressView {
  update(progress: BackfillProgress): void;
  stop(): void;
}

const lineEveryMs = 5_000;

interface Figures {
  readonly percentage: number;
  readonly calls: string;
  readonly windows: string;
  readonly rate: string;
  readonly left: string;
}

const number = new Intl.NumberFormat('en-US');

/** Such as `41 s`, `12 min`, `3.5 h`. */
const formatLeft = (seconds: number): string => {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return seconds < 6_000 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
};

const leftOf = ({ state, share }: BackfillProgress, seconds: number): string => {
  if (state !== 'running') return state;
  return share > 0.01 ? `${formatLeft((seconds / share) * (1 - share))} left` : 'time left unknown';
};

/** Rounded down: 100 % is said of what is done, and of nothing else. */
const describe = (progress: BackfillProgress): Figures => {
  const seconds = Math.max(0.001, (Date.now() - progress.startedAt) / 1000);
  return {
    percentage: progress.state === 'done' ? 100 : Math.min(99, Math.floor(progress.share * 100)),
    calls: number.format(progress.totals.calls),
    windows: number.format(progress.totals.windows),
    rate: number.format(Math.round(progress.totals.calls / seconds)),
    left: leftOf(progress, seconds),
  };
};

export const createProgressView = (title: string): ProgressView => {
  if (!process.stderr.isTTY) {
    let last = 0;
    return {
      update: (progress) => {
        if (Date.now() - last < lineEveryMs && progress.state !== 'done') return;
        last = Date.now();
        const { percentage, calls, windows, rate, left } = describe(progress);
        process.stderr.write(
          `${title}: ${percentage} %, ${calls} calls in ${windows} windows, ${rate} calls/s, ${left}\n`,
        );
      },
      stop: () => undefined,
    };
  }
  const bar = new SingleBar({
    format: `${title} {bar} {percentage} % | {calls} calls, {windows} windows | {rate} calls/s | {left}`,
    hideCursor: true,
    stream: process.stderr,
  });
  let started = false;
  return {
    update: (progress) => {
      const { percentage, ...payload } = describe(progress);
      if (!started) bar.start(100, 0, payload);
      started = true;
      bar.update(percentage, payload);
    },
    stop: () => {
      if (started) bar.stop();
    },
  };
};

/** Progress of an import on standard error: a bar on a terminal where the size is known, else a line now and then. */

export const createImportView = (name: string) => {
  let bar: SingleBar | undefined;
  let last = Date.now();
  return {
    update: ({ bytes, size, records, refused }: ImportProgress): void => {
      if (process.stderr.isTTY && size !== null) {
        if (bar === undefined) {
          bar = new SingleBar({
            format: `${name} {bar} {percentage} % | {records} records, {refused} refused | {eta_formatted} left`,
            hideCursor: true,
            stream: process.stderr,
          });
          bar.start(size, bytes, { records, refused });
        }
        bar.update(bytes, { records, refused });
        return;
      }
      if (Date.now() - last < lineEveryMs) return;
      last = Date.now();
      const share = size === null || size === 0 ? '' : `${Math.round((bytes / size) * 100)} %, `;
      process.stderr.write(`${name}: ${share}${countOf(records, 'record')}, ${refused} refused\n`);
    },
    stop: (): void => bar?.stop(),
  };
};
