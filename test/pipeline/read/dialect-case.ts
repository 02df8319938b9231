/** Random lists: a dialect, how it is configured, its quirks, and what changes while it is read. All follows from a seed. */
import type { SourceConfigInput } from '../../../schemas/config/source.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import { pick, randomStream } from '../../../src/simulator/calls/random.ts';
import { dialectOf } from '../../../src/simulator/service/dialects.ts';
import { dialectLists } from '../../source/dialect-lists.ts';
import { withInheritedNames } from '../../support/inherited-names.ts';

type List = NonNullable<SourceConfigInput['list']>;
type Calls = NonNullable<SimulatorOptions['calls']>;
type Quirks = NonNullable<SimulatorOptions['quirks']>;

export type DialectCase = ReturnType<typeof makeDialectCase>;

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
/** Nobody knows of it. */
const capped = (cap: number): Change => ({ dialect: { cap }, list: { max_results: undefined } });

const traits: Readonly<Record<string, Trait>> = {
  silent_cap: (random) => capped(pick([37, 100, 137, 250], random())),
  true_total: () => ({ dialect: { capTotal: 'true' } }),
  no_total: () => ({
    dialect: { totalPath: undefined, totalHeader: undefined },
    list: { total_path: undefined, total_header: undefined },
  }),
  times_off: (random) => ({
    calls: { printedOffMs: Math.ceil(random() * 5_000), printedPrecision: 'milliseconds' },
  }),
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
    return {
      faults: { at: [{ request, kind: pick(['forbidden_403', 'missing_404', 'refused_400'] as const, random()) }] },
    };
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

export const makeDialectCase = (seed: number) => {
  const random = randomStream(seed * 7_919 + 1);
  const chosen = chooseTraits(random);
  const name = random() < 0.4 ? 'activate' : pick([...Object.keys(dialectLists), 'first_page'], random());
  const { list = {}, ...rest } = dialectLists[name] ?? {};
  const { shown: _, ...source } = { shown: '', ...rest };
  const draft: Draft = {
    calls: {
      count: Math.floor(20 + random() ** 2 * 600),
      from: new Date(Date.now() - (30 + random() * 60) * hour).toISOString(),
      utterances: 0,
      words: 1,
      tags: 0,
      otherShare: 0,
      voidShare: 0.1,
      lateShare: 0.05,
      lateMaxDays: 0.5,
    },
    quirks: {},
    dialect: {},
    list,
    faults: {},
    churn: 0,
    changes: { insert: 0, remove: 0, edit: 0 },
    unstableTies: false,
    tokens: {},
  };
  for (const trait of chosen) change(draft, traits[trait]?.(random, draft) ?? {});
  const refused = addRefusals(seed, name, draft);
  const odd = addOddity(seed, name, draft);
  const served = dialectOf(name, draft.dialect);
  const qualified = served.windows.some((window) => window.axis === 'qualified') && random() < 0.6;
  return {
    seed,
    /** Names of the quirks, for messages. */
    traits: [name, ...chosen, ...refused, ...odd],
    simulator: {
      seed,
      dialect: name,
      dialectOverrides: draft.dialect,
      calls: draft.calls,
      quirks: draft.quirks,
      ...(seed % 4 === 0 ? { listAdds: withInheritedNames('added') } : {}),
      faults: draft.faults,
      churn: { everyPages: draft.churn, limit: 8 },
      unstableTies: draft.unstableTies,
      tokens: draft.tokens,
      rateLimit: { requests: 0 },
    },
    source: {
      ...source,
      list: pageSized(draft.list, random),
      limits: { requests: 1_000_000, retries: 2, retry_base_ms: 1, retry_max_ms: 2 },
    },
    axis: qualified && chosen.includes('unconfigured') === false ? 'qualified' : 'timestamp',
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

const oddities: Readonly<Record<string, Oddity>> = {
  offset_clamped: {
    fits: ({ paging }) => paging.style === 'offset',
    apply: (random, { paging }) =>
      paging.style === 'offset'
        ? { dialect: { paging: { ...paging, maxOffset: pick([50, 100, 150], random()), beyondMax: 'clamp' } } }
        : {},
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
      return {
        dialect: { boundStepMs: step, boundThrough: isThrough },
        list: { time_resolution_ms: step, bounds_slack_ms: isThrough ? step : 0 },
      };
    },
  },
  open_bounds: {
    fits: isCut,
    apply: () => ({ dialect: { bounds: 'open' }, list: { from_inclusive: false, to_inclusive: false } }),
  },
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
  shown_part: dialect((random) => ({
    longestMs: pick([6 * hour, 12 * hour, 24 * hour, 48 * hour], random()),
    longestEnd: random() < 0.5,
  })),
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

/** One thing more that services do, drawn apart, so that the rest of a seed stays. */
const addOddity = (seed: number, name: string, draft: Draft): string[] => {
  const random = randomStream(seed * 15_485 + 11);
  if (random() < 0.3) return [];
  const served = dialectOf(name, draft.dialect);
  const drawn = [oddities, ...(seed < firstWithMore ? [] : [more]), ...(seed < firstWithYetMore ? [] : [yetMore])].map(
    (known) => pick(Object.entries(known), random()) as [string, Oddity],
  );
  const fitting = drawn.filter(([, { fits = () => true }]) => fits(served));
  for (const [, { apply }] of fitting) change(draft, apply(random, served));
  return fitting.map(([key]) => key);
};

/** Smaller pages than usual, so that few calls make many of them. */
const pageSized = (list: List, random: () => number): List => {
  const size = pick([20, 50, 100], random());
  if (list.preset !== undefined && list.pagination === undefined)
    return { ...list, pagination: { style: 'offset', offset_param: 'offset', size_param: 'limit', size } };
  const { pagination } = list;
  if (pagination === undefined || pagination.style === 'none') return list;
  return { ...list, pagination: { ...pagination, size } };
};
