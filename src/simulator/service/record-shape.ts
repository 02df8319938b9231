/** How a call looks in the list: the same version as in a webhook, other fields. */
import type { CallDocument } from '../../../schemas/call.ts';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { generateQualification } from '../calls/generate-call.ts';
import type { World } from '../calls/world.ts';

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
