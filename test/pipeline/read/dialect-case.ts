/** Random lists: a dialect, how it is configured, its quirks, and what changes while it is read. All follows from a seed. */
import type { SourceConfigInput } from '../../../schemas/config/source.ts';
import type { Direction } from '../../../schemas/orchestration.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import { pick, randomStream } from '../../../src/simulator/calls/random.ts';
import { dialectOf } from '../../../src/simulator/service/dialects.ts';
import { dialectLists } from '../../source/dialect-lists.ts';
import { withInheritedNames } from '../../support/inherited-names.ts';

type List = NonNullable<SourceConfigInput['list']>;
type Calls = NonNullable<SimulatorOptions['calls']>;
type Quirks = NonNullable<SimulatorOptions['quirks']>;

export interface DialectCase {
  readonly seed: number;
  /** Names of the quirks, for messages. */
  readonly traits: readonly string[];
  readonly simulator: SimulatorOptions;
  readonly source: Partial<SourceConfigInput>;
  readonly axis: string;
  readonly direction: Direction;
  /** Milliseconds; the least length is a minute. */
  readonly windowLength: number;
  readonly targetCalls: number;
  readonly maxCalls: number;
  /** Share of pages after which something changes, by what changes. */
  readonly changes: { readonly insert: number; readonly remove: number; readonly edit: number };
}

/** The sections that one trait sets; sections of different traits are merged. */
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

type Trait = (draft: Draft, random: () => number) => void;

const hour = 3_600_000;

const traits: Readonly<Record<string, Trait>> = {
  silent_cap: (draft, random) => {
    draft.dialect.cap = pick([37, 100, 137, 250], random());
    // Nobody knows of it.
    draft.list = { ...draft.list, max_results: undefined };
  },
  true_total: (draft) => {
    draft.dialect.capTotal = 'true';
  },
  no_total: (draft) => {
    draft.dialect.totalPath = undefined;
    draft.dialect.totalHeader = undefined;
    draft.list = { ...draft.list, total_path: undefined, total_header: undefined };
  },
  times_off: (draft, random) => {
    draft.calls.printedOffMs = Math.ceil(random() * 5_000);
    draft.calls.printedPrecision = 'milliseconds';
  },
  prints_seconds: (draft) => {
    draft.calls.precision = 'milliseconds';
    draft.calls.printedPrecision = 'seconds';
  },
  local_time: (draft, random) => {
    draft.calls.printedZoneMinutes = pick([60, 120, -300, 330], random());
  },
  poison: (draft, random) => {
    draft.quirks.poison = Array.from({ length: random() < 0.7 ? 1 : 2 }, () => ({
      record: Math.floor(random() * (draft.calls.count ?? 1)),
      kind: pick(['error_500', 'broken_json'] as const, random()),
      light: random() < 0.5,
      single: random() < 0.5,
    }));
  },
  doubled: (draft, random) => {
    draft.quirks.doubledShare = pick([0.01, 0.1, 0.5, 1], random());
  },
  count_lag: (draft, random) => {
    draft.quirks.countLagSeconds = 5 + random() * 55;
    draft.changes.insert += 0.3;
  },
  late_replica: (draft, random) => {
    draft.quirks.replicaLateSeconds = 5 + random() * 55;
    draft.changes.insert += 0.3;
  },
  newest_first: (draft) => {
    draft.dialect.newestFirst = true;
    draft.changes.insert += 0.5;
  },
  refused_once: (draft, random) => {
    const kinds = ['forbidden_403', 'missing_404', 'refused_400'] as const;
    draft.faults.at = [{ request: 1 + Math.floor(random() * 12), kind: pick(kinds, random()) }];
  },
  unstable_ties: (draft) => {
    draft.unstableTies = true;
  },
  dense: (draft) => {
    // All calls within minutes: many of the same instant.
    draft.calls.from = new Date(Date.now() - 30 * hour).toISOString();
    draft.calls.to = new Date(Date.now() - 30 * hour + 120_000).toISOString();
    draft.calls.density = 'even';
  },
  churn: (draft, random) => {
    draft.churn = 1 + Math.floor(random() * 3);
  },
  inserts: (draft) => {
    draft.changes.insert += 0.5;
  },
  removals: (draft) => {
    draft.changes.remove += 0.5;
  },
  edits: (draft) => {
    draft.changes.edit += 0.5;
  },
  unconfigured: (draft) => {
    const { preset, records = preset === undefined ? '' : 'data' } = draft.list;
    draft.list = { records };
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

export const makeDialectCase = (seed: number): DialectCase => {
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
  for (const trait of chosen) traits[trait]?.(draft, random);
  const refused = addRefusals(seed, name, draft);
  const odd = addOddity(seed, name, draft);
  const served = dialectOf(name, draft.dialect);
  const qualified = served.windows.some((window) => window.axis === 'qualified') && random() < 0.6;
  return {
    seed,
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
    direction: random() < 0.5 ? 'oldest_first' : 'newest_first',
    windowLength: (1 + random() * 200) * hour,
    targetCalls: pick([20, 100, 1_000], random()),
    maxCalls: pick([50, 1_000, 100_000], random()),
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
  readonly apply: (draft: Draft, random: () => number, served: Dialect) => void;
}

const isCut = ({ windows }: Dialect): boolean => windows.length > 0;
const hasCursor = ({ paging }: Dialect): boolean => paging.style === 'cursor' || paging.style === 'link';
const isPaged = ({ paging }: Dialect): boolean => paging.style !== 'none';
const quirk = (quirks: Quirks) => (draft: Draft) => Object.assign(draft.quirks, quirks);

const oddities: Readonly<Record<string, Oddity>> = {
  offset_clamped: {
    fits: ({ paging }) => paging.style === 'offset',
    apply: (draft, random, { paging }) => {
      if (paging.style !== 'offset') return;
      draft.dialect.paging = { ...paging, maxOffset: pick([50, 100, 150], random()), beyondMax: 'clamp' };
    },
  },
  half_totals: { apply: quirk({ totals: 'half' }) },
  double_totals: { apply: quirk({ totals: 'double' }) },
  page_totals: { apply: quirk({ totals: 'page' }) },
  random_order: { fits: isPaged, apply: quirk({ order: 'random' }) },
  page_repeats: {
    fits: isPaged,
    apply: (draft, random) => {
      draft.quirks.pageRepeats = 1 + Math.floor(random() * 4);
    },
  },
  page_most: {
    fits: isPaged,
    apply: (draft, random) => {
      draft.quirks.pageMost = 3 + Math.floor(random() * 30);
    },
  },
  page_varies: {
    fits: isPaged,
    apply: (draft, random) => {
      draft.quirks.pageVaries = pick([0.05, 0.2, 0.6], random());
    },
  },
  small_cap: {
    apply: (draft, random) => {
      draft.dialect.cap = pick([3, 5, 8], random());
      draft.list = { ...draft.list, max_results: undefined };
    },
  },
  gaps: {
    fits: isPaged,
    apply: (draft, random) => {
      draft.quirks.gaps = { share: pick([0.1, 0.3], random()), records: pick([1, 5, 12], random()) };
    },
  },
  expired_cursors: { fits: hasCursor, apply: quirk({ cursors: 'expired' }) },
  same_cursors: { fits: hasCursor, apply: quirk({ cursors: 'same' }) },
  coarse_bounds: {
    fits: isCut,
    apply: (draft, random) => {
      const step = pick([1_000, 60_000, 3_600_000, 86_400_000], random());
      const isThrough = random() < 0.5;
      draft.dialect.boundStepMs = step;
      draft.dialect.boundThrough = isThrough;
      draft.list = { ...draft.list, time_resolution_ms: step, bounds_slack_ms: isThrough ? step : 0 };
    },
  },
  open_bounds: {
    fits: isCut,
    apply: (draft) => {
      draft.dialect.bounds = 'open';
      draft.list = { ...draft.list, from_inclusive: false, to_inclusive: false };
    },
  },
  local_bounds: {
    fits: isCut,
    apply: (draft, random) => {
      draft.calls.printedZoneMinutes = pick([60, 120, -300, 330], random());
      draft.dialect.boundZoneMinutes = draft.calls.printedZoneMinutes;
    },
  },
};

/** From this seed on, lists may have one of these as well; before, a seed stays what it was when it was found. */
const firstWithMore = 420_000;

const more: Readonly<Record<string, Oddity>> = {
  all_totals: { apply: quirk({ totals: 'all' }) },
  rest_totals: { fits: isPaged, apply: quirk({ totals: 'rest' }) },
  lost_cursors: { fits: hasCursor, apply: quirk({ cursors: 'lost' }) },
  endless_cursors: { fits: hasCursor, apply: quirk({ cursors: 'endless' }) },
  pages_most: {
    fits: isPaged,
    apply: (draft, random) => {
      draft.quirks.pagesMost = pick([1, 2, 5], random());
    },
  },
  longest_window: {
    fits: isCut,
    apply: (draft, random) => {
      draft.dialect.longestMs = pick([24 * hour, 48 * hour], random());
    },
  },
  flaky: {
    apply: (draft) => {
      const kinds = ['reset_before_headers', 'truncated_body', 'wrong_length', 'invalid_json', 'html_502'] as const;
      draft.faults.rates = Object.fromEntries(kinds.map((kind) => [kind, 0.02]));
    },
  },
  short_tokens: {
    apply: (draft) => {
      draft.tokens.lifetimeSeconds = 2;
    },
  },
};

/** The same from this seed on. */
const firstWithYetMore = 430_000;

const yetMore: Readonly<Record<string, Oddity>> = {
  shown_part: {
    fits: isCut,
    apply: (draft, random) => {
      draft.dialect.longestMs = pick([6 * hour, 12 * hour, 24 * hour, 48 * hour], random());
      draft.dialect.longestEnd = random() < 0.5;
    },
  },
  late_cap: {
    fits: ({ paging }) => paging.style !== 'none',
    apply: (draft, random) => {
      draft.dialect.cap = pick([100, 200, 300], random());
      draft.quirks.capAfter = Math.floor(random() * 60);
      draft.list = { ...draft.list, max_results: undefined };
    },
  },
  bytes_cap: {
    // A list without parameters answers one question only, and as if it held no more: nothing can show the rest.
    fits: ({ paging, windows }) => paging.style === 'none' && windows.length > 0,
    apply: (draft, random) => {
      draft.quirks.capBytes = Math.floor(10_000 + random() * 60_000);
    },
  },
  partial: {
    apply: (draft, random) => {
      draft.quirks.partialShare = pick([0.02, 0.1], random());
    },
  },
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
  for (const [, { apply }] of fitting) apply(draft, random, served);
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
