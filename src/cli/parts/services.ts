/** Opened parts of a command, closed in reverse order. */
import type { Config } from '../../../schemas/config.ts';
import type { Log } from '../shell/log.ts';

/** @typeParam C the sections that are needed; a receiver alone has no `source`. */
export interface Services<C = Config> {
  readonly config: C;
  readonly log: Log;
  /** Prints progress for a person on standard error. */
  readonly say: (message: string) => void;
  /** Closes all opened parts, the last first. An error of one does not keep the others open. */
  defer(close: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/** Holds the configuration of a command, and closes its parts, the last first. A failed close is logged. */
export const createServices = <C>(config: C, log: Log, say: (message: string) => void): Services<C> => {
  const closers: (() => Promise<unknown>)[] = [];
  return {
    config,
    log,
    say,
    defer: (close) => closers.push(close),
    close: async () => {
      for (const close of closers.splice(0).reverse())
        await close().catch((error: unknown) => log('closing failed', { error }));
    },
  };
};
