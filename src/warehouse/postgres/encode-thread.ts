/** A thread that encodes the calls that it is sent; see `encoder.ts`. */
import type { CallDocument } from '../../../schemas/call.ts';
import { flattenCall, flattenVersion } from '../../calls/flatten.ts';
import { bare, defineEncoded } from '../../lib/json-record.ts';
import { answerWith } from '../../lib/thread.ts';
import { createEncoder, type EncoderTask } from './encoder.ts';

export default ({ layout, guard, options, bytes, calls }: EncoderTask) => {
  // The package may have been replaced since the process started.
  if (guard.flattenVersion !== flattenVersion) throw new Error('The thread is of another version: restart the worker.');
  // The bytes have a memory of their own: see `taskOf`.
  const all = Buffer.from(bytes.buffer);
  const loads = calls.map(({ fields, ...row }) => {
    const document: CallDocument = bare();
    for (const [name, value, to] of fields)
      if (to === undefined) document[name] = value;
      else defineEncoded(document, name, all.subarray(value as number, to));
    return { revision: row.revision, flatten: () => flattenCall({ ...row, document }, options).rows };
  });
  const encoded = createEncoder(layout)(guard, loads);
  const chunks = [encoded.stage, ...encoded.children].flatMap((table) => table.chunks ?? []);
  // Otherwise they would wait for a collection.
  structuredClone(undefined, { transfer: [bytes.buffer as ArrayBuffer] });
  return answerWith(encoded, chunks);
};
