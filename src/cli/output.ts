/** What a command writes, until whoever reads it has it. */

/** A reader that goes away (`| head`) wants no more; what the command does beside writing goes on. */
const readerGone = new Set(['EPIPE', 'ECONNRESET', 'EIO']);
let isRead = true;

/** False once somebody who read standard output has left. */
export const hasReader = (): boolean => isRead;

/** Output that nobody reads any more is no fault of the command. */
export const allowReaderToLeave = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!readerGone.has(error.code ?? '')) throw error;
      if (stream === process.stdout) isRead = false;
    });
  }
};

/**
 * Resolves when all output is with its readers, or they have left. A pipe takes 64 KB; what was written beyond that waits in the
 * process until the reader comes to it, and an exit would cut it off.
 */
export const endOutput = async (): Promise<void> => {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))),
  );
};
