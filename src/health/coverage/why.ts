/** Says in words why a day is not proven, and the command that settles it. */

import { countOf, formatSpan } from '../../lib/count-of.ts';
import { type Interval, intersect, subtract, unite } from '../../lib/intervals.ts';
import { dateOf, dayMicros as day, iso } from '../../lib/timestamps.ts';
import type { Queryable } from '../../postgres/database.ts';
import { pendingWithin } from '../../store/loads/loads.ts';
import { readFailedComparisons } from '../../store/windows/comparisons.ts';
import { isWithdrawn, type JudgedVerdict, latestVerdicts, windowOf } from '../../store/windows/verdicts.ts';
import { firstReadInstant, listReadRanges, type OpenProblem, problemsWithin } from '../../store/windows/windows.ts';
import { because, describeWait, type Readings } from '../conditions.ts';
import { paint } from './coverage.ts';

export interface Reason extends Interval {
  /** Null where the service or the reading is the cause, for all warehouses alike. */
  readonly warehouse: string | null;
  /** One or two sentences: the calls, the window, and the answer. */
  readonly text: string;
  /** Microseconds; null = unknown. */
  readonly since: number | null;
  /** The command that settles it; null where only time does. */
  readonly command: string | null;
  /** The first calls that it is about. */
  readonly calls: readonly string[];
}

interface WhyInput {
  /** Start of the UTC day, in microseconds. */
  readonly day: number;
  readonly warehouses: readonly string[];
  readonly readings: Readings;
  /** Age in microseconds from which the schedule compares a day; null = no schedule. */
  readonly comparedAfter: number | null;
  /** Microseconds by the clock of this machine; ends the day. */
  readonly now: number;
}

type Said = Pick<Reason, 'text' | 'command'> & Partial<Reason>;

const askWithForce = 'backfill --force';
const compare = 'reconcile --force';

/** By the kind that a problem or a reason begins with: the command, and who must act where no command can. By default `compare`. */
const kinds: Readonly<Record<string, readonly [command: string, remark?: string]>> = {
  unreadable: [
    askWithForce,
    'If it fails again, only the operator of the service can mend the records of this window.',
  ],
  looks_truncated: [askWithForce, 'callsync probe finds a silent limit.'],
  instant_too_large: ['probe', 'If probe finds no larger page, only the operator of the service can help.'],
  disagrees: [compare, 'Calls of this window change while they are listed.'],
  ends_alike: [askWithForce, 'callsync probe finds a page size parameter: source.list.pagination.size_param.'],
  paging_unknown: ['probe'],
  undated: ['probe'],
  outside: ['probe', 'The list ignores the range that it is asked for.'],
  omitted: [compare, 'Only the operator of the service can complete its list.'],
  suspicious: ['doctor', 'If the calls are gone for good, accept it: callsync reconcile --accept-empty.'],
  unhealed: [compare, 'Something else changes these rows: look for triggers, and for other writers.'],
  unexpected: [
    compare,
    'The role of callsync may lack the right to delete rows, or the ledger has lost calls: restore it.',
  ],
};

/**
 * Everything that keeps a day from being proven, in order of time; none when it is proven.
 * @throws CallsyncError of the store
 */
export const explainDay = async (store: Queryable, input: WhyInput): Promise<Reason[]> => {
  const { readings, now, warehouses } = input;
  const range = { from: input.day, to: Math.min(input.day + day, now) };
  if (range.from >= range.to) return [{ ...range, ...nobody, text: 'The day has not begun.', command: null }];
  const verdicts = await latestVerdicts(store, range);
  const problems = await problemsWithin(store, range);
  const painting = { ...range, warehouses, read: await listReadRanges(store, range), verdicts };
  const layers = warehouses.map((name) => [name, paint(painting, name)] as const);
  // A problem of the service may be older than the proof, or of another axis.
  const open = unite(layers.flatMap(([, { proven, healed }]) => subtract([range], [...proven, ...healed])));
  const found: Reason[] = [];
  const add = (part: Interval, said: Said, within: readonly Interval[] = open): void => {
    for (const cut of intersect([range], intersect(within, [part])))
      found.push({ ...nobody, ...said, ...cut, command: commandFor(said.command, range.from) });
  };

  const skew = describeSkew(readings.at * 1000 - now);
  if (skew !== undefined) add(range, skew);
  for (const one of problems) add(one, describeProblem(one));
  const begun = await firstReadInstant(store);
  for (const part of subtract(layers[0]?.[1].unread ?? [], problems)) add(part, describeUnread(input, part, begun));
  for (const [warehouse, painted] of layers) {
    const mine = verdicts.filter((one) => one.warehouse === warehouse);
    const pending = await pendingWithin(store, warehouse, range);
    for (const one of mine) {
      const state = one.outcome === 'unproven' || one.outcome === 'suspicious_empty' ? painted[one.outcome] : [];
      for (const said of describeVerdict(one, pending)) add(windowOf(one), { ...said, warehouse }, state);
    }
    const uncompared = intersect([range], painted.read);
    if (uncompared.length === 0) continue;
    const failed = await readFailedComparisons(store, warehouse);
    for (const part of uncompared) {
      const isIn = (one: Interval): boolean => intersect([one], [part]).length > 0;
      const withdrawn = mine.findLast((one) => isWithdrawn(one) && isIn(windowOf(one)));
      const failure = failed.findLast(isIn)?.error;
      add(part, { ...describeRead(input, { warehouse, withdrawn, failure, pending }), warehouse });
    }
  }
  return found.sort((left, right) => left.from - right.from);
};

/** As it is typed: commands about a range take that of the day. */
const commandFor = (command: string | null, start: number): string | null => {
  if (command === null || !/backfill|reconcile/.test(command)) return command && `callsync ${command}`;
  return `callsync ${command} --from ${dateOf(start / 1000)} --to ${dateOf((start + day) / 1000)}`;
};

/** @param skew microseconds by which the clock of the store is ahead */
const describeSkew = (skew: number): Said | undefined => {
  if (Math.abs(skew) <= mostSkew) return undefined;
  const ahead = `${formatSpan(Math.abs(skew) / 1e6)} ${skew > 0 ? 'ahead of' : 'behind'}`;
  return { text: `The clock of the store is ${ahead} the clock of this machine. Set both by NTP.`, command: 'doctor' };
};

const nobody = { warehouse: null, since: null, calls: [] } as const;
/** Microseconds. */
const mostSkew = 60_000_000;

/** A text that begins with its kind, as a sentence with the command of the kind. @param cause in place of the usual remark */
const settle = (text: string, cause?: string): Said => {
  const [kind = '', ...rest] = text.split(': ');
  const [command, remark] = kinds[kind] ?? [compare];
  const sentence = rest.join(': ').replace(/(?<![.!?])$/, '.');
  return { text: [sentence, cause ?? remark].filter(Boolean).join(' '), command };
};

const describeProblem = ({ problem, attempts, seenAt, nextAt }: OpenProblem): Said => {
  const said = settle(problem);
  const tries = `The service was asked ${countOf(attempts, 'time')}; callsync asks again after ${iso(nextAt)}.`;
  return { ...said, text: `${said.text} ${tries}`, since: seenAt };
};

/** Nothing was read, and nothing of it was refused. */
const describeUnread = (input: WhyInput, part: Interval, begun: number | undefined): Said => {
  if (begun === undefined || part.to <= begun)
    return { text: 'Nobody has read it: reading began later.', command: 'backfill' };
  const [sync, command] = hasEnded(input)
    ? ['continuous sync, which reads the newest calls first', 'backfill']
    : ['continuous sync, because the day has not ended', null];
  const { reason = sync, ...wait } = describeWait(input.readings, undefined);
  return { text: `It is not read yet, and waits for ${reason}.`, command, ...wait };
};

/** Before its end, no command proves the whole day. */
const hasEnded = ({ day: start, now }: WhyInput): boolean => start + day <= now;

const describeVerdict = (verdict: JudgedVerdict, pending: Uncompared['pending']): Said[] => {
  const { calls_listed: listed, missing, different, healed, compared_at: since } = verdict;
  const counts = `Listed: ${countOf(listed, 'call')}; missing: ${missing}, different: ${different}, healed: ${healed}.`;
  const reasons = verdict.reasons.length > 0 ? verdict.reasons : [`not_shown: The comparison found it incomplete.`];
  const refusal = because(pending.find(({ refused }) => refused !== null)?.refused);
  const waits = pending.length > 0 ? `Calls of this day wait to be loaded${refusal}.` : undefined;
  return reasons.map((reason) => {
    const isUnhealed = reason.startsWith('unhealed');
    const said = settle(reason, isUnhealed ? waits : undefined);
    return { ...said, text: `${said.text} ${counts}`, since, calls: isUnhealed ? verdict.unhealed : [] };
  });
};

interface Uncompared {
  readonly warehouse: string;
  readonly withdrawn: JudgedVerdict | undefined;
  /** Error of the last comparison of this part. */
  readonly failure: string | undefined;
  readonly pending: Awaited<ReturnType<typeof pendingWithin>>;
}

/** Read, and without a comparison that counts. */
const describeRead = (input: WhyInput, part: Uncompared): Said => {
  const { readings, comparedAfter, now, day: start } = input;
  const { warehouse, withdrawn, failure, pending } = part;
  const refusal = pending.find(({ refused }) => refused !== null)?.refused;
  const wait = describeWait(readings, warehouse);
  const due = start + day + (comparedAfter ?? 0);
  const late = withdrawn === undefined && due > now ? `${iso(due)}, because calls may still come late` : 'a free slot';
  const [text, command = hasEnded(input) ? 'reconcile' : null] =
    refusal != null
      ? [`The warehouse refuses calls${because(refusal)}.`, 'status']
      : failure !== undefined
        ? [`The last comparison failed${because(failure)}.`, 'doctor']
        : wait.reason !== undefined
          ? [`It waits for ${wait.reason}.`, wait.command]
          : [comparedAfter === null ? 'sync.reconcile is off.' : `The schedule waits for ${late}.`];
  const before =
    withdrawn === undefined
      ? 'It is read, and not compared yet.'
      : 'Calls of this window were erased, cut or sent again; it waits for a new comparison.';
  const since = withdrawn?.compared_at ?? wait.since ?? null;
  return { text: `${before} ${text}`, command, since, calls: pending.map(({ callId }) => callId) };
};

/** The reasons as lines of text. @param date of the day */
export const drawReasons = (date: string, reasons: readonly Reason[]): string => {
  if (reasons.length === 0) return `${date} (UTC) is proven in every warehouse.`;
  const lines = reasons.flatMap(({ warehouse, from, to, text, since, calls, command }) => [
    `${clock(from)} to ${clock(to).replace('00:00:00', '24:00:00')}  ${warehouse === null ? '' : `${warehouse}: `}${text}`,
    ...(since === null ? [] : [`    since   ${iso(since)}`]),
    ...(calls.length === 0 ? [] : [`    calls   ${calls.join(', ')}`]),
    ...(command === null ? [] : [`    settle  ${command}`]),
  ]);
  return [`${date} (UTC) is not proven:`, '', ...lines].join('\n');
};

const clock = (micros: number): string => iso(micros).slice(11, 19);
