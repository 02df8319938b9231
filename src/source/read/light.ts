/** Light listings, and the cheapest way to whole records of the calls that a listing shows to be missing or changed. */
import { createHash } from 'node:crypto';
import type { CallDocument } from '../../../schemas/call.ts';
import type { Observation } from '../../../schemas/observation.ts';
import type { ListClient } from '../list/list-client.ts';
import { axisOf, axisTime, boundStep, isCuttable } from '../list/list-query.ts';
import { observeRecord } from '../list/observe.ts';
import type { Micros } from '../list/timestamps.ts';
import type { Window } from '../list/windows.ts';
import type { Handlers } from './read-pass.ts';
import { readWindow, type WindowResult } from './read-window.ts';

export interface LightEntry {
  readonly callId: string;
  /** On the window's axis; undefined where the record has none. */
  readonly time: Micros | undefined;
  readonly observedAt: Micros;
  /** What the listing carries. */
  readonly fields: CallDocument;
  /** SHA-256 over those fields, keys sorted, hex. */
  readonly digest: string;
}

export interface LightListing {
  readonly entries: readonly LightEntry[];
  readonly result: WindowResult;
}

export interface LightOptions {
  readonly client: ListClient;
  readonly window: Window;
  readonly confirm?: 'now' | 'later';
  readonly signal?: AbortSignal | undefined;
}

/** Lists a window without its heavy fields (with them, where the API cannot leave them out), in memory. */
export const listLight = async ({ client, window, confirm = 'now', signal }: LightOptions): Promise<LightListing> => {
  const entries = new Map<string, LightEntry>();
  const result = await readWindow({
    client,
    window,
    confirm,
    light: true,
    signal,
    onPage: (observations) => {
      for (const { callId, observedAt, fields } of observations) {
        entries.set(callId, {
          callId,
          observedAt,
          fields,
          time: axisTime(client.list, window.axis, fields),
          digest: digestFields(fields),
        });
      }
    },
  });
  return { entries: [...entries.values()], result };
};

export const digestFields = (fields: CallDocument): string =>
  createHash('sha256').update(canonical(fields)).digest('hex');

const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
};

export interface FetchCosts {
  /** Records a page. */
  readonly pageSize: number;
  /** Bytes of a whole record, on average. */
  readonly recordBytes: number;
  /** What a request costs beside its bytes, in bytes: it takes a place in the request budget. */
  readonly requestBytes: number;
  /** Whether one call can be asked for by its id. */
  readonly single: boolean;
  /** Whether the list can be cut by the axis. */
  readonly cuttable: boolean;
  /** Finest step of a window's borders. */
  readonly step: Micros;
}

export interface FetchPlan {
  readonly byId: readonly string[];
  /** Windows whose pages hold wanted calls, each with the ids wanted from it. */
  readonly byWindow: readonly { readonly window: Window; readonly wanted: readonly string[] }[];
  /** Estimates. */
  readonly requests: number;
  readonly bytes: number;
}

/**
 * Chooses, for runs of neighbouring wanted calls, between one request each and the pages of a short window: by cost in
 * bytes, where a request counts as so many bytes. Pure.
 */
export const planFetches = (
  entries: readonly Pick<LightEntry, 'callId' | 'time'>[],
  wanted: ReadonlySet<string>,
  axis: string,
  costs: FetchCosts,
): FetchPlan => {
  const byId: string[] = [];
  const byWindow: { window: Window; wanted: string[] }[] = [];
  const totals = { requests: 0, bytes: 0 };
  const single = (ids: readonly string[]): void => {
    byId.push(...ids);
    totals.requests += ids.length;
    totals.bytes += ids.length * costs.recordBytes;
  };
  if (!costs.cuttable && costs.single) {
    single(entries.flatMap(({ callId }) => (wanted.has(callId) ? [callId] : [])));
    return { byId, byWindow, ...totals };
  }
  const { runs, undated } = runsOf(entries, wanted, costs);
  single(undated);
  for (const run of runs) {
    const requests = Math.ceil(run.records / costs.pageSize);
    const byPages = requests * costs.requestBytes + run.records * costs.recordBytes;
    const byIds = run.wanted.length * (costs.requestBytes + costs.recordBytes);
    if (costs.single && byIds <= byPages) single(run.wanted);
    else {
      byWindow.push({ window: { axis, from: run.from, to: run.to }, wanted: run.wanted });
      totals.requests += requests;
      totals.bytes += run.records * costs.recordBytes;
    }
  }
  return { byId, byWindow, ...totals };
};

interface Run {
  from: Micros;
  to: Micros;
  records: number;
  readonly wanted: string[];
}

/** Wanted calls whose neighbours in between are cheaper to take along than a further request. */
const runsOf = (
  entries: readonly Pick<LightEntry, 'callId' | 'time'>[],
  wanted: ReadonlySet<string>,
  { step, recordBytes, requestBytes }: FetchCosts,
): { runs: Run[]; undated: string[] } => {
  const undated: string[] = [];
  const steps = new Map<Micros, { records: number; wanted: string[] }>();
  for (const { callId, time } of entries) {
    if (time === undefined) {
      if (wanted.has(callId)) undated.push(callId);
      continue;
    }
    const at = Math.floor(time / step) * step;
    const here = steps.get(at) ?? { records: 0, wanted: [] };
    steps.set(at, here);
    here.records++;
    if (wanted.has(callId)) here.wanted.push(callId);
  }
  const runs: Run[] = [];
  let between = 0;
  for (const [at, here] of [...steps].sort(([a], [b]) => a - b)) {
    const run = runs.at(-1);
    if (here.wanted.length === 0) {
      between += here.records;
    } else if (run !== undefined && between * recordBytes < requestBytes) {
      run.to = at + step;
      run.records += between + here.records;
      run.wanted.push(...here.wanted);
      between = 0;
    } else {
      runs.push({ from: at, to: at + step, records: here.records, wanted: [...here.wanted] });
      between = 0;
    }
  }
  return { runs, undated };
};

export interface FetchOptions extends Handlers {
  readonly client: ListClient;
  readonly axis: string;
  readonly entries: readonly LightEntry[];
  /** Ids whose whole records are wanted. */
  readonly wanted: ReadonlySet<string>;
  /** Bytes of a whole record, as seen so far; 40 KB by default. */
  readonly recordBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface FetchResult {
  readonly fetched: number;
  /** Wanted calls that could not be had: no longer listed, or neither dated nor to be asked for by id. */
  readonly gone: readonly string[];
  readonly requests: number;
}

/** A request takes a quarter of a second of the documented budget: about this many bytes of an ordinary line. */
const requestBytes = 262_144;

/** Fetches whole records of the wanted calls, the cheaper way for each. */
export const fetchWanted = async (options: FetchOptions): Promise<FetchResult> => {
  const { client, axis, entries, wanted, recordBytes = 40_000, signal } = options;
  let requests = 0;
  const plan = planFetches(entries, wanted, axis, {
    pageSize: client.pageSize ?? 100,
    recordBytes,
    requestBytes,
    single: client.list.single_path !== undefined,
    cuttable: isCuttable(axisOf(client.list, axis)),
    step: boundStep(client.list),
  });
  const missing = new Set(wanted);
  const takeWanted = async (
    observations: readonly Observation[],
    meta: Parameters<NonNullable<Handlers['onPage']>>[1],
  ): Promise<void> => {
    const chosen = observations.filter(({ callId }) => wanted.has(callId));
    for (const { callId } of chosen) missing.delete(callId);
    if (chosen.length > 0) await options.onPage?.(chosen, meta);
  };
  for (const { window } of plan.byWindow) {
    const { onRejected } = options;
    const read = await readWindow({ client, window, confirm: 'later', signal, onPage: takeWanted, onRejected });
    requests += read.requests;
  }
  const carries = new Set(client.list.carries);
  // Calls that moved between listing and fetching are asked for by id, like those planned so.
  for (const callId of client.list.single_path === undefined ? [] : [...missing]) {
    requests++;
    const call = await client.fetchCall(callId, signal);
    const observed = call && observeRecord(call.record, { observedAt: call.observedAt, carries });
    if (call === undefined || observed?.kind !== 'observation' || observed.observation.callId !== callId) continue;
    const meta = { window: undefined, observedAt: call.observedAt, receivedAt: call.receivedAt, page: 0, light: false };
    await takeWanted([observed.observation], meta);
  }
  return { fetched: wanted.size - missing.size, gone: [...missing], requests };
};
