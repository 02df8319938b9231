/** Serialised list records. */

import type { CallDocument } from '../../../schemas/call.ts';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { generateQualification } from '../calls/generate-call.ts';
import type { World } from '../calls/world.ts';

const cacheBytes = 48 * 1024 * 1024;
const comma = Buffer.from(',');

/** Records of a page joined by commas, as chunks to be written one after the other. `at` = simulated time whose versions are shown. */
export type JoinRecords = (indices: readonly number[], exclude: ReadonlySet<string>, at: number) => readonly Buffer[];

/** Makes records on demand, or all at once where they are frozen. Forgets the oldest of the others beyond 48 MB. The key covers everything that shapes a record. */
export const createRecords = (world: World, settings: SimulatorSettings): JoinRecords => {
  const cache = new Map<string, Buffer>();
  const most = settings.staticPages ? Number.POSITIVE_INFINITY : cacheBytes;
  let size = 0;
  const recordOf = (index: number, shape: string, names: ReadonlySet<string>, at: number): Buffer => {
    const version = world.versionAt(index, at);
    const key = `${index}:${version}:${shape}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const made = Buffer.from(JSON.stringify(listDocument(world, settings, index, version, names)));
    cache.set(key, made);
    size += made.length;
    for (const [oldest, { length }] of cache) {
      if (size <= most) break;
      cache.delete(oldest);
      size -= length;
    }
    return made;
  };
  const join: JoinRecords = (indices, names, at) => {
    const { listOmits, listAdds } = settings;
    const shape = JSON.stringify([listOmits, listAdds, [...names].sort()]);
    return indices.flatMap((index, place) => {
      const record = recordOf(index, shape, names, at);
      return place === 0 ? [record] : [comma, record];
    });
  };
  if (settings.staticPages)
    join(
      Array.from({ length: world.count }, (_, index) => index),
      new Set(),
      world.now(),
    );
  return join;
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
