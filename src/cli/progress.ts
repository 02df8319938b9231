/** A progress bar on standard error; on something that is not a terminal, a line every few seconds. */
import { SingleBar } from 'cli-progress';
import type { BackfillProgress } from '../../workflows/messages.ts';

export interface ProgressView {
  update(progress: BackfillProgress): void;
  stop(): void;
}

const lineEveryMs = 5_000;

const describe = (progress: BackfillProgress): { rate: number; left: string } => {
  const seconds = Math.max(0.001, (Date.now() - progress.startedAt) / 1000);
  const rate = progress.totals.calls / seconds;
  const remaining = progress.share > 0.01 ? (seconds / progress.share) * (1 - progress.share) : Number.NaN;
  const left = Number.isFinite(remaining) ? `${Math.ceil(remaining)} s left` : 'time left unknown';
  return { rate, left };
};

export const createProgressView = (title: string): ProgressView => {
  if (!process.stderr.isTTY) {
    let last = 0;
    return {
      update: (progress) => {
        if (Date.now() - last < lineEveryMs && progress.state !== 'done') return;
        last = Date.now();
        const { rate, left } = describe(progress);
        process.stderr.write(
          `${title}: ${Math.round(progress.share * 100)} %, ${progress.totals.calls} calls in ${progress.totals.windows} windows, ${Math.round(rate)} calls/s, ${progress.state === 'done' ? 'done' : left}\n`,
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
      const { rate, left } = describe(progress);
      const payload = {
        calls: progress.totals.calls,
        windows: progress.totals.windows,
        rate: Math.round(rate),
        left: progress.state === 'done' ? 'done' : left,
      };
      if (!started) bar.start(1000, 0, payload);
      started = true;
      bar.update(Math.round(progress.share * 1000), payload);
    },
    stop: () => {
      if (started) bar.stop();
    },
  };
};
