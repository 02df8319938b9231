/** A folder or file that is there, whole, or not at all. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { terminal } from './errors.ts';

/**
 * How folders are made that hold files of our own, each closed by its own mode: others may pass and list nothing. As root,
 * the embedded PostgreSQL runs under an account that has to reach its data in the same folder.
 */
export const passable = { recursive: true, mode: 0o711 } as const;

/**
 * Has `fill` write into a folder beside the wanted one, which takes its name when everything is on disk.
 * @param folder does not exist, or is empty. @param fill gets the path to write into.
 * @throws CallsyncError USAGE_FILE when the folder holds something, cannot be made, or is named like standard output
 */
export const writeFolder = async <T>(folder: string, fill: (partial: string) => Promise<T>): Promise<T> => {
  if (basename(folder) === '-')
    throw terminal('USAGE_FILE', 'callsync writes several files, which need a folder; - is standard output.', {
      hint: 'Name a folder, such as calls.',
    });
  const partial = `${folder}.partial-${process.pid}`;
  const found = await readdir(folder).catch((error: { code?: string }) => error.code ?? 'no access');
  if (found !== 'ENOENT' && (typeof found === 'string' || found.length > 0))
    throw terminal('USAGE_FILE', `The folder ${folder} is not empty, or is no folder.`, {
      hint: 'Name a folder that does not exist; callsync replaces nothing.',
    });
  try {
    await mkdir(dirname(folder), { recursive: true });
    await mkdir(partial, { mode: 0o700 });
  } catch (cause) {
    throw terminal('USAGE_FILE', `The folder ${folder} cannot be made (${(cause as { code?: string }).code}).`, {
      hint: 'Name a folder inside one that you may write to.',
      cause,
    });
  }
  try {
    const result = await fill(partial);
    // Replaces an empty folder; a folder with something in it refuses.
    await rename(partial, folder);
    return result;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
};

/** Writes a file, or replaces it; a reader never sees half of it. */
export const replaceFile = async (path: string, content: string, mode = 0o600): Promise<void> => {
  const partial = `${path}.${randomUUID()}`;
  try {
    await writeFile(partial, content, { mode });
    await rename(partial, path);
  } catch (cause) {
    await rm(partial, { force: true });
    throw cause;
  }
};

/** Makes a folder where it is missing, and tries whether it can be written to; returns the error if not. */
export const makeWritable = async (folder: string): Promise<NodeJS.ErrnoException | undefined> => {
  try {
    // Folder by folder: where a parent takes none, as /proc does, a recursive mkdir of Node never returns.
    for (const one of missingFolders(folder)) await mkdir(one).catch(unlessMadeByAnother);
    await access(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
};

const unlessMadeByAnother = (error: { code?: string }): void => {
  if (error.code !== 'EEXIST') throw error;
};

/** Folders from the outermost to the folder itself. */
const missingFolders = (folder: string): readonly string[] =>
  existsSync(folder) || folder === dirname(folder) ? [] : [...missingFolders(dirname(folder)), folder];
