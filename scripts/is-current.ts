/** Exit code 0 when dist/ was built after the last change of its sources; `npm test` builds only when it was not. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const dist = resolve(import.meta.dirname, '..');
const root = resolve(dist, '..');
const built = await stat(join(dist, 'built')).then(
  (found) => found.mtimeMs,
  () => 0,
);

const files = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'].map((name) => join(root, name));
for (const folder of ['src', 'schemas', 'workflows', 'activities', 'scripts', 'bench']) {
  const entries = await readdir(join(root, folder), { recursive: true }).catch(() => []);
  // A folder's own time changes when one of its files is removed.
  files.push(join(root, folder), ...entries.map((name) => join(root, folder, name)));
}
const times = await Promise.all(
  files.map((path) =>
    stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    ),
  ),
);
process.exitCode = times.every((time) => time <= built) ? 0 : 1;
