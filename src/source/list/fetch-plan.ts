/**
 * Plans the cheapest way to fetch some calls of a listing whole: one by one, or in short windows of several. Pure.
 */
import type { Micros } from '../../lib/timestamps.ts';

interface ListedCall {
  readonly callId: string;
  /** Time on the axis of the listing; undefined where the record has none. */
  readonly time: Micros | undefined;
}

interface FetchRules {
  readonly pageSize: number;
  /** Estimated size of a whole record, in bytes. */
  readonly recordBytes: number;
  /** Whether there is an endpoint for one call. */
  readonly single: boolean;
  /** Step of the API's bounds, in microseconds. */
  readonly step: Micros;
}

/**
 * Bytes that cost as much as one request: a quarter of a second at the documented rate and 4 MB/s. Without it, one
 * request for a page of 8 MB would win over two of 40 KB.
 */
const bytesPerRequest = 1024 * 1024;

/** @param listed calls of one window; those without a time can only be fetched one by one. */
export const planFetches = (listed: readonly ListedCall[], wanted: ReadonlySet<string>, rules: FetchRules) => {
  const timed = listed
    .filter((call): call is ListedCall & { time: Micros } => call.time !== undefined)
    .sort((a, b) => a.time - b.time);
  const untimed = listed.filter((call) => call.time === undefined && wanted.has(call.callId));
  const places = timed.flatMap((call, position) => (wanted.has(call.callId) ? [position] : []));
  const ids = untimed.map((call) => call.callId);
  const windows: { from: Micros; to: Micros; ids: string[]; last: number }[] = [];
  for (const [first, last] of cutSpans(places, rules)) {
    const [from, to] = [timed[places[first] as number], timed[places[last] as number]] as const;
    if (from === undefined || to === undefined) continue;
    const members = places.slice(first, last + 1).map((place) => timed[place]?.callId as string);
    if (first === last && rules.single) {
      ids.push(...members);
      continue;
    }
    const range = { from: from.time, to: Math.floor(to.time / rules.step) * rules.step + rules.step };
    const before = windows.at(-1);
    // Neighbours are one window: nothing is between them.
    if (before !== undefined && (places[first] as number) === before.last + 1) {
      before.to = range.to;
      before.ids.push(...members);
      before.last = places[last] as number;
    } else windows.push({ ...range, ids: members, last: places[last] as number });
  }
  return { ids, windows: windows.map(({ from, to, ids: members }) => ({ from, to, ids: members })) };
};

/** Joins wanted places into spans of at most a page, wherever the records between two of them weigh less than a request. */
const cutSpans = (places: readonly number[], { pageSize, recordBytes }: FetchRules) => {
  const spans: [number, number][] = [];
  for (const [index, place] of places.entries()) {
    const span = spans.at(-1);
    const fits = span !== undefined && place - (places[span[0]] as number) < pageSize;
    const between = place - (places[index - 1] ?? 0) - 1;
    if (fits && between * recordBytes <= bytesPerRequest) span[1] = index;
    else spans.push([index, index]);
  }
  return spans;
};
