/** The newest entry of each chain of verdicts, in a file outside the store: a tail cut off in the store is missed here. */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { transient } from '../../lib/errors.ts';
import { passable } from '../../lib/new-folder.ts';

/** A ledger that was restored begins a chain of its own: its epoch tells them apart. */
export interface ChainHead {
  readonly warehouse: string;
  readonly ledger_epoch: number;
  readonly verdict_id: number;
  readonly digest: string;
}

/** The heads in the file; none where there is no file. @throws CallsyncError PROOF_HEADS */
export const readChainHeads = async (path: string): Promise<readonly ChainHead[]> => {
  try {
    const heads: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Array.isArray(heads) ? heads.filter(isHead) : [];
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    throw transient('PROOF_HEADS', `The heads of the proof chain cannot be read: ${path}.`, {
      hint: 'Restore the file from a backup, or remove it: the heads in the warehouses stay.',
      cause,
    });
  }
};

/** Replaces the head of a warehouse and epoch, unless the file has a later one. @throws CallsyncError PROOF_HEADS */
export const recordChainHead = async (path: string, head: ChainHead): Promise<void> => {
  const heads = await readChainHeads(path);
  const isSame = (one: ChainHead): boolean =>
    one.warehouse === head.warehouse && one.ledger_epoch === head.ledger_epoch;
  if (heads.some((one) => isSame(one) && one.verdict_id > head.verdict_id)) return;
  const { warehouse, ledger_epoch, verdict_id, digest } = head;
  const next = [...heads.filter((one) => !isSame(one)), { warehouse, ledger_epoch, verdict_id, digest }];
  // Written beside and renamed, so that a crash leaves the old file or the new one.
  const temporary = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), passable);
    await writeFile(temporary, `${JSON.stringify(next, null, 1)}\n`, { mode: 0o600 });
    await rename(temporary, path);
  } catch (cause) {
    throw transient('PROOF_HEADS', `The head of the proof chain cannot be written: ${path}.`, {
      hint: 'Let the user that runs callsync write the folder.',
      cause,
    });
  }
};

const isHead = (value: unknown): value is ChainHead => {
  const head = value as Partial<ChainHead> | null;
  return typeof head?.warehouse === 'string' && typeof head.verdict_id === 'number' && typeof head.digest === 'string';
};
