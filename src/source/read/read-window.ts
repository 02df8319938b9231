/** Reads a window of the call list completely: each call of it exactly as often as needed, none left out in silence. */

import type { ListClient } from '../list/list-client.ts';
import { axisOf, boundStep, isCuttable, type ListQuery, otherAxis } from '../list/list-query.ts';
import { type Micros, nowMicros } from '../list/timestamps.ts';
import { halveWindow, splitWindow, type Window } from '../list/windows.ts';
import { type Confirmation, type PartOptions, type PartOutcome, readPart } from './read-part.ts';
import { capOf, type Handlers, insideIds, passOver, type Tally } from './read-pass.ts';

export interface WindowProblem {
  readonly window: Window;
  readonly problem: 'instant_too_large' | 'looks_truncated' | 'disagrees' | 'unverified_cut';
  /** One sentence for status, without personal data. */
  readonly detail: string;
}

export interface ReadProgress {
  /** Everything of the window before this time is read. */
  readonly doneTo: Micros;
  readonly calls: number;
  readonly pages: number;
}

export interface ReadWindowOptions extends Handlers {
  readonly client: ListClient;
  readonly window: Window;
  /** `now` (default): completeness is shown before this returns; `later`: the second listing is left to reconcile. */
  readonly confirm?: 'now' | 'later';
  /** Read without the heavy fields. */
  readonly summary?: boolean;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** JSON bytes parsed and handed on at once; 8 MiB by default. */
  readonly partBytes?: number;
}

export interface WindowResult {
  /** Distinct calls inside the window. */
  readonly calls: number;
  readonly pages: number;
  /** Pages and single calls asked for, repeated attempts not counted. */
  readonly requests: number;
  /** Decoded bytes read. */
  readonly bytes: number;
  readonly splits: number;
  /** The weakest of all its parts. */
  readonly confirmed: Confirmation;
  /** The contiguous parts in which it was read, in order. */
  readonly parts: readonly {
    readonly from: Micros;
    readonly to: Micros;
    readonly calls: number;
    readonly confirmed: Confirmation;
  }[];
  /** What could not be read or shown to be complete; never left out in silence. */
  readonly problems: readonly WindowProblem[];
  readonly rejected: number;
  readonly undated: number;
  readonly uncarried: Readonly<Record<string, number>>;
}

interface State {
  readonly options: ReadWindowOptions;
  readonly tally: Tally;
  readonly problems: WindowProblem[];
}

export const readWindow = async (options: ReadWindowOptions): Promise<WindowResult> => {
  const { client, window } = options;
  const tally: Tally = { pages: 0, requests: 0, bytes: 0, rejected: 0, undated: 0, uncarried: new Map() };
  const state: State = { options, tally, problems: [] };
  const step = boundStep(client.list);
  const cuttable = isCuttable(axisOf(client.list, window.axis));
  const queue: Window[] = window.from < window.to ? [window] : [];
  const parts: { from: Micros; to: Micros; calls: number; confirmed: Confirmation }[] = [];
  const suspects: { readonly window: Window; readonly records: number; readonly callsBefore: number }[] = [];
  let calls = 0;
  let splits = 0;

  for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
    let outcome = await ask(state, { window: part });
    if (outcome.kind === 'cut') {
      const pieces = cuttable ? splitWindow(part, piecesFor(outcome, client), step) : [part];
      if (pieces.length > 1) {
        if (outcome.why === 'looks_truncated')
          suspects.push({ window: part, records: outcome.records, callsBefore: calls });
        splits += pieces.length - 1;
        queue.unshift(...pieces);
        continue;
      }
      outcome = await cutInstant(state, { window: part }, outcome, cuttable);
    }
    calls += outcome.ids.size;
    const confirmed = outcome.kind === 'read' ? outcome.confirmed : 'none';
    parts.push({ from: part.from, to: part.to, calls: outcome.ids.size, confirmed });
    learnCap(client, suspects, part.to, calls);
    options.onProgress?.({ doneTo: part.to, calls, pages: tally.pages });
  }
  return {
    calls,
    pages: tally.pages,
    requests: tally.requests,
    bytes: tally.bytes,
    splits,
    confirmed: weakest(parts.map((part) => part.confirmed)),
    parts,
    problems: state.problems,
    rejected: tally.rejected,
    undated: tally.undated,
    uncarried: Object.fromEntries(tally.uncarried),
  };
};

const ask = (state: State, query: ListQuery): Promise<PartOutcome> => readPart(partOptions(state, query));

const partOptions = ({ options, tally }: State, query: ListQuery): PartOptions => ({
  client: options.client,
  query: { ...query, summary: options.summary, signal: options.signal },
  tally,
  partBytes: options.partBytes ?? 8 * 1024 * 1024,
  confirm: options.confirm ?? 'now',
  onPage: options.onPage,
  onRejected: options.onRejected,
});

/** As many pieces as should each fit, where the total is known; halves otherwise. */
const piecesFor = (outcome: Extract<PartOutcome, { kind: 'cut' }>, client: ListClient): number => {
  const cap = capOf(client);
  if (outcome.why !== 'too_large' || outcome.total === undefined || !Number.isFinite(cap)) return 2;
  return Math.min(64, Math.max(2, Math.ceil(outcome.total / (cap * 0.75))));
};

/** A window that holds a single step: exact bounds, then the other axis, then single statuses, then a report. */
const cutInstant = async (
  state: State,
  query: ListQuery & { readonly window: Window },
  first: Extract<PartOutcome, { kind: 'cut' }>,
  cuttable: boolean,
): Promise<PartOutcome> => {
  const { client } = state.options;
  const { list } = client;
  let last = first;
  if (cuttable && first.aligned && list.to_inclusive && query.window.to % boundStep(list) === 0) {
    const tight = await ask(state, { ...query, tight: true });
    if (tight.kind === 'read') return tight;
    last = tight;
  }
  const exact = { ...query, tight: last !== first };
  const expected = last.total;
  const ids = new Set(last.ids);
  const other = cuttable ? otherAxis(list, query.window.axis) : undefined;
  if (other !== undefined) {
    const also = { axis: other.name, from: 0, to: nowMicros() + 86_400_000_000 };
    const whole = await readBothHalves(state, { ...exact, also }, ids);
    if (whole && expected !== undefined && ids.size >= expected)
      return { kind: 'read', ids, confirmed: 'total', total: expected };
    if (whole && expected === undefined) return report(state, query.window, 'unverified_cut', ids, last);
  }
  if (list.status_param !== undefined && list.status_values.length > 1) {
    let complete = true;
    for (const status of list.status_values) {
      const outcome = await ask(state, { ...exact, status });
      for (const id of outcome.ids) ids.add(id);
      complete &&= outcome.kind === 'read';
    }
    if (complete && (expected === undefined || ids.size >= expected))
      return { kind: 'read', ids, confirmed: 'total', total: expected };
  }
  if (last.why === 'too_large') {
    const rest = await passOver({ ...partOptions(state, exact), upToCap: true });
    for (const id of insideIds(rest)) ids.add(id);
  }
  return report(state, query.window, last.why === 'too_large' ? 'instant_too_large' : last.why, ids, last);
};

/** Reads an instant by ever shorter windows on the other axis; false where even those are too large. */
const readBothHalves = async (
  state: State,
  query: ListQuery & { readonly also: Window },
  ids: Set<string>,
): Promise<boolean> => {
  const halves = halveWindow(query.also, boundStep(state.options.client.list));
  if (halves === undefined) return false;
  let complete = true;
  for (const also of halves) {
    const outcome = await ask(state, { ...query, also });
    for (const id of outcome.ids) ids.add(id);
    if (outcome.kind === 'cut') complete = (await readBothHalves(state, { ...query, also }, ids)) && complete;
  }
  return complete;
};

const report = (
  state: State,
  window: Window,
  problem: WindowProblem['problem'],
  ids: ReadonlySet<string>,
  last: Extract<PartOutcome, { kind: 'cut' }>,
): PartOutcome => {
  const held = last.total === undefined ? `at least ${Math.max(last.records, ids.size)}` : String(last.total);
  const why: Record<WindowProblem['problem'], string> = {
    instant_too_large: `holds ${held} calls, more than one query can give, and cannot be cut further`,
    looks_truncated: `gave ${ids.size} calls where the service seems to hold ${held}`,
    disagrees: 'gave other calls each time it was listed',
    unverified_cut: 'was cut on another axis without a total to compare with',
  };
  state.problems.push({
    window,
    problem,
    detail: `${window.axis} ${new Date(window.from / 1000).toISOString()} ${why[problem]}; ${ids.size} were read.`,
  });
  return { kind: 'read', ids, confirmed: 'none', total: last.total };
};

/** A window that gave a round count although its pieces held more has shown the service's silent cap. */
const learnCap = (
  client: ListClient,
  suspects: { readonly window: Window; readonly records: number; readonly callsBefore: number }[],
  doneTo: Micros,
  calls: number,
): void => {
  for (let last = suspects.at(-1); last !== undefined && last.window.to <= doneTo; last = suspects.at(-1)) {
    suspects.pop();
    if (calls - last.callsBefore > last.records)
      client.learned.cap = Math.min(client.learned.cap ?? Number.POSITIVE_INFINITY, last.records);
  }
};

const strength: readonly Confirmation[] = ['none', 'overlap', 'listing', 'total'];

const weakest = (confirmations: readonly Confirmation[]): Confirmation =>
  confirmations.reduce<Confirmation>(
    (worst, one) => (strength.indexOf(one) < strength.indexOf(worst) ? one : worst),
    'total',
  );
