/** Random lists: a dialect, how it is configured, its quirks, and what changes while it is read. All follows from a seed. */

import { expect, onTestFinished, test, vi } from 'vitest';
import type { SourceConfigInput } from '../../../schemas/config/source.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import { CallsyncError, transient } from '../../../src/lib/errors.ts';
import type { ReadDeps } from '../../../src/pipeline/deps.ts';
import { hash32, pick, randomStream } from '../../../src/simulator/calls/random.ts';
import { dialectOf } from '../../../src/simulator/service/dialects.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import type { KeptFacts } from '../../../src/source/list/facts.ts';
import { openProblems, uncoveredRanges } from '../../../src/store/windows/windows.ts';
import { dialectLists } from '../../source/dialect-lists.ts';
import { readPart, simulatedSource } from '../../source/simulated.ts';
import { withInheritedNames } from '../../support/inherited-names.ts';
import { type Pipeline, usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

type List = NonNullable<SourceConfigInput['list']>;
type Calls = NonNullable<SimulatorOptions['calls']>;
type Quirks = NonNullable<SimulatorOptions['quirks']>;

type DialectCase = ReturnType<typeof makeDialectCase>;

interface Draft {
  calls: Calls;
  quirks: Quirks;
  dialect: Partial<Dialect>;
  list: List;
  faults: NonNullable<SimulatorOptions['faults']>;
  churn: number;
  changes: { insert: number; remove: number; edit: number };
  unstableTies: boolean;
  tokens: NonNullable<SimulatorOptions['tokens']>;
}

/** Settings of a trait: sections are merged, shares of changes added. */
type Change = { readonly [K in keyof Draft]?: Draft[K] extends object ? Partial<Draft[K]> : Draft[K] };
type Trait = (random: () => number, draft: Draft) => Change;

const change = (draft: Draft, { changes = {}, ...sections }: Change): void => {
  for (const [name, section] of Object.entries(sections)) {
    const known = draft[name as keyof Draft];
    Object.assign(draft, { [name]: typeof known === 'object' ? { ...known, ...(section as object) } : section });
  }
  for (const [kind, share] of Object.entries(changes)) draft.changes[kind as keyof Draft['changes']] += share;
};

const hour = 3_600_000;
const zones = [60, 120, -300, 330];
const untold = { total_path: undefined, total_header: undefined };
/** Nobody knows of it. */
const capped = (cap: number): Change => ({ dialect: { cap }, list: { max_results: undefined } });

const traits: Readonly<Record<string, Trait>> = {
  silent_cap: (random) => capped(pick([37, 100, 137, 250], random())),
  true_total: () => ({ dialect: { capTotal: 'true' } }),
  no_total: () => ({ dialect: { totalPath: undefined, totalHeader: undefined }, list: untold }),
  times_off: (random) => ({ calls: { printedOffMs: Math.ceil(random() * 5_000), printedPrecision: 'milliseconds' } }),
  prints_seconds: () => ({ calls: { precision: 'milliseconds', printedPrecision: 'seconds' } }),
  local_time: (random) => ({ calls: { printedZoneMinutes: pick(zones, random()) } }),
  poison: (random, draft) => ({
    quirks: {
      poison: Array.from({ length: random() < 0.7 ? 1 : 2 }, () => ({
        record: Math.floor(random() * (draft.calls.count ?? 1)),
        kind: pick(['error_500', 'broken_json'] as const, random()),
        light: random() < 0.5,
        single: random() < 0.5,
      })),
    },
  }),
  doubled: (random) => ({ quirks: { doubledShare: pick([0.01, 0.1, 0.5, 1], random()) } }),
  count_lag: (random) => ({ quirks: { countLagSeconds: 5 + random() * 55 }, changes: { insert: 0.3 } }),
  late_replica: (random) => ({ quirks: { replicaLateSeconds: 5 + random() * 55 }, changes: { insert: 0.3 } }),
  newest_first: () => ({ dialect: { newestFirst: true }, changes: { insert: 0.5 } }),
  refused_once: (random) => {
    const request = 1 + Math.floor(random() * 12);
    return { faults: { at: [{ request, kind: pick(['forbidden_403', 'missing_404', 'refused_400'], random()) }] } };
  },
  unstable_ties: () => ({ unstableTies: true }),
  dense: () => {
    // All calls within minutes: many of the same instant.
    const from = Date.now() - 30 * hour;
    const [first, last] = [from, from + 120_000].map((at) => new Date(at).toISOString());
    return { calls: { from: first, to: last, density: 'even' } };
  },
  churn: (random) => ({ churn: 1 + Math.floor(random() * 3) }),
  inserts: () => ({ changes: { insert: 0.5 } }),
  removals: () => ({ changes: { remove: 0.5 } }),
  edits: () => ({ changes: { edit: 0.5 } }),
  unconfigured: (_, draft) => {
    const { preset, records = preset === undefined ? '' : 'data' } = draft.list;
    draft.list = { records };
    return {};
  },
};

/** `unconfigured` is rare because most such lists cannot be read at all. */
const chooseTraits = (random: () => number): string[] => {
  const names = Object.keys(traits).filter((name) => name !== 'unconfigured');
  const chosen = new Set<string>();
  for (let n = Math.floor(random() * 4); n >= 0; n -= 1) chosen.add(pick(names, random()));
  if (random() < 0.04) chosen.add('unconfigured');
  return Object.keys(traits).filter((name) => chosen.has(name));
};

const makeDialectCase = (seed: number) => {
  const random = randomStream(seed * 7_919 + 1);
  const chosen = chooseTraits(random);
  const name = random() < 0.4 ? 'activate' : pick([...Object.keys(dialectLists), 'first_page'], random());
  const { list = {}, ...rest } = dialectLists[name] ?? {};
  const { shown: _, ...source } = { shown: '', ...rest };
  const draft: Draft = {
    calls: {
      count: Math.floor(20 + random() ** 2 * 600),
      from: new Date(Date.now() - (30 + random() * 60) * hour).toISOString(),
      ...{ utterances: 0, words: 1, tags: 0, otherShare: 0, voidShare: 0.1, lateShare: 0.05, lateMaxDays: 0.5 },
    },
    ...{ quirks: {}, dialect: {}, list, faults: {}, churn: 0, unstableTies: false, tokens: {} },
    changes: { insert: 0, remove: 0, edit: 0 },
  };
  for (const trait of chosen) change(draft, traits[trait]?.(random, draft) ?? {});
  const refused = addRefusals(seed, name, draft);
  const odd = addOddity(seed, name, draft);
  const served = dialectOf(name, draft.dialect);
  const { calls, quirks, faults, unstableTies, tokens } = draft;
  const qualified = served.windows.some((window) => window.axis === 'qualified') && random() < 0.6;
  return {
    seed,
    /** Names of the quirks, for messages. */
    traits: [name, ...chosen, ...refused, ...odd],
    simulator: {
      ...{ seed, dialect: name, dialectOverrides: draft.dialect, calls, quirks, faults, unstableTies, tokens },
      ...(seed % 4 === 0 ? { listAdds: withInheritedNames('added') } : {}),
      churn: { everyPages: draft.churn, limit: 8 },
      rateLimit: { requests: 0 },
    },
    source: {
      ...source,
      list: pageSized(draft.list, random),
      limits: { requests: 1_000_000, retries: 2, retry_base_ms: 1, retry_max_ms: 2 },
    },
    axis: qualified && !chosen.includes('unconfigured') ? ('qualified' as const) : ('timestamp' as const),
    direction: pick(['oldest_first', 'newest_first'] as const, random()),
    /** Milliseconds; the least length is a minute. */
    windowLength: (1 + random() * 200) * hour,
    targetCalls: pick([20, 100, 1_000], random()),
    maxCalls: pick([50, 1_000, 100_000], random()),
    /** Share of pages after which something changes, by what changes. */
    changes: draft.changes,
  };
};

/** Refusals of several requests in a row, or of all from an offset on; drawn apart, so that the rest of a seed stays. */
const addRefusals = (seed: number, name: string, draft: Draft): string[] => {
  const random = randomStream(seed * 104_729 + 5);
  const { paging } = dialectOf(name, draft.dialect);
  const names: string[] = [];
  if (random() < 0.3) {
    const kinds = ['missing_404', 'refused_400', 'refused_416', 'refused_422', 'too_many_429', 'error_500'] as const;
    const kind = pick(kinds, random());
    const first = 2 + Math.floor(random() * 20);
    const length = 2 + Math.floor(random() * 5);
    draft.faults.at = Array.from({ length }, (_, index) => ({ request: first + index, kind }));
    names.push(`${length}_${kind}`);
  }
  if (random() < 0.3 && paging.style === 'offset') {
    draft.dialect.paging = { ...paging, maxOffset: pick([50, 100, 150], random()) };
    names.push('max_offset');
  }
  return names;
};

interface Oddity {
  /** Of the dialect as it is served; all by default. */
  readonly fits?: (served: Dialect) => boolean;
  readonly apply: (random: () => number, served: Dialect) => Change;
}

const isCut = ({ windows }: Dialect): boolean => windows.length > 0;
const hasCursor = ({ paging }: Dialect): boolean => paging.style === 'cursor' || paging.style === 'link';
const isPaged = ({ paging }: Dialect): boolean => paging.style !== 'none';
const quirk = (of: (random: () => number) => Quirks, fits?: Oddity['fits']): Oddity => ({
  ...(fits && { fits }),
  apply: (random) => ({ quirks: of(random) }),
});
const dialect = (of: (random: () => number) => Partial<Dialect>, fits: Oddity['fits'] = isCut): Oddity => ({
  fits,
  apply: (random) => ({ dialect: of(random) }),
});

const exclusive = { from_inclusive: false, to_inclusive: false };
const oddities: Readonly<Record<string, Oddity>> = {
  offset_clamped: {
    fits: ({ paging }) => paging.style === 'offset',
    apply: (random, { paging }) => {
      const clamped = { maxOffset: pick([50, 100, 150], random()), beyondMax: 'clamp' } as const;
      return paging.style === 'offset' ? { dialect: { paging: { ...paging, ...clamped } } } : {};
    },
  },
  half_totals: quirk(() => ({ totals: 'half' })),
  double_totals: quirk(() => ({ totals: 'double' })),
  page_totals: quirk(() => ({ totals: 'page' })),
  random_order: quirk(() => ({ order: 'random' }), isPaged),
  page_repeats: quirk((random) => ({ pageRepeats: 1 + Math.floor(random() * 4) }), isPaged),
  page_most: quirk((random) => ({ pageMost: 3 + Math.floor(random() * 30) }), isPaged),
  page_varies: quirk((random) => ({ pageVaries: pick([0.05, 0.2, 0.6], random()) }), isPaged),
  small_cap: { apply: (random) => capped(pick([3, 5, 8], random())) },
  gaps: quirk(
    (random) => ({ gaps: { share: pick([0.1, 0.3], random()), records: pick([1, 5, 12], random()) } }),
    isPaged,
  ),
  expired_cursors: quirk(() => ({ cursors: 'expired' }), hasCursor),
  same_cursors: quirk(() => ({ cursors: 'same' }), hasCursor),
  coarse_bounds: {
    fits: isCut,
    apply: (random) => {
      const step = pick([1_000, 60_000, 3_600_000, 86_400_000], random());
      const isThrough = random() < 0.5;
      const list = { time_resolution_ms: step, bounds_slack_ms: isThrough ? step : 0 };
      return { dialect: { boundStepMs: step, boundThrough: isThrough }, list };
    },
  },
  open_bounds: { fits: isCut, apply: () => ({ dialect: { bounds: 'open' }, list: exclusive }) },
  local_bounds: {
    fits: isCut,
    apply: (random) => {
      const zone = pick(zones, random());
      return { calls: { printedZoneMinutes: zone }, dialect: { boundZoneMinutes: zone } };
    },
  },
};

/** From this seed on, lists may have one of these as well; before, a seed stays what it was when it was found. */
const firstWithMore = 420_000;

const flaws = ['reset_before_headers', 'truncated_body', 'wrong_length', 'invalid_json', 'html_502'] as const;
const more: Readonly<Record<string, Oddity>> = {
  all_totals: quirk(() => ({ totals: 'all' })),
  rest_totals: quirk(() => ({ totals: 'rest' }), isPaged),
  lost_cursors: quirk(() => ({ cursors: 'lost' }), hasCursor),
  endless_cursors: quirk(() => ({ cursors: 'endless' }), hasCursor),
  pages_most: quirk((random) => ({ pagesMost: pick([1, 2, 5], random()) }), isPaged),
  longest_window: dialect((random) => ({ longestMs: pick([24 * hour, 48 * hour], random()) })),
  flaky: { apply: () => ({ faults: { rates: Object.fromEntries(flaws.map((kind) => [kind, 0.02])) } }) },
  short_tokens: { apply: () => ({ tokens: { lifetimeSeconds: 2 } }) },
};

/** The same from this seed on. */
const firstWithYetMore = 430_000;

const yetMore: Readonly<Record<string, Oddity>> = {
  shown_part: dialect((random) => ({ longestMs: pick([6, 12, 24, 48], random()) * hour, longestEnd: random() < 0.5 })),
  late_cap: {
    fits: isPaged,
    apply: (random) => ({
      ...capped(pick([100, 200, 300], random())),
      quirks: { capAfter: Math.floor(random() * 60) },
    }),
  },
  // A list without parameters answers one question only, and as if it held no more: nothing can show the rest.
  bytes_cap: quirk(
    (random) => ({ capBytes: Math.floor(10_000 + random() * 60_000) }),
    (served) => !isPaged(served) && isCut(served),
  ),
  partial: quirk((random) => ({ partialShare: pick([0.02, 0.1], random()) })),
};

/** From this seed on, half of the readings go on in another process after each part, with the facts that are kept. */
const isRestarted = (seed: number): boolean => seed >= 440_000 && seed % 2 === 0;

/** One thing more that services do, drawn apart, so that the rest of a seed stays. */
const addOddity = (seed: number, name: string, draft: Draft): string[] => {
  const random = randomStream(seed * 15_485 + 11);
  if (random() < 0.3) return [];
  const served = dialectOf(name, draft.dialect);
  const kinds = [oddities, ...(seed < firstWithMore ? [] : [more]), ...(seed < firstWithYetMore ? [] : [yetMore])];
  const drawn = kinds.map((known) => pick(Object.entries(known), random()));
  const fitting = drawn.filter(([, { fits = () => true }]) => fits(served));
  for (const [, { apply }] of fitting) change(draft, apply(random, served));
  return fitting.map(([key]) => key);
};

/** Smaller pages than usual, so that few calls make many of them. */
const pageSized = (list: List, random: () => number): List => {
  const size = pick([20, 50, 100], random());
  const offset = { style: 'offset', offset_param: 'offset', size_param: 'limit' } as const;
  const { pagination = list.preset === undefined ? undefined : offset } = list;
  return pagination === undefined || pagination.style === 'none'
    ? list
    : { ...list, pagination: { ...pagination, size } };
};

/**
 * Whatever the list does, a call that it showed all the time is in the ledger. Otherwise the reading is incomplete and
 * names a window with the call. Never "complete" and lost.
 */
type Simulator = Awaited<ReturnType<typeof startSimulator>>;

const hourMicros = 3_600_000_000;
/** Reading ends this long before now; replicas and counts are late by less. */
const settleMs = 120_000;
/** Printed times differ from true ones by up to 5 s; problems may name either. */
const slackMicros = 6_000_000;

interface Listed {
  readonly at: number;
  /** As the record shows it, read as UTC; undefined where the record has no such field. */
  readonly printed: number | undefined;
}

type CaseOutcome = Awaited<ReturnType<typeof runDialectCase>>;

/** Calls that the list shows now, also its late replica, with their times on the axis. */
const listedCalls = async (simulator: Simulator, axis: 'timestamp' | 'qualified', lateMs = 0) => {
  const listed = new Map<string, Listed>();
  for await (const entry of simulator.truth()) {
    if (!entry.visibleInList || Date.parse(entry.qualified) > Date.now() - lateMs) continue;
    const shown = entry.document?.[axis];
    const printed = typeof shown === 'string' ? Date.parse(shown.replace(/Z?$/, 'Z')) * 1000 : undefined;
    listed.set(entry.callId, { at: Date.parse(entry[axis]) * 1000, printed });
  }
  return listed;
};

/** Changes calls between pages, by the seed; gives up on a reading that asks for far too many. */
const disturb = (simulator: Simulator, { seed, changes, simulator: { quirks } }: DialectCase, most: number) => {
  const stop = new AbortController();
  // A replica that is late disagrees until it is there: some hundred requests at a real service's pace.
  const isSteadyAt = Date.now() + (quirks?.replicaLateSeconds ?? 0) * 1000;
  let pages = 0;
  const due = (share: number, salt: number): boolean => hash32(seed, pages, salt) / 0x1_0000_0000 < share;
  simulator.onPage(async () => {
    pages += 1;
    if (pages > most && Date.now() > isSteadyAt)
      stop.abort(transient('SERVICE_RATE_LIMIT', 'The reading does not end.'));
    if (pages > 400) return;
    const { from, to } = simulator.range;
    const span = Date.parse(to) - Date.parse(from);
    const timestamp = new Date(Date.parse(from) + (hash32(seed, pages, 4) / 0x1_0000_0000) * span).toISOString();
    if (due(changes.insert, 1)) await simulator.insert({ timestamp, status: 'qualified' });
    if (due(changes.remove, 2)) await simulator.delete({ random: 1, seed: pages });
    if (due(changes.edit, 3)) await simulator.edit({ random: 1, seed: pages, kinds: ['metadata'] });
  });
  return stop.signal;
};

/**
 * Range part after part until all is read, as the backfill does; a failure that would be retried is, a few times.
 * @param open the dependencies of the next part.
 */
const readWhole = async (open: () => Promise<ReadDeps>, one: DialectCase, range: Range, signal: AbortSignal) => {
  const { axis, direction, maxCalls } = one;
  let problems = 0;
  let failures = 0;
  let attempt = 1;
  let windowLength = one.windowLength * 1000;
  for (let rest: Range | null = range; rest !== null; ) {
    try {
      const part: Awaited<ReturnType<typeof readPart>> = await readPart(
        await open(),
        { axis, range: rest, direction, maxCalls, windowLength },
        { signal, attempt },
      );
      attempt = 1;
      problems += part.totals.problems;
      windowLength = part.windowLength;
      rest = part.rest;
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      failures += 1;
      attempt += 1;
      if (error.kind === 'terminal' || failures > 4 || signal.aborted)
        return { problems, stopped: `${error.kind} ${error.code}` };
    }
  }
  return { problems, stopped: undefined };
};

const within = ({ at, printed }: Listed, { from, to }: Range): boolean =>
  [at, printed].some((time) => time !== undefined && time >= from - slackMicros && time < to + slackMicros);

const runDialectCase = async (pipeline: Pipeline, one: DialectCase) => {
  const { axis } = one;
  const simulator = await startSimulator(one.simulator);
  let kept: KeptFacts | undefined;
  const keep = async (facts: KeptFacts): Promise<void> => {
    kept = facts;
  };
  const openSource = () => simulatedSource(simulator, one.source, { facts: { read: async () => kept, keep } });
  let source = await openSource();
  try {
    const before = await listedCalls(simulator, axis, (one.simulator.quirks?.replicaLateSeconds ?? 0) * 1000);
    const signal = disturb(simulator, one, 5_000 + 20 * before.size);
    const windows = { initial: hourMicros, min: 60_000_000, max: 1_000 * hourMicros, targetCalls: one.targetCalls };
    const open = async (): Promise<ReadDeps> => {
      if (isRestarted(one.seed)) {
        await source.close();
        source = await openSource();
      }
      return { ...pipeline.deps, targets: [], source, windows };
    };
    const range = { from: (Date.now() - 200 * 3_600_000) * 1000, to: (Date.now() - settleMs) * 1000 };
    const { problems, stopped } = await readWhole(open, one, range, signal);
    const after = await listedCalls(simulator, axis);
    const held = new Set(await column(pipeline.store, 'SELECT call_id FROM ledger'));
    // A list that cuts by local times has not come to the newest ones yet.
    const ahead = Math.max(0, one.simulator.dialectOverrides?.boundZoneMinutes ?? 0) * 60_000_000;
    const expected = [...before].filter(
      ([id, { at }]) => after.get(id)?.at === at && at >= range.from && at + ahead < range.to - slackMicros,
    );
    const lost = expected.filter(([id]) => !held.has(id));
    const told = (await openProblems(pipeline.store)).filter((problem) => problem.axis === axis);
    const named: readonly Range[] = [...told, ...(await uncoveredRanges(pipeline.store, { axis, ...range }))];
    return {
      expected: expected.length,
      lost: lost.length,
      /** Lost calls that no named window holds. */
      unnamed: lost.filter(([, listed]) => !named.some((window) => within(listed, window))).length,
      complete: problems === 0 && stopped === undefined,
      problems: [...new Set(told.map(({ problem }) => problem.replace(/:.*/s, '')))],
      /** Why the reading ended before the range did. */
      stopped,
    };
  } finally {
    await source.close();
    await simulator.stop();
    await pipeline.clear();
  }
};

/** The fault that breaks the promise; undefined if the promise holds. */
const violationOf = (outcome: CaseOutcome): string | undefined => {
  const { lost, unnamed, complete, stopped, expected } = outcome;
  if (stopped?.startsWith('transient')) return `stopped for good by ${stopped}`;
  if (stopped !== undefined) return undefined;
  if (lost > 0 && complete) return `complete, and ${lost} of ${expected} lost`;
  if (unnamed > 0) return `${unnamed} of ${lost} lost calls lie in no named window`;
  return undefined;
};

/** Reads one random list a seed; prints every violation with its seed at once, and the counts at the end. */
export const describeNeverLost = (seeds: readonly number[]): void => {
  const pipeline = usePipeline();
  test(`never complete and lost: ${seeds.length} random lists`, { timeout: seeds.length * 60_000 }, async () => {
    onTestFinished(() => void vi.useRealTimers());
    const broken: string[] = [];
    const counts = { complete: 0, incomplete: 0, stopped: 0 };
    for (const seed of seeds) {
      // When calls are, and so what a seed lists, follows from the time of day and the day of the week.
      vi.useFakeTimers({ now: Date.parse('2026-11-30T00:39:00Z'), toFake: ['Date'], shouldAdvanceTime: true });
      const one = makeDialectCase(seed);
      const outcome = await runDialectCase(pipeline, one);
      counts[outcome.stopped === undefined ? (outcome.complete ? 'complete' : 'incomplete') : 'stopped'] += 1;
      const violation = violationOf(outcome);
      if (violation === undefined) continue;
      broken.push(`seed ${seed} (${one.traits.join(', ')}): ${violation}`);
      process.stdout.write(`${broken.at(-1)} ${JSON.stringify(outcome)}\n`);
    }
    process.stdout.write(`${JSON.stringify({ seeds: seeds.length, broken: broken.length, ...counts })}\n`);
    expect(broken).toEqual([]);
  });
};
