/** A thread that encodes the calls that it is sent; see `encoder.ts`. */
import type { CallDocument } from '../../../schemas/call.ts';
import { flattenCall, flattenVersion } from '../../calls/flatten.ts';
import { bare, defineEncoded } from '../../lib/json-record.ts';
import { answerWith } from '../../lib/thread.ts';
import { createEncoder, type EncoderTask } from './encoder.ts';

export default ({ layout, guard, options, memories, calls }: EncoderTask) => {
  // The package may have been replaced since the process started.
  if (guard.flattenVersion !== flattenVersion) throw new Error('The thread is of another version: restart the worker.');
  // Each has its memory to itself: see `taskOf`.
  const all = memories.map(({ buffer }) => Buffer.from(buffer));
  const loads = calls.map(({ fields, rest, ...row }) => {
    const document: CallDocument = Object.assign(bare(), JSON.parse(rest));
    for (const [name, memory, from, to] of fields)
      defineEncoded(document, name, (all[memory] as Buffer).subarray(from, to));
    return { revision: row.revision, flatten: () => flattenCall({ ...row, document }, options).rows };
  });
  const encoded = createEncoder(layout)(guard, loads);
  const chunks = [encoded.stage, ...encoded.children].flatMap((table) => table.chunks ?? []);
  // Otherwise they would wait for a collection.
  structuredClone(undefined, { transfer: memories.map(({ buffer }) => buffer as ArrayBuffer) });
  return answerWith(encoded, chunks);
};
