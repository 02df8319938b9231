import { homedir } from 'node:os';
import { terminal } from './errors.ts';

/** @throws terminal NO_HOME for an account without a name, if HOME names no folder either */
export const homeFolder = (): string => {
  try {
    return homedir();
  } catch (cause) {
    throw terminal('NO_HOME', 'This account has no home folder, where callsync keeps data and programs by default.', {
      cause,
    });
  }
};
