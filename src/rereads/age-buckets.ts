/** Ages in log-spaced buckets: the first minute, then eight for each doubling. All times in microseconds. */
const firstEdge = 60_000_000;
const perOctave = 8;

const endOf = (bucket: number): number => Math.ceil(firstEdge * 2 ** (bucket / perOctave));

/** The bucket of an age, from 0. */
export const bucketOf = (age: number): number => {
  if (age < firstEdge) return 0;
  const near = Math.floor(perOctave * Math.log2(age / firstEdge)) + 1;
  if (age < endOf(near - 1)) return near - 1;
  return age < endOf(near) ? near : near + 1;
};

/** Ages `[from, to)` of a bucket. */
export const bucketEdges = (bucket: number): { readonly from: number; readonly to: number } => ({
  from: bucket === 0 ? 0 : endOf(bucket - 1),
  to: endOf(bucket),
});
