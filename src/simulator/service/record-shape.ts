/** How a call looks in the list and in a webhook: the same version, other fields. */
import type { CallDocument } from '../../../schemas/call.ts';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { generateQualification } from '../calls/generate-call.ts';
import { malformationOf } from '../calls/population.ts';
import type { World } from '../calls/world.ts';

const none: ReadonlySet<string> = new Set();

/** Values of types that the interface does not show, in fields it does. */
const withWrongTypes = (document: CallDocument): CallDocument => ({
  ...document,
  duration: Number(document.duration),
  ivr_end: 'unknown',
  tags: 'none',
  in: ['unexpected'],
  // Built from pairs, as JSON.parse does it.
  ...Object.fromEntries(
    ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'].map((name) => [name, 'unexpected']),
  ),
});

/** Lists and objects inside stay, without what they held. */
const hollowed = (value: unknown): unknown => {
  if (Array.isArray(value)) return [];
  if (typeof value !== 'object' || value === null) return null;
  const inner = Object.entries(value).filter(([, each]) => typeof each === 'object' && each !== null);
  return Object.fromEntries(inner.map(([name, each]) => [name, Array.isArray(each) ? [] : {}]));
};

/** The webhook record of one version, fields of §2.1 only. */
export const webhookDocument = (
  world: World,
  settings: SimulatorSettings,
  index: number,
  version: number,
): CallDocument => {
  const document = world.documentOf(index, version);
  return malformationOf(settings, index) === 'wrong_types' ? withWrongTypes(document) : document;
};

/** The list record of one version: without what the list omits, with the fields of the public reference. */
export const listDocument = (
  world: World,
  settings: SimulatorSettings,
  index: number,
  version: number,
  exclude: ReadonlySet<string> = none,
): CallDocument => {
  const light = exclude.has('transcript_json') || settings.listOmits.includes('transcript_json');
  const full = world.documentOf(index, version, light);
  const document: CallDocument = {
    ...(malformationOf(settings, index) === 'wrong_types' ? withWrongTypes(full) : full),
    qualified: world.printTimestamp(index, world.qualifiedOf(index, version)),
    qualification: generateQualification(settings, index),
    ...settings.listAdds,
  };
  for (const name of settings.quirks.hollow) if (name in document) document[name] = hollowed(document[name]);
  for (const name of settings.listOmits) delete document[name];
  for (const name of exclude) delete document[name];
  return document;
};

/** A record as bytes, malformed where the call is. */
export const serialiseRecord = (settings: SimulatorSettings, index: number, document: CallDocument): string => {
  const malformation = malformationOf(settings, index);
  if (malformation === 'not_object') return JSON.stringify(`record ${index}`);
  if (malformation !== 'no_id') return JSON.stringify(document);
  const { unique_id: _, ...rest } = document;
  return JSON.stringify(rest);
};

/** Whether a reader can tell which call the record is of. */
export const isIdentifiable = (settings: SimulatorSettings, index: number): boolean => {
  const malformation = malformationOf(settings, index);
  return malformation === undefined || malformation === 'wrong_types';
};
