/** Progress of an import on standard error: a bar on a terminal where the size is known, else a line now and then. */
import { SingleBar } from 'cli-progress';
import { countOf } from '../count-of.ts';
import type { ImportProgress } from '../pipeline/import/import-file.ts';

const lineEveryMs = 5_000;

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
