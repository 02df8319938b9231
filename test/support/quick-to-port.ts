/** A server's program that finds, at its first start, the port taken which it was given. */
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { until } from './until.ts';

/** @param folder of the test's own, in which any account may write. */
export const beQuickToPort = async (folder: string, program: string, flag: string) => {
  await chmod(folder, 0o777);
  const [path, asked, taken] = ['program', 'asked', 'taken'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(
    path,
    `#!/bin/sh
if [ ! -e '${taken}' ]; then
  echo "$@" > '${asked}.partial' && mv '${asked}.partial' '${asked}'
  while [ ! -e '${taken}' ]; do sleep 0.02; done
fi
exec '${program}' "$@"
`,
    { mode: 0o755 },
  );
  await chmod(path, 0o755);
  const take = async () => {
    await until('it is started', () => existsSync(asked));
    const args = (await readFile(asked, 'utf8')).trim().split(' ');
    const port = Number(args[args.indexOf(flag) + 1]);
    const server: Server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    await writeFile(taken, '');
    return { port, close: () => void server.close() };
  };
  return {
    /** Starts `program` with the arguments that it was given itself. */
    path /** Resolves when the port that follows `flag` at the first start is taken. */,
    taken: take(),
  };
};
