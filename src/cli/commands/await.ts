/**
 * Waits until a range is proven in its warehouses. Reads the verdicts, and starts missing reconciliations and loads.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { Range } from '../../../schemas/orchestration.ts';
import type { ReconcileProgress } from '../../../workflows/messages.ts';
import { openWarehouse, openWarehouses, processedFieldOf, settingsOf } from '../../app/activity-deps.ts';
import { askList, openSource } from '../../app/open-source.ts';
import { type Services, withStore } from '../../app/services.ts';
import { lastFailure, openTemporal } from '../../app/temporal.ts';
import { countOf } from '../../lib/count-of.ts';
import { CallsyncError, terminal, transient } from '../../lib/errors.ts';
import { dateOf, dayMs, iso, startOfDay } from '../../lib/timestamps.ts';
import { requireAxis } from '../../pipeline/read/choose-axis.ts';
import { lookAtProof, type ProofFound } from '../../pipeline/reconcile/look-at-proof.ts';
import type { Store } from '../../store/store.ts';
import type { ProofLevel } from '../../store/windows/verdicts.ts';
import { startLoadWarehouse, startReconcile } from '../../temporal/workflow-client.ts';
import { flag, type Given, instant, leaf, option, parsed } from '../shell/define.ts';
import { followWorkflow } from '../shell/follow.ts';
import { tellTimes } from '../shell/output.ts';
import { duration } from '../shell/range.ts';
import { levelOptions } from './reconcile.ts';

/** A date as typed, whose first instant depends on the business time zone, or an instant in microseconds. */
type Moment = string | number;

const parseMoment = (text: string): Moment => {
  const micros = instant(text);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? text : micros;
};

/**
 * The range to wait for, in microseconds. Dates are business days, as in the marts; a week begins on Monday.
 * @param now milliseconds @throws CallsyncError USAGE_RANGE
 */
export const awaitedRange = (
  { from, to, lastWeek }: Pick<Given<typeof options>, 'from' | 'to' | 'lastWeek'>,
  timeZone: string,
  now: number,
): Range => {
  const instantOf = (moment: Moment) => (typeof moment === 'string' ? startOfDay(moment, timeZone) * 1000 : moment);
  if (lastWeek === true && from === undefined && to === undefined) {
    const today = Date.parse(new Intl.DateTimeFormat('sv-SE', { timeZone }).format(now));
    const monday = today - ((new Date(today).getUTCDay() + 6) % 7) * dayMs;
    return { from: instantOf(dateOf(monday - 7 * dayMs)), to: instantOf(dateOf(monday)) };
  }
  if (from === undefined || to === undefined || lastWeek === true)
    throw terminal('USAGE_RANGE', 'A range is needed: --from and --to, or --last-week alone.');
  const range = { from: instantOf(from), to: instantOf(to) };
  if (range.from < range.to && range.to <= now * 1000) return range;
  throw terminal('USAGE_RANGE', 'The range must not be empty, and must end before now.', {
    hint: 'End the range at the start of today or earlier.',
  });
};

interface AwaitRequest extends Omit<Parameters<typeof lookAtProof>[1], 'warehouses'> {
  readonly warehouses: readonly string[];
  /** 0 looks once and starts nothing. */
  readonly timeoutMs: number;
}

/** Pauses between reconciliations that did not prove everything: they double up to the longest. */
const firstPauseMs = 5_000;
const longestPauseMs = 300_000;
const answerMs = 10_000;

/**
 * Returns once all is proven and can be read in every warehouse, or time is up.
 * @throws CallsyncError PROOF_UNANSWERED when time is up because the service or a warehouse did not answer; NO_WORKER,
 * TEMPORAL_UNREACHABLE, or of the store or a warehouse, at once
 */
const awaitProof = async (store: Store, services: Services, request: AwaitRequest): Promise<ProofFound> => {
  const deadline = Date.now() + request.timeoutMs;
  const asked = request.warehouses.map((name) => openWarehouse(services, store, name));
  const look = () => lookAtProof(store, { ...request, warehouses: asked });
  let found = await look();
  if (isShown(found) || request.timeoutMs === 0) return found;
  if (found.lost.length > 0) {
    services.say(`${found.lost.join(', ')} has lost loads; callsync sends them again.`);
    await openWarehouses(services, store);
    found = await look();
  }
  const { client, prefix } = await openTemporal(services);
  /**
   * Follows a workflow to its end or the deadline. @returns the dependency that did not answer; undefined if all
   * answered
   */
  const follow = async <Result>(
    handle: WorkflowHandle,
    what: string,
    complaintOf: (result: Result) => string | undefined,
  ): Promise<string | undefined> => {
    const signal = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
    const followed = await followWorkflow<Result>(handle, { what, signal });
    return followed.ended ? complaintOf(followed.result) : ((await lastFailure(handle)) ?? undefined);
  };
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    let failure: string | undefined;
    if (!found.proven) {
      const handle = await startReconcile(client, prefix, reconcileOf(found, request.level));
      failure = await follow(handle, 'reconciliation', complaintOf);
      found = await look();
    }
    if (found.proven) {
      for (const warehouse of found.behind) {
        const handle = await startLoadWarehouse(client, prefix, { warehouse, origin: 'await' });
        failure = (await follow(handle, 'load', () => undefined)) ?? failure;
      }
      found = await look();
    }
    if (isShown(found)) return found;
    if (Date.now() + pauseMs >= deadline) {
      const unanswered = failure ?? (await askInVain(services));
      if (unanswered === undefined) return found;
      throw transient('PROOF_UNANSWERED', `The range could not be proven in time: ${unanswered}`);
    }
    services.say(
      found.proven
        ? `The range is proven, but ${found.behind.join(', ')} does not have the verdicts yet. callsync tries again after a pause.`
        : 'Parts of the range are not proven. callsync compares them again after a pause.',
    );
    await delay(pauseMs);
  }
};

const isShown = ({ proven, behind }: ProofFound): boolean => proven && behind.length === 0;

/** The least range that holds all that is missing. Days that have a verdict of a lower level are compared again. */
const reconcileOf = ({ warehouses }: ProofFound, level: ProofLevel): Parameters<typeof startReconcile>[2] => {
  const missing = Object.values(warehouses).flat();
  const range = { from: Math.min(...missing.map(({ from }) => from)), to: Math.max(...missing.map(({ to }) => to)) };
  const { source, warehouse } = level;
  return {
    name: ['await', range.from, range.to, source, warehouse].filter((part) => part !== undefined).join('-'),
    request: { range, force: true, ...(source && { level: source }), ...(warehouse && { warehouseLevel: warehouse }) },
  };
};

const complaintOf = ({ totals: { unreachable, failed } }: ReconcileProgress): string | undefined => {
  if (unreachable > 0) return `A warehouse did not answer ${countOf(unreachable, 'time')}.`;
  return failed > 0 ? `${countOf(failed, 'window')} failed; the log of the worker says why.` : undefined;
};

/** The reason why the service does not answer now; undefined if it answers. An activity retries for minutes before it fails. */
const askInVain = async (services: Services): Promise<string | undefined> => {
  try {
    await askList(openSource(services), AbortSignal.timeout(answerMs));
    return undefined;
  } catch (error) {
    return error instanceof CallsyncError ? error.message : 'The service does not answer.';
  }
};

const describe = ({ proven, from, to, warehouses, lost, behind }: ProofFound, level: Required<ProofLevel>): string => {
  const range = `${iso(from)} to ${iso(to)} is proven`;
  if (proven && behind.length > 0)
    return `${range}, but ${behind.join(', ')} cannot say so yet: the verdicts come with the next load.`;
  if (proven)
    return `${range} in ${Object.keys(warehouses).join(', ')}, at level ${level.source} with the service and ${level.warehouse} in the warehouse or above (docs/explanation/completeness.md).`;
  const missing = Object.entries(warehouses)
    .filter(([, ranges]) => ranges.length > 0)
    .map(([name, ranges]) => `${name}: ${ranges.map((one) => `${iso(one.from)} to ${iso(one.to)}`).join(', ')}`);
  if (lost.length > 0) missing.unshift(`${lost.join(', ')} lacks tables, loads or all calls.`);
  return `Not proven.\n  ${missing.join('\n  ')}\ncallsync coverage shows these days. Suspiciously empty or unreadable days stay unproven until you remove the cause (docs/explanation/completeness.md).`;
};

const options = {
  proven: flag('--proven', 'wait for proof; this is the default, and the option makes scripts readable'),
  from: parsed(
    '--from <instant>',
    'start of the range; a date is a day of analytics.time_zone, as in the marts',
    parseMoment,
  ),
  to: parsed('--to <instant>', 'end of the range, exclusive and not after now; a date as with --from', parseMoment),
  lastWeek: flag('--last-week', 'take the last whole week, Monday to Sunday, in analytics.time_zone'),
  warehouse: option('--warehouse <name...>', 'warehouses to wait for; all by default'),
  ...levelOptions,
  timeout: parsed('--timeout <duration>', 'longest wait; 0 = look once and start nothing', duration, '1h'),
};

export default leaf({
  options,
  examples: [
    'callsync await --proven --from 2025-01-01 --to 2025-01-02 && dbt build',
    'callsync await --proven --last-week && dbt build',
    'callsync await --proven --from 2025-01-01 --to 2025-02-01 --warehouse bigquery --warehouse-level rows --timeout 2h',
  ],
  remarks: `Exit code 0: proven, and every warehouse has the verdicts. Exit code 5: not proven in time. Exit code 4: service,
warehouse, worker, Temporal or store did not answer.`,
  within: withStore,
  run: async (options, store, services) => {
    const { config } = services;
    const range = awaitedRange(options, config.analytics.time_zone, Date.now());
    const warehouses = options.warehouse ?? Object.keys(config.warehouses);
    for (const name of warehouses) settingsOf(config, name);
    const { axis } = requireAxis(config.source.list, processedFieldOf(config));
    const { sourceLevel: source, warehouseLevel: warehouse } = options;
    const asked = { axis, range, warehouses, level: { source, warehouse }, timeoutMs: options.timeout };
    const found = await awaitProof(store, services, asked);
    const level = { source: source ?? 'ids', warehouse: warehouse ?? 'guards' } as const;
    return [tellTimes({ ...found, level }), describe(found, level), !isShown(found) && 'incomplete'];
  },
});
