import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Path of a folder of the test file's own, which the account of PostgreSQL can reach, and which is removed at the end. */
export const useFolder = (name: string): string => {
  const path = mkdtempSync(join(tmpdir(), `callsync-${name}-`));
  chmodSync(path, 0o711);
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
};
