/** One thread for work on many bytes, from the first work on: one core would otherwise limit a load. */
import { kTransferable, kValue, Tinypool } from 'tinypool';
import { growYoung } from './bound-memory.ts';

let pool: Tinypool | undefined;

const open = (): Tinypool => {
  growYoung();
  const opened = new Tinypool({
    // Without a least number, work that waits would be left behind by a thread that ends.
    minThreads: 1,
    maxThreads: 1,
    // Neither secrets of the environment nor flags of the process concern it.
    env: {},
    execArgv: [],
  });
  // The thread could not be started again: without an end, its work would wait forever.
  opened.on('error', () => {
    if (pool === opened) pool = undefined;
    void opened.destroy();
  });
  return opened;
};

/**
 * Runs the default export of a module with a message.
 * @param filename of a built module.
 * @param bytes of the message, whose memories go to the thread: everything else that views them is empty from then on.
 * @throws the error of the module, or the one that ended the thread; the next work has another.
 */
export const runOnThread = async <T>(filename: string, message: unknown, bytes: readonly Uint8Array[]): Promise<T> => {
  pool ??= open();
  return await pool.run(message, { filename, transferList: bytes.map(({ buffer }) => buffer as ArrayBuffer) });
};

/** An answer whose bytes leave the thread with their memory. */
export const answerWith = (answer: object, bytes: readonly Uint8Array[]): unknown =>
  Tinypool.move({ [kTransferable]: bytes.map(({ buffer }) => buffer), [kValue]: answer });
