/** Effects of Ctrl-C, SIGTERM and the loss of the terminal, and limits of memory. */
import { setFlagsFromString } from 'node:v8';

const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
let stopsItself = false;

/**
 * An exit, not a plain death: at an exit, embedded servers that nobody else uses are ended too. Commands that have
 * something to finish first ask for it by `untilStopped`.
 */
export const exitOnSignals = (): void => {
  for (const [signal, number] of Object.entries(signals))
    process.on(signal, () => {
      if (!stopsItself) process.exit(128 + number);
    });
};

/** Resolves at the first Ctrl-C, SIGTERM or SIGHUP; a second one ends the process at once. */
export const untilStopped = (): { readonly stopped: Promise<void>; readonly signal: AbortSignal } => {
  const controller = new AbortController();
  stopsItself = true;
  const stopped = new Promise<void>((resolve) => {
    for (const [signal, number] of Object.entries(signals))
      process.on(signal, () => {
        if (controller.signal.aborted) process.exit(128 + number);
        controller.abort();
        resolve();
      });
  });
  return { stopped, signal: controller.signal };
};

/** A server that does not answer must not delay the end of the process. */
const leaveMs = 5_000;

/**
 * Runs `work`, which Ctrl-C, SIGTERM and SIGHUP abort. The process ends as by that signal once `work` has ended, after 5 seconds
 * at the latest; at a second signal at once.
 */
export const abortOnSignals = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const controller = new AbortController();
  let leave = undefined as (() => never) | undefined;
  const listeners = Object.entries(signals).map(([signal, number]) => {
    const abort = (): void => {
      if (leave !== undefined) leave();
      leave = () => process.exit(128 + number);
      controller.abort();
      setTimeout(leave, leaveMs);
    };
    process.on(signal, abort);
    return () => process.off(signal, abort);
  });
  stopsItself = true;
  try {
    return await work(controller.signal);
  } finally {
    leave?.();
    for (const release of listeners) release();
    stopsItself = false;
  }
};

/**
 * By default V8 lets the old space grow for long, but a reader's pages are garbage within a second. A worker that
 * holds 60 MB would reach 500.
 * Here V8 collects when twice of the used memory has been added, bytes of bodies included. A smaller limit costs too
 * much: each collection marks the whole heap. With 50 deliveries a second, a worker would spend a third of its
 * processor time on it.
 */
export const limitHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=200');
