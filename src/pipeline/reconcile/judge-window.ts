/** The verdict on one window of one warehouse, from everything that reconciling found: pure. */
import type { Verdict } from '../../store/windows/verdicts.ts';

export interface WindowFindings {
  /** Ids that the service listed in the window. */
  readonly listed: Iterable<string>;
  /** Listed ids that the ledger lacked, and those of which it held other values. */
  readonly fresh: ReadonlySet<string>;
  readonly changed: ReadonlySet<string>;
  /** Listed ids of calls that may be nowhere: they were erased, or are too old to be kept. */
  readonly excluded: ReadonlySet<string>;
  /** Ids that the warehouse lacked or held otherwise than the ledger, before anything was healed. */
  readonly missing: Iterable<string>;
  readonly different: Iterable<string>;
  /** Ids that the warehouse held although the ledger did not know them, and those of them that were removed since. */
  readonly unexpected: readonly string[];
  readonly removed: ReadonlySet<string>;
  /** Ids that still differ after healing, and ids whose whole record could not be read. */
  readonly unhealed: ReadonlySet<string>;
  readonly unfetched: readonly string[];
  /** Calls that the listing should have named and did not. */
  readonly omitted: number;
  /** Whether the listing was shown complete. */
  readonly listingComplete: boolean;
  /** The listing is too empty to be believed. */
  readonly suspicious: boolean;
}

type Judgement = Pick<Verdict, 'outcome' | 'calls_found' | 'missing' | 'different' | 'healed' | 'unexpected'> & {
  readonly excluded: number;
};

/**
 * `proven`: no difference. `healed`: all differences are repaired. `unproven`: a part is incomplete or still
 * different. `suspicious_empty`: the service listed too few calls, whatever else was found.
 */
export const judgeWindow = (found: WindowFindings): Judgement => {
  const missing = new Set([...found.missing, ...[...found.fresh].filter((id) => !found.excluded.has(id))]);
  const different = new Set([...found.different].filter((id) => !missing.has(id)));
  for (const id of found.changed) if (!missing.has(id)) different.add(id);
  const wrong = new Set([...missing, ...different]);
  const listed = [...found.listed];
  const left = found.unexpected.filter((id) => !found.removed.has(id)).length;
  const complete =
    found.listingComplete &&
    found.unfetched.length === 0 &&
    found.omitted === 0 &&
    left === 0 &&
    found.unhealed.size === 0;
  const settled = wrong.size + found.unexpected.length > 0 ? 'healed' : 'proven';
  const judged = complete ? settled : 'unproven';
  return {
    outcome: found.suspicious ? 'suspicious_empty' : judged,
    calls_found: listed.filter((id) => !wrong.has(id) && !found.excluded.has(id)).length,
    excluded: listed.filter((id) => !wrong.has(id) && found.excluded.has(id)).length,
    missing: missing.size,
    different: different.size,
    healed: [...wrong].filter((id) => !found.unhealed.has(id) && !found.unfetched.includes(id)).length,
    unexpected: found.unexpected.length,
  };
};

interface Emptiness {
  readonly listed: number;
  /** Calls of the window that the ledger has and that were listed when last looked for. */
  readonly known: number;
  /** Of those, the ones that the listing does not name. */
  readonly gone: number;
  /** Counts of the listings for the same hours of earlier weeks. */
  readonly history: readonly number[];
}

const fewKnown = 5;
const manyGone = 20;
const manyUsual = 20;

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
};

/** Whether a listing is too empty to be believed: an empty answer may also mean "not authorised". */
export const isSuspiciouslyEmpty = ({ listed, known, gone, history }: Emptiness): boolean => {
  if (listed === 0 && known >= fewKnown) return true;
  if (gone >= manyGone && gone * 2 > known) return true;
  return listed === 0 && known === 0 && history.length >= 2 && median(history) >= manyUsual;
};
