/** One pass over all pages of one query: hands the records on and remembers what proves or disproves completeness. */
import { createHash } from 'node:crypto';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import type { RawRecord } from '../json/page-body.ts';
import { type ListClient, loops, type Page } from '../list/list-client.ts';
import { axisTime, boundStep, type ListQuery } from '../list/list-query.ts';
import { leftOutFields, observeRecord } from '../list/observe.ts';
import type { Micros } from '../list/timestamps.ts';
import { contains, type Window } from '../list/windows.ts';

export interface PageMeta {
  /** The part of the window that is being read. */
  readonly window: Window | undefined;
  readonly observedAt: Micros;
  readonly receivedAt: Date;
  readonly page: number;
  /** Whether heavy fields were left out. */
  readonly summary: boolean;
}

/** What a reader does with what comes; awaited, so that a slow one slows the reading down. */
export interface Handlers {
  readonly onPage?: ((observations: readonly Observation[], meta: PageMeta) => Promise<void> | void) | undefined;
  readonly onRejected?: ((records: readonly RejectedRecord[]) => Promise<void> | void) | undefined;
}

export interface Tally {
  pages: number;
  requests: number;
  bytes: number;
  rejected: number;
  /** Records without a time on the axis: they count into every window that returns them. */
  undated: number;
  /** Fields that came null or empty without being known to be carried, with how often. */
  readonly uncarried: Map<string, number>;
}

export interface Pass {
  /** Every distinct record that came, and whether it lies inside the window. */
  readonly ids: Map<string, boolean>;
  readonly firstTotal: number | undefined;
  readonly lastTotal: number | undefined;
  /** Pages with records on them. */
  readonly filledPages: number;
  /** Stopped because the query holds more than one query can give. */
  readonly tooLarge: boolean;
  readonly overlapBroken: boolean;
  /** Whether every time that came lies on a step of the API's bounds. */
  readonly aligned: boolean;
}

export interface PassOptions extends Handlers {
  readonly client: ListClient;
  readonly query: ListQuery;
  readonly tally: Tally;
  /** JSON bytes parsed and handed on at once. */
  readonly partBytes: number;
  /** Read what one query can give although it holds more. */
  readonly upToCap?: boolean;
}

export const passOver = async ({
  client,
  query,
  tally,
  partBytes,
  upToCap = false,
  ...handlers
}: PassOptions): Promise<Pass> => {
  const { list } = client;
  const cap = capOf(client);
  const step = boundStep(list);
  const ids = new Map<string, boolean>();
  const carries = new Set(list.carries);
  const leftOut = query.summary ? leftOutFields(list) : [];
  let firstTotal: number | undefined;
  let lastTotal: number | undefined;
  let filledPages = 0;
  let barrenPages = 0;
  let tooLarge = false;
  let overlapBroken = false;
  let aligned = true;
  let lastKey: string | undefined;

  /** Takes one record in; returns its observation when it lies inside the window. */
  const take = (raw: RawRecord, page: Page, rejected: RejectedRecord[]): [key: string, Observation | undefined] => {
    const observed = observeRecord(raw.value, {
      observedAt: page.observedAt,
      carries,
      leftOut,
      encoded: raw.encoded,
    });
    if (observed.kind === 'rejected') {
      const key = `\u0000${createHash('sha1').update(raw.bytes()).digest('hex')}`;
      if (!ids.has(key))
        rejected.push(
          rejectRecord(raw.bytes(), observed.reason, { receivedAt: page.receivedAt, window: query.window }),
        );
      ids.set(key, false);
      return [key, undefined];
    }
    const { callId } = observed.observation;
    const time = query.window === undefined ? undefined : axisTime(list, query.window.axis, raw.value);
    if (query.window !== undefined && time === undefined) tally.undated++;
    if (time !== undefined && time % step !== 0) aligned = false;
    const inside = query.window === undefined || time === undefined || contains(query.window, time);
    ids.set(callId, inside);
    if (!inside) return [callId, undefined];
    for (const field of observed.uncarried) tally.uncarried.set(field, (tally.uncarried.get(field) ?? 0) + 1);
    return [callId, observed.observation];
  };

  for await (const page of client.readPages(query)) {
    tally.pages++;
    tally.requests++;
    tally.bytes += page.bytes;
    if (page.index === 0) firstTotal = page.total;
    lastTotal = page.total ?? lastTotal;
    if (page.total !== undefined && page.total >= cap && !upToCap) {
      tooLarge = true;
      break;
    }
    const known = ids.size;
    let position = 0;
    for (const part of page.parts(partBytes)) {
      const observations: Observation[] = [];
      const rejected: RejectedRecord[] = [];
      for (const raw of part) {
        const [key, observation] = take(raw, page, rejected);
        if (position++ === 0 && query.overlap !== undefined && page.index > 0 && key !== lastKey) overlapBroken = true;
        lastKey = key;
        if (observation !== undefined) observations.push(observation);
      }
      tally.rejected += rejected.length;
      if (rejected.length > 0) await handlers.onRejected?.(rejected);
      const meta = {
        window: query.window,
        observedAt: page.observedAt,
        receivedAt: page.receivedAt,
        page: page.index,
        summary: query.summary === true,
      };
      if (observations.length > 0) await handlers.onPage?.(observations, meta);
    }
    if (page.count > 0) filledPages++;
    barrenPages = page.count > (query.overlap ?? 0) && ids.size === known ? barrenPages + 1 : 0;
    if (barrenPages >= 3) throw loops();
    if (ids.size >= cap && (page.total === undefined || upToCap)) {
      tooLarge = true;
      break;
    }
  }
  return { ids, firstTotal, lastTotal, filledPages, tooLarge, overlapBroken, aligned };
};

/** Most records that one query of this list can give. */
export const capOf = (client: ListClient): number =>
  Math.min(client.list.max_results ?? Number.POSITIVE_INFINITY, client.learned.cap ?? Number.POSITIVE_INFINITY);

/** What goes to quarantine: the exact bytes and where they came from, as a window, never as content. */
export const rejectRecord = (
  body: Buffer,
  reason: string,
  { receivedAt, window }: { readonly receivedAt: Date; readonly window: Window | undefined },
): RejectedRecord => ({
  reason,
  body: Buffer.from(body),
  source: 'poll',
  origin: `list:${window === undefined ? 'all' : `${window.axis}:${new Date(window.from / 1000).toISOString()}`}`,
  receivedAt,
});

export const insideIds = (pass: Pass): Set<string> => {
  const inside = new Set<string>();
  for (const [id, isInside] of pass.ids) if (isInside) inside.add(id);
  return inside;
};
