/** A thread that encodes the calls that it is sent; see `encoder.ts`. */
import { flattenCall, flattenVersion } from '../../calls/flatten.ts';
import { JsonRecord } from '../../lib/json-record.ts';
import { answerWith } from '../../lib/thread.ts';
import { createEncoder, type EncoderTask } from './encoder.ts';

export default ({ layout, guard, options, memories, calls }: EncoderTask) => {
  // The package may have been replaced since the process started.
  if (guard.flattenVersion !== flattenVersion) throw new Error('The thread is of another version: restart the worker.');
  // Each has its memory to itself: see `taskOf`.
  const all = memories.map(({ buffer }) => Buffer.from(buffer));
  const loads = calls.map(({ fields, rest, ...row }) => {
    const large = fields.map(([name, memory, from, to]) => [name, all[memory]?.subarray(from, to)] as const);
    const document = new JsonRecord(JSON.parse(rest)).with(Object.fromEntries(large));
    return { revision: row.revision, flatten: () => flattenCall({ ...row, document }, options).rows };
  });
  const encoded = createEncoder(layout)(guard, loads);
  const chunks = [encoded.stage, ...encoded.children].flatMap((table) => table.chunks ?? []);
  // Otherwise they would wait for a collection.
  structuredClone(undefined, { transfer: memories.map(({ buffer }) => buffer as ArrayBuffer) });
  return answerWith(encoded, chunks);
};
