/** The evidence in the pages of a question. */
import { field, fields, type Known, type Seen as SeenOf, startOf, takeIn } from '../../lib/evidence.ts';
import type { Mark, Span } from '../list/facts.ts';

const { always, inARow, latest, most, once, sum } = fields;

export type Place = readonly [first: object, last: object];

/** Two records of neighbouring pages; between them, records may have slipped from one page to the other. */
type Gap = readonly [before: string, behind: string | undefined];

const shape = {
  /** Every distinct record that came, and whether its time is inside the window. */
  ids: field<ReadonlyMap<string, boolean>>(new Map(), (known, seen) => new Map([...known, ...seen])),
  /** Records that came again on a later page. A record twice on one page is not among them, because one answer shows it. */
  repeatedLater: latest<ReadonlySet<string>>(new Set()),
  /** Rows that came, those repeated included, the overlap of pages not. */
  rows: sum,
  bytes: sum,
  /** Pages asked for, an empty last one included. */
  pages: sum,
  /** Records on the last page that came. */
  lastPage: latest(0),
  lastTotal: latest<number | undefined>(undefined),
  /** 0 without totals. */
  largestTotal: most,
  /** Whether every page that came with a total came with the same one. */
  isSteady: always,
  /** Records on the last page, if only refusals of later pages say that the list ends there; else 0. */
  refusedBehind: most,
  /** No further page is needed. */
  isOver: once,
  /** Stopped because the query holds more than one query can give. */
  tooLarge: once,
  /** The pages on which each record came first and last. */
  places: field<ReadonlyMap<string, Place>>(new Map(), (known, seen) => new Map([...known, ...seen])),
  /** The last record of each page of which the next page has not this record, and the first record of that page. */
  gaps: field<readonly Gap[]>([], (known, seen) => [...known, ...seen]),
  /** The last record that came, and whether its page had room for no further one. */
  lastKey: latest<string | undefined>(undefined),
  endsFull: latest<boolean>(false),
  /** Pages in a row that brought nothing new, and those that were empty. */
  barrenPages: inARow,
  emptyPages: inARow,
  /** Whether every time that came is a multiple of the step of the API's bounds. */
  aligned: always,
  /** Of the calls inside the window. */
  first: field<Mark>({ at: Number.POSITIVE_INFINITY, callId: '' }, (known, seen) =>
    seen.at < known.at ? seen : known,
  ),
  last: field<Mark>({ at: Number.NEGATIVE_INFINITY, callId: '' }, (known, seen) => (seen.at > known.at ? seen : known)),
  /** The first and last call of the first page. */
  opening: field<Span | undefined>(undefined, (known, seen) => known ?? seen),
  /** Records whose time is further outside the requested bounds than the list may print them, and the greatest distance in microseconds. */
  outOfBounds: sum,
  /** Calls without a readable time. */
  undated: sum,
  furthest: most,
};

/** The evidence in the pages of one question. */
export type Listing = Known<typeof shape>;

export const nothing: Listing = startOf(shape);

/** A piece of evidence. */
export type Seen = SeenOf<typeof shape>;

/** Two pieces of evidence as one: each total that comes is compared with the one before. */
export const join = <L extends Listing>(known: L, seen: Seen): L => {
  const { lastTotal, isSteady = true } = seen;
  const isSame = lastTotal === undefined || known.lastTotal === undefined || lastTotal === known.lastTotal;
  return { ...known, ...takeIn(shape, known, { largestTotal: lastTotal, ...seen, isSteady: isSteady && isSame }) };
};

export const insideIds = ({ ids }: Pick<Listing, 'ids'>): Set<string> =>
  new Set([...ids].filter(([, isInside]) => isInside).map(([id]) => id));

/** Key of a record without a usable id: two listings with other fields name it differently. */
export const rejectedMark = '\u0000';

export const isCall = (key: string): boolean => !key.startsWith(rejectedMark);
