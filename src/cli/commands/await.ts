import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../../schemas/config/duration.ts';
import type { SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { terminal } from '../../errors.ts';
import { chooseAxis } from '../../pipeline/read/choose-axis.ts';
import { awaitProof, type ProofWait } from '../await-proof.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { withExamples } from '../help.ts';
import { processedFieldOf } from '../services/activity-deps.ts';
import { iso, tellTimes } from '../tell-times.ts';
import { parseTimestampArgument } from './backfill.ts';

const sourceLevels: readonly SourceLevel[] = ['ids', 'fields', 'records'];
const warehouseLevels: readonly WarehouseLevel[] = ['guards', 'rows'];

interface AwaitOptions extends CommonOptions {
  readonly from: number;
  readonly to: number;
  readonly warehouse?: readonly string[];
  readonly level?: readonly (SourceLevel | WarehouseLevel)[];
  readonly timeout: number;
  readonly start: boolean;
}

const describe = ({ proven, from, to, warehouses, behind }: ProofWait): string => {
  if (proven && behind.length > 0)
    return `${iso(from)} to ${iso(to)} is proven, but ${behind.join(', ')} cannot say so yet: the verdicts come with the next load.`;
  if (proven) return `${iso(from)} to ${iso(to)} is proven in ${Object.keys(warehouses).join(', ')}.`;
  const missing = Object.entries(warehouses)
    .filter(([, ranges]) => ranges.length > 0)
    .map(([name, ranges]) => `${name}: ${ranges.map((range) => `${iso(range.from)} to ${iso(range.to)}`).join(', ')}`);
  return `Not proven.\n  ${missing.join('\n  ')}\ncallsync coverage shows these days: what is suspiciously empty or cannot be read stays unproven until its cause is gone (docs/faq.md).`;
};

const parseTimeout = (text: string): number => {
  const ms = text === '0' ? 0 : parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Use a duration such as 30s, 20m or 2h.');
  return ms;
};

const awaitProven = (options: AwaitOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    const { config } = services;
    if (options.from >= options.to || options.to > Date.now() * 1000)
      throw terminal('USAGE_RANGE', 'The range must not be empty, and must end before now.', {
        hint: 'What is still to come cannot be proven: end the range at the start of today (UTC) or earlier.',
      });
    const known = Object.keys(config.warehouses);
    const unknown = options.warehouse?.find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw terminal('USAGE_WAREHOUSE', `No warehouse is configured under the name ${unknown}.`, {
        hint: `Configured: ${known.join(', ')}.`,
      });
    const axis = chooseAxis(config.source.list, processedFieldOf(config))?.axis;
    if (axis === undefined)
      throw terminal('RECONCILE_AXIS', 'The list has no axis of the call’s own time or of the end of processing.', {
        hint: 'Check the record_field of source.list.axes.',
      });
    const levels = options.level ?? [];
    const result = await awaitProof(store, services, {
      axis,
      range: { from: options.from, to: options.to },
      warehouses: options.warehouse ?? known,
      level: {
        source: sourceLevels.findLast((one) => levels.includes(one)),
        warehouse: warehouseLevels.findLast((one) => levels.includes(one)),
      },
      timeoutMs: options.start ? options.timeout : 0,
    });
    print(options, tellTimes(result), describe(result));
    if (!result.proven || result.behind.length > 0) process.exitCode = exitCodes.incomplete;
  });

export const addAwait = (command: Command): void => {
  withExamples(
    withCommonOptions(command),
    [
      'callsync await --proven --from 2025-01-01 --to 2025-01-02 && dbt build',
      'callsync await --proven --from 2025-01-01 --to 2025-02-01 --warehouse bigquery --level rows --timeout 2h',
    ],
    'Exit code 0: proven, and every warehouse has the verdicts; 5: not in time; 4: something did not answer (service, warehouse, worker, Temporal or store).',
  )
    .requiredOption('--proven', 'wait until the range has good verdicts, also in the warehouses')
    .requiredOption('--from <instant>', 'start of the range (UTC)', parseTimestampArgument)
    .requiredOption('--to <instant>', 'end of the range (UTC), not after now', parseTimestampArgument)
    .option('--warehouse <name...>', 'only these; all that are configured by default')
    .addOption(
      new Option('--level <level...>', 'least that must have been compared, as in callsync reconcile').choices([
        ...sourceLevels,
        ...warehouseLevels,
      ]),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait; 0 looks once and starts nothing')
        .argParser(parseTimeout)
        .default(3_600_000, '1h'),
    )
    .option('--no-start', 'look once, start no reconciliation')
    .action(awaitProven);
};
