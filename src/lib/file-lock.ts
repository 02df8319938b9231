/**
 * Locks of whole files. The kernel holds a lock as long as its file is open. A frozen process keeps it, and a killed
 * one loses it. Process ids, host names and clocks play no part.
 */
import { terminal } from './errors.ts';

/** Loaded on demand: it is native code, which most commands do not need. @throws CallsyncError SPOOL_LOCK_UNSUPPORTED */
export const loadTryLock = async () => {
  try {
    return (await import('fs-native-extensions')).tryLock;
  } catch (cause) {
    throw terminal('SPOOL_LOCK_UNSUPPORTED', 'Files cannot be locked on this platform.', { cause });
  }
};
