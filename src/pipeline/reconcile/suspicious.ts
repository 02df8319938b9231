/** Whether a listing is too empty to be believed: an empty answer may also mean "not authorised". Pure. */
export interface Emptiness {
  readonly listed: number;
  /** Calls of the window that the ledger has and that were listed when last looked for. */
  readonly known: number;
  /** Of those, the ones that the listing does not name. */
  readonly gone: number;
  /** What the listings of the same hours of earlier weeks had. */
  readonly history: readonly number[];
}

const fewKnown = 5;
const manyGone = 20;
const manyUsual = 20;

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
};

export const isSuspiciouslyEmpty = ({ listed, known, gone, history }: Emptiness): boolean => {
  if (listed === 0 && known >= fewKnown) return true;
  if (gone >= manyGone && gone * 2 > known) return true;
  return listed === 0 && known === 0 && history.length >= 2 && median(history) >= manyUsual;
};
