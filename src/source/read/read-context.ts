/** Shared state of all steps that read one window. */
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { iso, type Micros } from '../../lib/timestamps.ts';
import type { ListClient, Page } from '../list/list-client.ts';
import type { Window } from '../list/list-query.ts';

interface PageMeta {
  /** Call ids of the page whose time is outside the part that is being read. Such calls are folded like the others, and their own part counts them. */
  readonly outside: ReadonlySet<string>;
  readonly observedAt: Micros;
  /** Whether heavy fields were left out. */
  readonly summary: boolean;
  /** Absent if the observations are not a whole page. */
  readonly keep?: Page['keep'];
}

/** Consumer of records; awaited, so that a slow one slows the reading down. */
export interface Handlers {
  /** Everything that a page brings, inside the window or not. A call may come more than once. */
  readonly onPage?: ((observations: readonly Observation[], meta: PageMeta) => Promise<void> | void) | undefined;
  /** Records without a usable `unique_id`. */
  readonly onRejected?: ((records: readonly RejectedRecord[]) => Promise<void> | void) | undefined;
}

export interface WindowProblem {
  readonly window: Window;
  readonly problem:
    | 'instant_too_large'
    | 'looks_truncated'
    | 'disagrees'
    | 'unverified_cut'
    | 'paging_unknown'
    | 'outside'
    | 'unreadable';
  /** One sentence for status, without personal data. */
  readonly detail: string;
}

export interface ReadContext {
  readonly client: ListClient;
  readonly handlers: Handlers;
  /** `later`: completeness of a settled window is left to reconcile. */
  readonly confirm: 'now' | 'later';
  /** JSON bytes parsed and handed on at once. */
  readonly partBytes: number;
  readonly tally: ReturnType<typeof createTally>;
  readonly problems: WindowProblem[];
}

export const createTally = () => ({
  requests: 0,
  /** Parts that failed as a whole. */
  failures: 0,
  /** Parts that were not answered in time. */
  timeouts: 0,
  /** Microseconds; the shortest part that was refused, and then cut. */
  refusedLength: Number.POSITIVE_INFINITY,
  /** Rows that named a call which the same pass had named before. */
  repeated: 0,
  /** Calls of which one answer had two records with other content. */
  conflicting: new Set<string>(),
  /** Fields that came null or empty without being known to be carried, with how often. */
  uncarried: new Map<string, number>(),
});

/** Reports a window; `detail` goes on from its axis and start. */
export const reportProblem = (
  { problems }: ReadContext,
  window: Window,
  problem: WindowProblem['problem'],
  detail: string,
): void => {
  problems.push({ window, problem, detail: `${window.axis} ${iso(window.from)} ${detail}` });
};
