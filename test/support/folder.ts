import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Path of a folder of the test file's own, which is removed at its end. */
export const useFolder = (name: string): string => {
  const path = mkdtempSync(join(tmpdir(), `callsync-${name}-`));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
};
