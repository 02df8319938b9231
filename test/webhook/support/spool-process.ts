/**
 * A spool as a process of its own, to be frozen and killed. `<dir>` in its first argument, milliseconds to wait for the
 * lock in its second. Prints `ready` or the code of its failure, then answers each line. It answers `append ID` once it
 * is durable with `ID` or `-`, and `drain` with the ids of waiting deliveries.
 */
import { createInterface } from 'node:readline';
import { CallsyncError } from '../../../src/lib/errors.ts';
import { openSpool } from '../../../src/webhook/spool/spool.ts';
import { drain, makeDelivery } from './deliveries.ts';

const [dir = '', lockWaitMs = '0'] = process.argv.slice(2);
const log = { info: () => {}, warn: () => {}, error: () => {} };
const config = { max_bytes: 1e9, min_free_bytes: 0, segment_bytes: 2_000, damaged_retention: 1e9 };
const say = (line: string) => process.stdout.write(`${line}\n`);
try {
  const spool = await openSpool({ dir, config, lockWaitMs: Number(lockWaitMs), log });
  say('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    const [order, id = ''] = line.split(' ');
    if (order === 'append') {
      const appended = spool.append([makeDelivery(id)]);
      await appended.then(
        () => say(id),
        () => say('-'),
      );
    } else {
      say(JSON.stringify((await drain(spool)).map((one) => one.deliveryId)));
    }
  }
} catch (error) {
  say(error instanceof CallsyncError ? error.code : String(error));
}
process.exit();
