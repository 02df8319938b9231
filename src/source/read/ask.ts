/** Questions to a list. Judges ask by yielding a question; `read-window.ts` alone awaits. */
import { CallsyncError } from '../../lib/errors.ts';
import type { Micros } from '../../lib/timestamps.ts';
import type { Learned } from '../list/facts.ts';
import type { ListClient, Rows } from '../list/list-client.ts';
import type { ListQuery } from '../list/list-query.ts';
import type { Listing } from './evidence.ts';

export interface ListAsk {
  readonly kind: 'list';
  readonly query: ListQuery;
  /** Hands nothing on. */
  readonly quiet?: boolean;
  /** Reads the reachable part of a query that holds more. */
  readonly upToCap?: boolean;
  readonly rows?: Rows;
  /** Stops after the page with which this is true of the distinct records. */
  readonly until?: (ids: ReadonlyMap<string, boolean>) => boolean;
}

/** `call`: one call, handed on like one of a page. `learn`: the conclusion of a judge about the list. */
export type Ask =
  | ListAsk
  | { readonly kind: 'call'; readonly query: ListQuery; readonly callId: string; readonly isInside: boolean }
  | { readonly kind: 'total'; readonly query: ListQuery }
  | { readonly kind: 'learn'; readonly seen: Learned };

/** A judge: pure. Each question is yielded and answered by evidence, or by a thrown failure. */
export type Judge<T> = Generator<Ask, T, Listing>;

/** The knowledge of judges about the list and the reading. */
export interface View extends Pick<ListClient, 'list' | 'learned' | 'pageSize' | 'seekable' | 'leadsOn' | 'hasRows'> {
  /** `later`: completeness of a settled window is left to reconcile. */
  readonly confirm: 'now' | 'later';
  readonly now: Micros;
  /** Of parts that failed as a whole. */
  readonly failures: readonly CallsyncError[];
}

export function* ask(asked: Ask): Judge<Listing> {
  return yield asked;
}

export const askList = (query: ListQuery, more: Partial<ListAsk> = {}): Judge<Listing> =>
  ask({ ...more, kind: 'list', query });

/** Lists without the heavy fields, and hands nothing on. */
export const askQuietly = (query: ListQuery, more: Partial<ListAsk> = {}): Judge<Listing> =>
  askList({ ...query, summary: true }, { ...more, quiet: true });

/** Undefined where the service does not answer, if the failure `may` be passed over. */
export function* unless<T>(may: (error: CallsyncError) => boolean, judge: Judge<T>): Judge<T | undefined> {
  try {
    return yield* judge;
  } catch (error) {
    if (error instanceof CallsyncError && may(error)) return undefined;
    throw error;
  }
}
