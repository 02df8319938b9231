import { parseDocument, stringify } from 'yaml';
import { openConfigFile, withStore } from '../../app/services.ts';
import { loadConfig } from '../../config/load.ts';
import { formatShare } from '../../lib/count-of.ts';
import { inferUnits, sampleCall } from '../../marts/calibrate.ts';
import { type FieldProposal, proposeFields } from '../../marts/propose-fields.ts';
import { readNewestDocuments } from '../../store/ledger/read-ledger.ts';
import { flag, leaf, parsed, wholeNumber } from '../shell/define.ts';

type UnitFinding = ReturnType<typeof inferUnits>[number];

const unclear = 'cannot tell';

const describe = (findings: readonly UnitFinding[]): string =>
  [
    'analytics:',
    '  units:',
    ...findings.flatMap(({ field, unit, confidence, evidence }) => [
      `    # ${evidence}${unit === unclear ? '' : ` (confidence ${confidence})`}`,
      unit === unclear ? `    # ${field}: cannot tell` : `    ${field}: ${unit}`,
    ]),
  ].join('\n');

const describeFields = (proposals: readonly FieldProposal[]): string =>
  [
    'analytics:',
    '  fields:',
    ...proposals.flatMap(({ key, field, share, shapes }) => [
      `    # ${formatShare(share)} of the calls, such as ${shapes.join(', ')}`,
      `    ${stringify({ [key]: field }, { flowCollectionPadding: true, collectionStyle: 'flow', lineWidth: 0 })
        .trim()
        .slice(2, -2)}`,
    ]),
  ].join('\n');

/** The text of a configuration file with more keys; everything else, comments included, stays. */
const writeKeys = (text: string, keys: readonly (readonly [path: readonly string[], value: unknown])[]): string => {
  const document = parseDocument(text);
  for (const [path, value] of keys) document.setIn(['analytics', ...path], value);
  return document.toString();
};

export default leaf({
  options: {
    calls: parsed('--calls <n>', 'number of newest calls to measure', wholeNumber(1, 100_000), '500'),
    fields: flag('--fields', 'propose typed columns for all metadata keys (analytics.fields) instead of units'),
    write: flag('--write', 'write the findings into the configuration file; comments stay'),
  },
  examples: ['callsync calibrate', 'callsync calibrate --write', 'callsync calibrate --fields'],
  remarks: `The command reads the newest calls from the store. Exit code 5: the unit of a field is unclear.
With --fields, it prints the share of calls, the type and the shapes of the texts, no values. A key gets a type only if all of its texts
have it. Digits that begin with 0 or +, or are more than nine, stay text. After --write, callsync warehouse fill NAME adds the columns.`,
  within: withStore,
  run: async (options, store) => {
    const { path, config } = await loadConfig({ path: options.config });
    const write = options.write === true ? openConfigFile(path) : undefined;
    const documents = await readNewestDocuments(store, options.calls);
    if (options.fields === true) {
      const proposals = proposeFields(documents, config.analytics.fields);
      await write?.((text) =>
        writeKeys(
          text,
          proposals.map(({ key, field }) => [['fields', key], field]),
        ),
      );
      return [{ calls: documents.length, proposals }, describeFields(proposals)];
    }
    const findings = inferUnits(documents.map(sampleCall));
    const clear = findings.filter(({ unit }) => unit !== unclear);
    if (clear.length > 0)
      await write?.((text) =>
        writeKeys(
          text,
          clear.map(({ field, unit }) => [['units', field], unit]),
        ),
      );
    return [{ calls: documents.length, findings }, describe(findings), clear.length < findings.length && 'incomplete'];
  },
});
