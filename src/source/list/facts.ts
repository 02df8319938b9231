/** Facts about a list that reading it teaches, such as a cap that the service does not tell. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { countOf, formatSpan } from '../../lib/count-of.ts';
import { fields, type Known, type Memory, type Seen, startOf, takeIn } from '../../lib/evidence.ts';
import type { Micros } from '../../lib/timestamps.ts';

/** A call and its time, as the list prints it. */
export interface Mark {
  readonly at: Micros;
  readonly callId: string;
}

/** The first and the last call of a window; the first is later where no dated call came. */
export interface Span {
  readonly first: Mark;
  readonly last: Mark;
}

export const [fewestAtEnd, mostAtEnd] = [2, 20];

const { latest, least, most, once } = fields;

const shape = {
  /** Most records that one query was seen to give although there were more. */
  cap: least,
  /** Rows of the last query that gave fewer than its total said, while its halves named more. */
  short: latest(0),
  /** Most rows of a query that no cap cut. */
  records: most,
  /** Most bytes of such a query. */
  bytes: most,
  /** The largest total of a query. */
  total: most,
  /** By axis: the longest window, in microseconds, that showed a call at its beginning or its end, wherever asked. */
  length: latest<Readonly<Record<string, Micros>>>({}),
  /** By axis: the first and last call of a window. */
  span: latest<Readonly<Record<string, Span>>>({}),
  /** Most records that came on one page. */
  page: most,
  /** A page had more records than were asked for: the service ignores the size that a question names. */
  sizeIgnored: once,
  /** An answer had the configured shape. */
  shapeProven: once,
  /** An empty array came where no records were: an answer without an array is then no empty one. */
  emptyShown: once,
  /** Records came whose times say nothing of the window in which they are. */
  undated: once,
  /** The longest window worth asking for, in microseconds: the list refused one of twice its length, and not its parts. */
  longest: least,
  /** A list ended at its total. The total therefore counts rows, and callsync asks for no page behind it. */
  totalIsProven: once,
  /** A total was below the calls of its listing: one that agrees with a page that lacks calls shows nothing. */
  totalIsLow: once,
  /** Behind its end, the list gave its last page again. */
  endsAgain: once,
  /**
   * So many empty pages in a row end a list. Higher for a service that removes records after it has cut its pages, so
   * that records follow a page that is not full. Forgotten slowly, because a call that came just then looks the same.
   */
  emptyAtEnd: latest(fewestAtEnd),
  /** The lowest that it falls to: above `fewestAtEnd` once half a page was missing amid a list, or a cap was uneven. No new call looks like that. */
  leastAtEnd: latest(fewestAtEnd),
};

export type Facts = Known<typeof shape>;
export type Learned = Seen<typeof shape>;

/** Facts that outlive a process, and when the oldest of them was learned, in milliseconds. */
export interface KeptFacts {
  readonly since: number;
  readonly facts: Learned;
}

/** Facts that make a later process more careful. Other facts allay a doubt, and the service may have new limits since. */
const careful = ['cap', 'longest', 'emptyShown', 'emptyAtEnd', 'leastAtEnd'] as const;
/** Then the list is learned anew, because a service changes its limits without a word. */
const forgetAfterMs = 7 * 86_400_000;

/** The facts of one list. `learn` adds to them, `recall` brings them up to date before a reading, `keep` ends it. */
export const createFacts = (memory?: Memory<KeptFacts>) => {
  const facts = startOf(shape);
  const learn = (seen: Learned): void => void Object.assign(facts, takeIn(shape, facts, seen));
  let since: number | undefined;
  let last = '';
  return {
    facts,
    learn,
    recall: async (): Promise<void> => {
      const kept = since === undefined ? await memory?.read() : undefined;
      for (const name of careful) learn({ [name]: kept?.facts?.[name] });
      since ??= kept?.since ?? Date.now();
      if (Date.now() - since < forgetAfterMs) return;
      Object.assign(facts, startOf(shape));
      since = Date.now();
    },
    keep: async (): Promise<void> => {
      // A span names calls, whose ids leave with an erasure. Infinite values say nothing, and JSON has none.
      const known = Object.entries(facts).filter(
        ([name, value]) => name !== 'span' && value !== Number.POSITIVE_INFINITY,
      );
      const text = JSON.stringify(known);
      if (memory === undefined || since === undefined || text === last) return;
      await memory.keep({ since, facts: Object.fromEntries(known) });
      last = text;
    },
  };
};

/** In words, why windows are cut: the limits that this list was seen to have. Lengths are in microseconds. */
export const describeFacts = ({ cap, longest, length = {} }: Learned): readonly string[] => {
  const span = (micros: Micros): string => formatSpan(micros / 1e6);
  return [
    cap === undefined ? [] : `${countOf(cap, 'record')} a query, the most of any answer where more was behind it`,
    longest === undefined ? [] : `longer windows than ${span(longest)} are refused`,
    Object.entries(length).map(([axis, micros]) => `windows of ${span(micros)} by ${axis} are shown whole`),
  ].flat();
};

/** Whether pages of this list lately had gaps: then rows that come again may stand for others that were passed over. */
export const hasGaps = ({ emptyAtEnd, leastAtEnd }: Facts): boolean => Math.max(emptyAtEnd, leastAtEnd) > fewestAtEnd;

/** Most records that one query of this list can give. */
export const capOf = ({ max_results: most = Number.POSITIVE_INFINITY }: ListConfig, { cap }: Facts): number =>
  Math.min(most, cap);
