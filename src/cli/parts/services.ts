/** Opened parts of a command, closed in reverse order. */
import type { Config } from '../../../schemas/config.ts';
import type { Log } from '../shell/log.ts';

/** @typeParam C the sections that are needed; a receiver alone has no `source`. */
export interface Services<C = Config> {
  readonly config: C;
  readonly log: Log;
  /** Tells a person what is happening, on standard error. */
  readonly say: (message: string) => void;
  /** Closes what was opened, last first; errors of one do not keep the others open. */
  defer(close: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/**
 * Holds the configuration of a command and closes what was opened, the last first. A close that fails is logged and holds no
 * other one up.
 */
export const createServices = <C>(config: C, log: Log, say: (message: string) => void): Services<C> => {
  const closers: (() => Promise<unknown>)[] = [];
  return {
    config,
    log,
    say,
    defer: (close) => {
      closers.push(close);
    },
    close: async () => {
      for (const close of closers.splice(0).reverse()) {
        await close().catch((error: unknown) => log('closing failed', { error }));
      }
    },
  };
};
