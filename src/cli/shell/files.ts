import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { terminal } from '../../lib/errors.ts';

/**
 * Values that must not be in the arguments, where every process of the machine could read them. One value a line: of a file, of standard input, or asked for
 * where a person sits. @throws CallsyncError USAGE_VALUES
 */
export const readValues = async (file: string | undefined, question: string): Promise<string[]> => {
  const lines = (await readLines(file, question)).split('\n').map((line) => line.trim());
  const values = [...new Set(lines.filter((line) => line !== ''))];
  if (values.length === 0) throw terminal('USAGE_VALUES', 'There is no value: write one a line.');
  return values;
};

const readLines = async (file: string | undefined, question: string): Promise<string> => {
  if (file !== undefined) {
    return await readFile(file, 'utf8').catch((cause: unknown) => {
      throw terminal('USAGE_VALUES', `The file of values cannot be read: ${file}.`, { cause });
    });
  }
  if (!process.stdin.isTTY) return await text(process.stdin);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await prompt.question(`${question}: `);
  } finally {
    prompt.close();
  }
};

/** Replaces the content of a file and keeps its mode; a reader never sees half a file. */
export const replaceFile = async (path: string, text: string): Promise<void> => {
  const partial = `${path}.${process.pid}.partial`;
  await writeFile(partial, text, { mode: (await stat(path)).mode });
  await rename(partial, path);
};
