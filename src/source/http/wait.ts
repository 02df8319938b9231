import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
export const wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await sleep(Math.max(0, Math.ceil(ms)), undefined, signal && { signal }).catch((error: unknown) => {
    throw signal?.aborted === true ? signal.reason : error;
  });
};
