import { parseDocument } from 'yaml';
import { openConfigFile, withStore } from '../../app/services.ts';
import { loadConfig } from '../../config/load.ts';
import { inferUnits, sampleCall } from '../../marts/calibrate.ts';
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

/** The text of a configuration file with the units that were found; everything else, comments included, stays. */
const writeUnits = (text: string, findings: readonly UnitFinding[]): string => {
  const document = parseDocument(text);
  for (const { field, unit } of findings) if (unit !== unclear) document.setIn(['analytics', 'units', field], unit);
  return document.toString();
};

export default leaf({
  options: {
    calls: parsed('--calls <n>', 'number of newest calls to measure', wholeNumber(1, 100_000), '500'),
    write: flag('--write', 'write the findings into the configuration file; comments stay'),
  },
  examples: ['callsync calibrate', 'callsync calibrate --write'],
  remarks: 'The command reads the newest calls from the store. Exit code 5: the unit of a field is unclear.',
  within: withStore,
  run: async (options, store) => {
    const { path } = await loadConfig({ path: options.config });
    const write = options.write === true ? openConfigFile(path) : undefined;
    const documents = await readNewestDocuments(store, options.calls);
    const findings = inferUnits(documents.map(sampleCall));
    await write?.((text) => writeUnits(text, findings));
    const isUnclear = findings.some(({ unit }) => unit === unclear);
    return [{ calls: documents.length, findings }, describe(findings), isUnclear && 'incomplete'];
  },
});
