import { warehousesToAsk } from '../../app/activity-deps.ts';
import { readNow, readUsages } from '../../app/open-health.ts';
import { factMemoryOf } from '../../app/open-source.ts';
import { type Services, withStore } from '../../app/services.ts';
import { findTemporal, listBackfills, type TemporalService } from '../../app/temporal.ts';
import { type Alarm, judge } from '../../health/conditions.ts';
import { readProven } from '../../health/page/state.ts';
import { type NamedUsage, readHealth } from '../../health/read-health.ts';
import { countOf } from '../../lib/count-of.ts';
import { dateOf, dayMicros } from '../../lib/timestamps.ts';
import { withinTime } from '../../lib/timing.ts';
import { versionOfRules } from '../../privacy/rules.ts';
import { describeFacts } from '../../source/list/facts.ts';
import { countUnderOthers } from '../../store/ledger/read-ledger.ts';
import { listRefused } from '../../store/loads/loads.ts';
import { listDrift } from '../../store/status/drift.ts';
import type { Store } from '../../store/store.ts';
import { openProblems } from '../../store/windows/windows.ts';
import { leaf } from '../shell/define.ts';
import { lines } from '../shell/output.ts';

/** The keys of `--json`. */
type Status = Awaited<ReturnType<typeof readStatus>>;

/** Used part of the quota of each warehouse that has one. Asks the store only. */
const describeQuotas = async (services: Services, store: Store): Promise<Record<string, string>> => {
  const usages = await readUsages(warehousesToAsk(services, store));
  const describe = ({ jobs: { used, limit }, nextCommitInMs: wait }: NamedUsage): string =>
    `load jobs ${Number.isFinite(limit) ? `${used}/${limit}` : used} in 24 h; next commit ${wait === 0 ? 'at once' : `in ${Math.ceil(wait / 1000)} s`}`;
  return Object.fromEntries(usages.map((usage) => [usage.warehouse, describe(usage)]));
};

const render = (summary: Status, unsigned: boolean): string => {
  const { holds, inbox, rules, list, sync, quarantine, rereads, drift } = summary;
  const outcomes = Object.entries(inbox.outcomes).map(([name, n]) => `${n} ${name}`);
  return lines(
    summary.wrong.map(describeAlarm),
    `ledger      ${countOf(summary.calls, 'call')}, ${summary.tombstones} erased, epoch ${summary.epoch}`,
    holds > 0 && `holds       ${countOf(holds, 'legal hold')}: callsync privacy hold list`,
    `inbox       ${inbox.count} waiting${inbox.oldestAge === null ? '' : `, oldest ${Math.round(inbox.oldestAge)} s`}; ${outcomes.join(', ') || 'no deliveries yet'}`,
    summary.warehouses.map(
      ({ name, pending, lastLoadAt, lastError, configured }) =>
        `warehouse   ${name}: ${pending} pending, last load ${lastLoadAt ?? 'never'}${lastError === null ? '' : `, last failed with ${lastError}`}${configured ? '' : '; not in this configuration: start the worker that has it'}`,
    ),
    rules && describeRules(rules, summary.unread),
    Object.entries(summary.quotas).map(([name, quota]) => `quota       ${name}: ${quota}`),
    sync && describeSync(sync),
    sync && `watermark   sync: ${sync.watermark.toISOString()}`,
    list && `list        ${describeFacts(list).join('; ') || 'no limit seen'}`,
    `proof       ${describeProof(summary.provenThrough)}`,
    `quarantine  ${quarantine.count} open${quarantine.count > 0 ? ': callsync quarantine list' : ''}`,
    `rereads     ${rereads.count} waiting${rereads.unanswered === 0 ? '' : `, ${rereads.unanswered} without an answer`}`,
    drift.length > 0 && `drift       ${countOf(drift.length, 'difference')} of records: callsync schema`,
    summary.refused.map(({ warehouse, callId, why }) => `REFUSED     ${warehouse}: ${callId} (${why})`),
    summary.problems.map((problem) => `PROBLEM     ${problem.problem}`),
    summary.backfills.map(
      ({ name, state, error }) => `backfill    ${name}: ${state}${error === null ? '' : `; last failure: ${error}`}`,
    ),
    unsigned && 'WARNING     unsigned webhook deliveries are taken (webhook.allow_unsigned)',
  );
};

/** The first day behind the proof is the one to ask about. */
const describeProof = (day: string | null): string => {
  if (day === null) return 'the oldest day is not proven yet; why: callsync coverage';
  const next = dateOf(Date.parse(day) + dayMicros / 1000);
  return `proven from the oldest day through ${day}; why not further: callsync coverage --day ${next}`;
};

const describeAlarm = ({ summary, since, command }: Alarm): string =>
  `WRONG       ${summary}${since === null ? '' : ` Since ${new Date(since).toISOString()}.`} ${command}`;

const describeSync = ({ lag, lastError, failedAt }: NonNullable<Status['sync']>): string => {
  const seen = lag === null ? 'has not read the newest calls yet' : `${Math.round(lag)} s behind`;
  const failed = lastError === null ? '' : `; its last run failed with ${lastError} at ${failedAt?.toISOString()}`;
  return `live sync   ${seen}${failed}`;
};

/** Running backfills; none while Temporal does not answer. */
const runningBackfills = async (temporal: TemporalService | undefined) => {
  const listed = temporal === undefined ? [] : await listBackfills(temporal.client, temporal.prefix).catch(() => []);
  return listed.flatMap(({ progress, ...one }) => (one.closedAt === null ? one : []));
};

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const readStatus = async (services: Services, store: Store, temporal: TemporalService | undefined) => {
  // Lines of every registered warehouse; warehouses that are no longer configured raise no problem.
  const health = await readHealth(store);
  return {
    ...health,
    warehouses: health.warehouses.map((one) => ({
      ...one,
      configured: Object.hasOwn(services.config.warehouses, one.name),
      lastLoadAt: isoOf(one.lastLoadAt),
      newestVisible: isoOf(one.newestVisible),
    })),
    provenThrough: await readProven(store, Object.keys(services.config.warehouses)),
    problems: await openProblems(store),
    refused: await listRefused(store),
    wrong: judge(await readNow(services.config, store)),
    drift: await listDrift(store),
    quotas: await describeQuotas(services, store),
    rules: await readRules(services, store),
    list: (await factMemoryOf(store, services.config).read())?.facts ?? null,
    backfills: await runningBackfills(temporal),
  };
};

const readRules = async ({ config }: Services, store: Store) => {
  const version = versionOfRules(config.privacy);
  return version === undefined ? null : { version, callsUnderOthers: await countUnderOthers(store, version) };
};

const describeRules = ({ version, callsUnderOthers: calls }: NonNullable<Status['rules']>, unread: number): string =>
  `privacy     rules ${version}${unread === 0 ? '' : `, ${countOf(unread, 'utterance')} became [unread]`}${calls === 0 ? '' : `; ${countOf(calls, 'call')} under others: callsync privacy apply brings them to these`}`;

/** Longest wait for Temporal, which may be away. */
const temporalMs = 3_000;

export default leaf({
  examples: ['callsync status', 'callsync status --json', 'watch callsync status'],
  within: withStore,
  run: async (_options, store, services) => {
    const temporal = await withinTime(findTemporal(services), temporalMs, () => undefined).catch(() => undefined);
    const summary = await readStatus(services, store, temporal);
    return [summary, render(summary, services.config.webhook.allow_unsigned)];
  },
});
