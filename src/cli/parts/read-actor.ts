import { userInfo } from 'node:os';

/** The user of this machine. An account without a name has a number at least. */
export const readActor = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};
