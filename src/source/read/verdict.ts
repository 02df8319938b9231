/** How the reading of a query ends. */
import type { Shown } from '../../../schemas/observation.ts';
import { insideIds, type Listing } from './evidence.ts';

export interface Problem {
  readonly problem:
    | 'instant_too_large'
    | 'looks_truncated'
    | 'disagrees'
    | 'ends_alike'
    | 'unverified_cut'
    | 'paging_unknown'
    | 'outside'
    | 'undated'
    | 'unreadable';
  /** One sentence for status, without personal data; it goes on from the axis and the start of the window. */
  readonly detail: string;
}

/** The evidence of a reading, and the calls inside the window. */
interface Read {
  readonly pass: Listing;
  readonly ids: ReadonlySet<string>;
}

/** End of the reading of a query, and the proof that no call is missing. */
export interface Done extends Read {
  readonly kind: 'done';
  readonly shown: Shown;
  /** Reason of a missing proof, in one sentence; only with `none`. */
  readonly reason?: string;
  readonly problems: readonly Problem[];
}

/**
 * A query that holds more than it gives, or gives something else each time. `poison`: the service answers, but not this
 * question. `changed`: calls came while it was compared with its halves. `ends_alike`: no listing has other page ends.
 */
export interface Cut extends Read {
  readonly kind: 'cut';
  readonly why: 'too_large' | 'looks_truncated' | 'disagrees' | 'ends_alike' | 'changed' | 'poison';
}

export const done = (shown: Shown, pass: Listing, more: Partial<Done> = {}): Done => {
  return { kind: 'done', pass, ids: insideIds(pass), shown, problems: [], ...more };
};

export const notShown = (reason: string, pass: Listing, more?: Partial<Done>): Done => {
  return done('none', pass, { reason, ...more });
};

/** @param detail goes on from the axis and the start of the window. */
export const truncated = (reason: string, detail: string, pass: Listing, more?: Partial<Done>): Done =>
  notShown(reason, pass, { ...more, problems: [{ problem: 'looks_truncated', detail }] });

export const cut = (why: Cut['why'], pass: Listing): Cut => ({ kind: 'cut', why, pass, ids: insideIds(pass) });
