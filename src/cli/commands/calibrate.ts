import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { parseDocument } from 'yaml';
import { loadConfig } from '../../config/load.ts';
import { terminal } from '../../lib/errors.ts';
import { inferUnits, type UnitFinding } from '../../marts/calibrate/infer-units.ts';
import { sampleCall } from '../../marts/calibrate/sample-call.ts';
import { readNewestDocuments } from '../../store/ledger/newest-documents.ts';
import { type CommonOptions, print, wholeNumber, withCommonOptions, withStore } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { replaceFile } from '../shell/files.ts';
import { withExamples } from '../shell/output.ts';

interface CalibrateOptions extends CommonOptions {
  readonly calls: number;
  readonly write?: boolean;
}

const describe = (findings: readonly UnitFinding[]): string =>
  [
    'analytics:',
    '  units:',
    ...findings.flatMap(({ field, unit, confidence, evidence }) => [
      `    # ${evidence}${unit === 'cannot tell' ? '' : ` (confidence ${confidence})`}`,
      unit === 'cannot tell' ? `    # ${field}: cannot tell` : `    ${field}: ${unit}`,
    ]),
  ].join('\n');

/** The text of a configuration file with the units that were found; everything else, comments included, stays. */
const writeUnits = (text: string, findings: readonly UnitFinding[]): string => {
  const document = parseDocument(text);
  for (const { field, unit } of findings)
    if (unit !== 'cannot tell') document.setIn(['analytics', 'units', field], unit);
  return document.toString();
};

const calibrate = (options: CalibrateOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    const { path } = await loadConfig({ path: options.config });
    if (options.write && path === undefined)
      throw terminal('CONFIG_MISSING', 'There is no configuration file to write into.', {
        hint: 'Leave --write out and copy the printed lines.',
      });
    const documents = await readNewestDocuments(store, options.calls);
    const findings = inferUnits(documents.map(sampleCall));
    print(options, { calls: documents.length, findings }, describe(findings));
    if (options.write && path !== undefined) {
      await replaceFile(path, writeUnits(await readFile(path, 'utf8'), findings));
      services.say(`Written to ${path}; restart callsync, so that the marts follow.`);
    }
    if (findings.some(({ unit }) => unit === 'cannot tell')) process.exitCode = exitCodes.incomplete;
  });

export const addCalibrate = (command: Command): void => {
  withExamples(
    withCommonOptions(command),
    ['callsync calibrate', 'callsync calibrate --write'],
    'Reads the newest calls from the operational store. Exit code 5: the unit of some field cannot be told.',
  )
    .option('--calls <n>', 'how many calls to look at', wholeNumber(1, 100_000), 500)
    .option('--write', 'write what was found into the configuration file; comments stay')
    .action(calibrate);
};
