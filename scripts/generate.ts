/** Writes the files that derive from the source; a test says when they are not current. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { renderGeneratedFiles } from './generated-files.ts';

// From dist/scripts when built.
const root = resolve(import.meta.dirname, '../..');
for (const [name, text] of Object.entries(await renderGeneratedFiles(root))) {
  await mkdir(dirname(join(root, name)), { recursive: true });
  await writeFile(join(root, name), text);
}
