import { afterAll, beforeAll } from 'vitest';

/**
 * Opens something before the tests of a group. The result can be used from `beforeAll` on.
 * @param close closes it after them, by default with its own `close`. @param timeoutMs of the opening
 */
export const useOpened = <T extends object>(
  open: () => Promise<T>,
  close: (opened: T) => unknown = (opened) => (opened as T & { close(): unknown }).close(),
  timeoutMs?: number,
): T => {
  const held = {} as T;
  let isOpen = false;
  beforeAll(async () => {
    Object.defineProperties(held, Object.getOwnPropertyDescriptors(await open()));
    isOpen = true;
  }, timeoutMs);
  afterAll(async () => {
    if (isOpen) await close(held);
  });
  return held;
};
