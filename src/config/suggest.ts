import leven from 'leven';

/** The known name with the fewest single-letter edits from `name`; undefined when none is close. */
export const suggest = (name: string, known: readonly string[]): string | undefined => {
  const limit = Math.ceil(name.length / 3);
  const distanceTo = (other: string): number => leven(name.toLowerCase(), other.toLowerCase());
  return known.filter((other) => distanceTo(other) <= limit).sort((a, b) => distanceTo(a) - distanceTo(b))[0];
};
