/** A server's program that finds, at its first start, the port taken which it was given. */
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { listenOn } from './listen.ts';

/** @param folder of the test's own, in which any account may write. @returns the program, and the taken port */
export const beQuickToPort = async (folder: string, program: string, flag: string) => {
  const server = createServer();
  const port = await listenOn(server);
  const path = join(folder, 'program');
  const first = `if mkdir '${folder}/ran'; then exec '${program}' $(echo "$@" | sed 's/ ${flag} [0-9]*/ ${flag} ${port}/'); fi`;
  await writeFile(path, `#!/bin/sh\n${first}\nexec '${program}' "$@"\n`);
  for (const one of [folder, path]) await chmod(one, 0o777);
  return { path, port, close: () => void server.close() };
};
