/** SQL with its values in place. Times cross into TypeScript as whole microseconds since the Unix epoch. */

/** Part of a statement. Where it has no values, it is written into a text as it is. */
export class Sql {
  /** One more than values, which stand between them. */
  readonly texts: readonly string[];
  readonly values: readonly unknown[];

  constructor(texts: readonly string[], values: readonly unknown[] = []) {
    [this.texts, this.values] = [texts, values];
  }

  /** With `$1`, `$2` … in the places of the values. */
  get text(): string {
    return this.texts.reduce((text, next, at) => `${text}$${at}${next}`);
  }

  toString(): string {
    if (this.values.length > 0) throw new Error('Values of a statement have no place in a text.');
    return this.text;
  }
}

/** A text that is part of a statement: a name, an operator. Never of a user. */
export const raw = (text: string): Sql => new Sql([text]);

/** Values become parameters; parts of statements are written in their place. */
export const sql = (texts: readonly string[], ...given: readonly unknown[]): Sql => {
  const [first = '', ...rest] = texts;
  const parts = [first];
  const values: unknown[] = [];
  const append = (text: string): void => {
    parts.push(`${parts.pop()}${text}`);
  };
  for (const [at, one] of given.entries()) {
    const [start, ...others] = one instanceof Sql ? one.texts : ['', ''];
    append(start as string);
    parts.push(...others);
    values.push(...(one instanceof Sql ? one.values : [one]));
    append(rest[at] as string);
  }
  return new Sql(parts, values);
};

/** timestamptz expression → bigint microseconds. */
export const toMicros = (expression: string): Sql => raw(`(extract(epoch FROM ${expression}) * 1000000)::bigint`);

/** Microseconds, as a value or an expression (a number column) → timestamptz. */
export const toTimestamp = (micros: number | null | string): Sql =>
  sql`to_timestamp(${typeof micros === 'string' ? raw(micros) : micros}::float8 / 1000000.0)`;

/** At least one part, with commas between. */
export const list = (parts: readonly Sql[]): Sql => parts.reduce((all, part) => sql`${all}, ${part}`);

/** Rows as a table `u` of a statement. @param types of its columns, by the names that the rows have; other fields are left out */
export const unnest = <Row extends object>(rows: readonly Row[], types: { readonly [Name in keyof Row]?: string }) => {
  const columns = Object.entries(types) as [keyof Row & string, string][];
  const lists = columns.map(([name, type]) => sql`${rows.map((row) => row[name])}::${raw(type)}[]`);
  const names = columns.map(([name]) => `"${name}"`).join(', ');
  return sql`unnest(${list(lists)}) AS u(${raw(names)})`;
};
