/** A port that is wished for, not asked for. */

/**
 * Listens on a port or, where `orAny` and another process has it, on one that the system gives: what is free when somebody looks may
 * be taken when a server comes to it.
 * @throws what `listen` does.
 */
export const listenOnPort = async (
  port: number,
  orAny: boolean,
  listen: (port: number) => Promise<unknown>,
): Promise<void> => {
  try {
    await listen(port);
  } catch (error) {
    if (!orAny || !isTaken(error)) throw error;
    await listen(0);
  }
};

const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
