import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: ((options?: { type: 'minor' }) => void) | undefined;

/**
 * Collects garbage now. V8 does not count the bytes of a buffer as its own, so the body of the last large page would
 * still lie there while the next one comes in. Some ten milliseconds a call;
 * `young` takes one and is enough for the chunks in which a body came.
 */
export const collectGarbage = (what: 'all' | 'young' = 'all'): void => {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  }
  if (what === 'young') collect({ type: 'minor' });
  else collect();
};
