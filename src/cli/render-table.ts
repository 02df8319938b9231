/** Rows as an aligned text table; instants in ISO 8601, what has parts as JSON. */
export const renderTable = (rows: readonly Record<string, unknown>[]): string => {
  if (rows.length === 0) return '  (no rows)';
  const names = Object.keys(rows[0] as object);
  const cells = [names, ...rows.map((row) => names.map((name) => showValue(row[name])))];
  // Not by spreading: a call takes about 110,000 arguments.
  const widths = names.map((_, index) => cells.reduce((most, row) => Math.max(most, (row[index] as string).length), 0));
  return cells
    .map(
      (row) =>
        `  ${row
          .map((cell, index) => cell.padEnd(widths[index] as number))
          .join('  ')
          .trimEnd()}`,
    )
    .join('\n');
};

const showValue = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString();
  // Line ends and other control characters of a transcript do not reach the terminal.
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  return text.replace(/\p{Cc}/gu, ' ');
};
