/** Serialised list records: a small cache while calls change, everything at once when they are frozen. */

import type { CallDocument } from '../../../schemas/call.ts';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { generateQualification } from '../calls/generate-call.ts';
import type { World } from '../calls/world.ts';

const cacheBytes = 48 * 1024 * 1024;
const comma = Buffer.from(',');

/** Records of a page joined by commas, as chunks to be written one after the other. `at` = simulated time whose versions are shown. */
export type JoinRecords = (indices: readonly number[], exclude: ReadonlySet<string>, at: number) => readonly Buffer[];

/** Makes records on demand; forgets the oldest beyond 48 MB. The key covers everything that shapes a record. */
export const createChangingRecords = (world: World, settings: SimulatorSettings): JoinRecords => {
  const cache = new Map<string, string>();
  let size = 0;
  let shape = '';
  const recordOf = (index: number, exclude: ReadonlySet<string>, at: number): string => {
    const version = world.versionAt(index, at);
    const key = `${index}:${version}:${[...exclude].sort().join()}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const made = JSON.stringify(listDocument(world, settings, index, version, exclude));
    cache.set(key, made);
    size += made.length;
    for (const [oldest, text] of cache) {
      if (size <= cacheBytes) break;
      cache.delete(oldest);
      size -= text.length;
    }
    return made;
  };
  return (indices, exclude, at) => {
    const { listOmits, listAdds } = settings;
    const present = JSON.stringify([listOmits, listAdds]);
    if (present !== shape) {
      shape = present;
      cache.clear();
      size = 0;
    }
    return [Buffer.from(indices.map((index) => recordOf(index, exclude, at)).join(','))];
  };
};

/** One growing block, because a list of single buffers would hold everything twice while it is joined. */
const freeze = (count: number, textOf: (index: number) => string) => {
  const starts = new Float64Array(count + 1);
  let bytes = Buffer.allocUnsafe(1 << 20);
  let at = 0;
  for (let index = 0; index < count; index++) {
    const text = textOf(index);
    const length = Buffer.byteLength(text);
    if (at + length > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.ceil((at + length) * Math.max(1.1, Math.min(2, count / (index + 1)))));
      bytes.copy(larger, 0, 0, at);
      bytes = larger;
    }
    at += bytes.write(text, at);
    starts[index + 1] = at;
  }
  /** `starts` of the records; a comma follows each, so the next start minus one is its end. */
  return { bytes, starts };
};

/** All records serialised once, in index order; pages are slices of that memory. */
export const createFrozenRecords = (world: World, settings: SimulatorSettings): JoinRecords => {
  const variants = new Map<string, ReturnType<typeof freeze>>();
  const variantOf = (exclude: ReadonlySet<string>) => {
    const key = [...exclude].sort().join();
    const known = variants.get(key);
    if (known !== undefined) return known;
    const made = freeze(world.count, (index) => {
      const document = listDocument(world, settings, index, world.versionOf(index), exclude);
      return `${JSON.stringify(document)},`;
    });
    variants.set(key, made);
    return made;
  };
  variantOf(new Set());
  return (indices, exclude) => {
    const { bytes, starts } = variantOf(exclude);
    const chunks: Buffer[] = [];
    for (let i = 0; i < indices.length; ) {
      const first = indices[i] as number;
      let last = first;
      for (i++; i < indices.length && indices[i] === last + 1; i++) last++;
      if (chunks.length > 0) chunks.push(comma);
      chunks.push(bytes.subarray(starts[first], (starts[last + 1] as number) - 1));
    }
    return chunks;
  };
};

// How a call looks in the list: the same version as in a webhook, other fields.

const none: ReadonlySet<string> = new Set();

/** The list record of one version: without the fields that the list omits, with those of the public reference. */
export const listDocument = (
  world: World,
  settings: SimulatorSettings,
  index: number,
  version: number,
  exclude: ReadonlySet<string> = none,
): CallDocument => {
  const light = exclude.has('transcript_json') || settings.listOmits.includes('transcript_json');
  const document: CallDocument = {
    ...world.documentOf(index, version, light),
    qualified: world.printTimestamp(index, world.qualifiedOf(index, version)),
    qualification: generateQualification(settings, index),
    ...settings.listAdds,
  };
  for (const name of settings.listOmits) delete document[name];
  for (const name of exclude) delete document[name];
  return document;
};
