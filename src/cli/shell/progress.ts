/** Progress on standard error: one line that changes on a terminal, else a line every few seconds. */
import type { BackfillProgress } from '../../../workflows/messages.ts';
import { countOf, formatCount, formatSpan, nounOf, secondsLeft } from '../../lib/count-of.ts';
import type { ImportProgress } from '../../pipeline/import/import-file.ts';

const lineEveryMs = 5_000;

/** `percentage` is null where the size is not known. */
type Shown = { readonly percentage: number | null; readonly text: string; readonly isLast?: boolean };

/** @param last time of the last line, in milliseconds; work that ends before the next one prints only its result */
const createView = <P>(title: string, describe: (progress: P) => Shown, last = 0) => {
  const { isTTY, columns } = process.stderr;
  return {
    update: (progress: P): void => {
      const { percentage, text, isLast = false } = describe(progress);
      const line = `${title}: ${percentage === null ? '' : `${percentage} %, `}${text}`;
      if (isTTY) process.stderr.write(`\r\u001b[K${line.slice(0, columns - 1)}`);
      else if (isLast || Date.now() - last >= lineEveryMs) {
        last = Date.now();
        process.stderr.write(`${line}\n`);
      }
    },
    stop: (): void => {
      if (isTTY) process.stderr.write('\n');
    },
  };
};

const leftOf = (progress: BackfillProgress): string => {
  if (progress.state !== 'running') return progress.state;
  if (progress.share === 1) return 'all is read and being loaded';
  if (progress.share === 0)
    return 'no part is read whole yet: each takes up to a minute, or two if its worker was killed';
  const left = secondsLeft(progress);
  return left === null ? 'time left unknown' : `${formatSpan(left)} left`;
};

export const createBackfillView = (title: string) =>
  createView<BackfillProgress & { readonly failure: string | null }>(title, (progress) => {
    const { state, share, totals, startedAt, failure } = progress;
    const seconds = Math.max(0.001, (Date.now() - startedAt) / 1000);
    const rate = formatCount(totals.calls / seconds);
    return {
      // Rounded down, so that only finished work shows 100 %.
      percentage: state === 'done' ? 100 : Math.min(99, Math.floor(share * 100)),
      text: `${formatCount(totals.calls)} ${nounOf(totals.calls, 'call')} in ${formatCount(totals.windows)} ${nounOf(totals.windows, 'window')}, ${rate} calls/s, ${leftOf(progress)}${failure === null ? '' : `; last failure: ${failure}`}`,
      isLast: state === 'done',
    };
  });

export const createImportView = (title: string) =>
  createView<ImportProgress>(
    title,
    ({ bytes, size, records, refused }) => ({
      percentage: size === null || size === 0 ? null : Math.round((bytes / size) * 100),
      text: `${countOf(records, 'record')}, ${refused} refused`,
    }),
    Date.now(),
  );
