import { rename, stat, writeFile } from 'node:fs/promises';

/** Replaces the content of a file and keeps its mode; a reader never sees half a file. */
export const replaceFile = async (path: string, text: string): Promise<void> => {
  const partial = `${path}.${process.pid}.partial`;
  await writeFile(partial, text, { mode: (await stat(path)).mode });
  await rename(partial, path);
};
