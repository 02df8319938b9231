import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../../schemas/config/duration.ts';
import type { Range, SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { terminal } from '../../lib/errors.ts';
import { chooseAxis } from '../../pipeline/read/choose-axis.ts';
import type { ProofFound } from '../../pipeline/reconcile/look-at-proof.ts';
import type { ProofLevel } from '../../store/windows/verdicts.ts';
import { processedFieldOf } from '../parts/activity-deps.ts';
import { awaitProof } from '../parts/await-proof.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { iso, tellTimes, withExamples } from '../shell/output.ts';
import { parseTimestampArgument } from './backfill.ts';
import { levels, levelsOf } from './reconcile.ts';

/** A date as typed, whose first instant depends on the business time zone, or an instant in microseconds. */
type Moment = string | number;

const parseMoment = (text: string): Moment => {
  const micros = parseTimestampArgument(text);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? text : micros;
};

const dayMs = 86_400_000;

/** The first instant of a date in a time zone, in milliseconds. */
const startOfDay = (date: string, timeZone: string): number => {
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const aheadAt = (ms: number): number => Date.parse(`${clock.format(ms).replace(' ', 'T')}Z`) - ms;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // The offset may change between midnight of UTC and that of the zone.
  return midnight - aheadAt(midnight - aheadAt(midnight));
};

/**
 * The range to wait for, in microseconds. Dates are business days, as in the marts; a week begins on Monday.
 * @param now milliseconds @throws CallsyncError USAGE_RANGE
 */
export const awaitedRange = (
  { from, to, lastWeek }: Pick<AwaitOptions, 'from' | 'to' | 'lastWeek'>,
  timeZone: string,
  now: number,
): Range => {
  const instant = (moment: Moment): number =>
    typeof moment === 'string' ? startOfDay(moment, timeZone) * 1000 : moment;
  if (lastWeek === true && from === undefined && to === undefined) {
    const today = Date.parse(new Intl.DateTimeFormat('sv-SE', { timeZone }).format(now));
    const monday = today - ((new Date(today).getUTCDay() + 6) % 7) * dayMs;
    const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    return { from: instant(dateOf(monday - 7 * dayMs)), to: instant(dateOf(monday)) };
  }
  if (from === undefined || to === undefined || lastWeek === true)
    throw terminal('USAGE_RANGE', 'A range is needed: --from and --to, or --last-week alone.');
  const range = { from: instant(from), to: instant(to) };
  if (range.from < range.to && range.to <= now * 1000) return range;
  throw terminal('USAGE_RANGE', 'The range must not be empty, and must end before now.', {
    hint: 'Nothing can be proven of the time to come: end the range at the start of today or earlier.',
  });
};

interface AwaitOptions extends CommonOptions {
  readonly from?: Moment;
  readonly to?: Moment;
  readonly lastWeek?: boolean;
  readonly warehouse?: readonly string[];
  readonly level?: readonly (SourceLevel | WarehouseLevel)[];
  readonly timeout: number;
  readonly start: boolean;
}

const describe = ({ proven, from, to, warehouses, lost, behind }: ProofFound, level: ProofLevel): string => {
  if (proven && behind.length > 0)
    return `${iso(from)} to ${iso(to)} is proven, but ${behind.join(', ')} cannot say so yet: the verdicts come with the next load.`;
  if (proven)
    return `${iso(from)} to ${iso(to)} is proven in ${Object.keys(warehouses).join(', ')}, at level ${level.source ?? 'ids'} with the service and ${level.warehouse ?? 'guards'} in the warehouse or above (docs/how-it-works.md).`;
  const missing = Object.entries(warehouses)
    .filter(([, ranges]) => ranges.length > 0)
    .map(([name, ranges]) => `${name}: ${ranges.map((range) => `${iso(range.from)} to ${iso(range.to)}`).join(', ')}`);
  if (lost.length > 0) missing.unshift(`${lost.join(', ')} lacks tables, loads or all calls.`);
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
    const range = awaitedRange(options, config.analytics.time_zone, Date.now());
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
    const { level: source, warehouseLevel: warehouse } = levelsOf(options.level);
    const level = { source, warehouse };
    const result = await awaitProof(store, services, {
      axis,
      range,
      warehouses: options.warehouse ?? known,
      level,
      timeoutMs: options.start ? options.timeout : 0,
    });
    const shown = { ...result, level: { source: level.source ?? 'ids', warehouse: level.warehouse ?? 'guards' } };
    print(options, tellTimes(shown), describe(result, level));
    if (!result.proven || result.behind.length > 0) process.exitCode = exitCodes.incomplete;
  });

export const addAwait = (command: Command): void => {
  withExamples(
    withCommonOptions(command),
    [
      'callsync await --proven --from 2025-01-01 --to 2025-01-02 && dbt build',
      'callsync await --proven --last-week && dbt build',
      'callsync await --proven --from 2025-01-01 --to 2025-02-01 --warehouse bigquery --level rows --timeout 2h',
    ],
    'Exit code 0: proven, and every warehouse has the verdicts; 5: not in time; 4: something did not answer (service, warehouse, worker, Temporal or store).',
  )
    .requiredOption('--proven', 'wait until the range has good verdicts, also in the warehouses')
    .option(
      '--from <instant>',
      'start of the range; a date is a day of analytics.time_zone, as in the marts',
      parseMoment,
    )
    .option('--to <instant>', 'end of the range, exclusive and not after now; a date as with --from', parseMoment)
    .option('--last-week', 'the last whole week, Monday to Sunday, in analytics.time_zone')
    .option('--warehouse <name...>', 'only these; all that are configured by default')
    .addOption(
      new Option('--level <level...>', 'least that must have been compared, as in callsync reconcile').choices(levels),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait; 0 looks once and starts nothing')
        .argParser(parseTimeout)
        .default(3_600_000, '1h'),
    )
    .option('--no-start', 'look once, start no reconciliation')
    .action(awaitProven);
};
