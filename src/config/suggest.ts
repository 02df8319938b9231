/** The known name with the fewest single-letter edits from `name`; undefined when none is close. */
export const suggest = (name: string, known: readonly string[]): string | undefined => {
  const limit = Math.max(1, Math.floor(name.length / 3));
  const found = known.map((other) => ({ other, distance: editDistance(name.toLowerCase(), other.toLowerCase()) }));
  return found.filter(({ distance }) => distance <= limit).sort((a, b) => a.distance - b.distance)[0]?.other;
};

/** Damerau-Levenshtein with neighbours swapped counting as one edit. */
const editDistance = (left: string, right: string): number => {
  const rows: number[][] = [];
  const of = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 0; row <= left.length; row += 1) {
    const current: number[] = [];
    rows.push(current);
    for (let column = 0; column <= right.length; column += 1) {
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const changed = of(row - 1, column - 1) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const swapped = of(row - 2, column - 2) + (isSwapped ? 1 : 2);
      const distance = Math.min(of(row - 1, column) + 1, of(row, column - 1) + 1, changed, swapped);
      current.push(row + column === 0 ? 0 : distance);
    }
  }
  return of(left.length, right.length);
};
