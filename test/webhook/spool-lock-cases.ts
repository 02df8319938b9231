/**
 * Two receivers on one spool folder: while the first is frozen, from another PID namespace, and many started at the same
 * moment. One of the drains must find every answered delivery.
 */
import { spawnSync } from 'node:child_process';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';
import { converse, useProgram } from './support/child.ts';

const mayUnshare = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;

type Holder = Awaited<ReturnType<typeof converse>>;

export const describeSpoolLock = ({ runs, atOnce }: { runs: number; atOnce: number }): void => {
  const program = useProgram('webhook/support/spool-process');
  const folder = useFolder('spool-lock');
  let spools = 0;

  /** Its first line is `ready`, or why it did not start. */
  const start = (dir: string, wrapper: readonly string[] = []): Promise<Holder> =>
    converse(program.entry, [dir, '0'], wrapper);

  const newSpool = () => join(folder, String(spools++));
  const append = async (holder: Holder, ids: readonly string[]): Promise<string[]> => {
    const answered: string[] = [];
    for (const id of ids) if ((await holder.ask(`append ${id}`)) === id) answered.push(id);
    return answered;
  };
  /** Undrained deliveries of an abandoned folder. */
  const readRest = async (dir: string): Promise<string[]> => {
    const reader = await start(dir);
    expect(reader.first).toBe('ready');
    const rest = JSON.parse(await reader.ask('drain')) as string[];
    await reader.kill();
    return rest;
  };
  const endAll = async (holders: readonly Holder[]) => {
    for (const holder of holders) await holder.kill();
  };

  describe.each<[string, readonly string[], boolean]>([
    ['one that is frozen', [], true],
    ['one of another PID namespace', ['unshare', '--pid', '--fork', '--kill-child'], mayUnshare],
  ])('%s', (_name, wrapper, possible) => {
    test.skipIf(!possible)(`loses nothing that was answered, ${runs} times`, async () => {
      let lost = 0;
      for (let run = 0; run < runs; run += 1) {
        const dir = newSpool();
        const first = await start(dir);
        const answered = await append(first, ['a', 'b', 'c']);
        if (wrapper.length === 0) {
          first.child.kill('SIGSTOP');
          // As after a minute: no lock may go by the age of a file.
          await utimes(join(dir, 'lock'), new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
        }
        const second = await start(dir, wrapper);
        const drained = second.first === 'ready' ? (JSON.parse(await second.ask('drain')) as string[]) : [];
        first.child.kill('SIGCONT');
        answered.push(...(await append(first, ['d', 'e', 'f'])));
        await endAll([first, second]);
        const found = new Set([...drained, ...(await readRest(dir))]);
        lost += answered.filter((id) => !found.has(id)).length;
        expect(answered).toHaveLength(6);
        expect(second.first).toBe('SPOOL_IN_USE');
      }
      expect(lost).toBe(0);
    });
  });

  test(`of ${atOnce} started at the same moment one gets the folder, ${runs} times`, async () => {
    for (let run = 0; run < runs; run += 1) {
      const dir = newSpool();
      // Leftovers of a killed process.
      const before = await start(dir);
      const answered = await append(before, ['before']);
      await before.kill();
      const holders = await Promise.all(Array.from({ length: atOnce }, () => start(dir)));
      const ready = holders.filter((one) => one.first === 'ready');
      for (const [index, holder] of ready.entries()) answered.push(...(await append(holder, [`${index}`])));
      await endAll(holders);
      expect(ready).toHaveLength(1);
      expect((await readRest(dir)).toSorted()).toEqual(answered.toSorted());
    }
  });
};
