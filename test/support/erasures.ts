/** A key of tombstones and an erasure log in a folder of the test's own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listSubjects } from '../../src/privacy/subjects.ts';
import { openErasureLog } from '../../src/store/erasure-log.ts';
import type { Erasures } from '../../src/store/store.ts';

const subjectsIn = (text: string) => listSubjects(text, ['FR']);

export interface TestErasures {
  readonly file: string;
  readonly open: () => Erasures;
  remove(): void;
}

export const createErasures = (): TestErasures => {
  const folder = mkdtempSync(join(tmpdir(), 'callsync-erasures-'));
  const file = join(folder, 'erasures.log');
  return {
    file,
    open: () => ({ key: Buffer.from('a key of tombstones for tests'), log: openErasureLog(file), subjectsIn }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
