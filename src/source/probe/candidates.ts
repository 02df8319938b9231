/** What services usually call their parameters, and how a probe finds out which of many names has an effect. */
/** What a probe found out, and how sure it is. */
export interface Finding {
  /** Key of `source.list` (or another part of `source`) that it is about. */
  readonly key: string;
  /** In words; names of parameters and fields, numbers, never content. */
  readonly found: string;
  readonly confidence: 'sure' | 'likely' | 'guess' | 'unknown';
  readonly evidence: string;
}

export type BoundNames = readonly [from: string, to: string];

/** One table of all names that are tried, by the question that they answer; the most usual ones first. */
export const candidates = {
  size: 'limit per_page page_size pageSize size perPage max_results maxResults take count top page[size]'.split(' '),
  offset: 'offset skip start startIndex start_index from_index'.split(' '),
  page: 'page pageNumber page_number pageIndex page_index pageNo p page[number]'.split(' '),
  cursor:
    'cursor after next page_token pageToken next_token nextToken next_cursor starting_after continuation token page'.split(
      ' ',
    ),
  exclude: 'exclude exclude_fields excludeFields omit without fields_exclude'.split(' '),
  bounds: [
    ['timestamp_from', 'timestamp_to'],
    ['qualified_from', 'qualified_to'],
    ['from', 'to'],
    ['since', 'until'],
    ['start', 'end'],
    ['start_date', 'end_date'],
    ['start_time', 'end_time'],
    ['created_after', 'created_before'],
    ['date_from', 'date_to'],
    ['dateFrom', 'dateTo'],
    ['from_date', 'to_date'],
    ['startDate', 'endDate'],
    ['startTime', 'endTime'],
    ['fromDate', 'toDate'],
    ['after', 'before'],
    ['updated_after', 'updated_before'],
    ['updated_from', 'updated_to'],
    ['created_from', 'created_to'],
    ['processed_from', 'processed_to'],
    ['begin', 'finish'],
  ] as readonly BoundNames[],
} as const;

/**
 * Which of many candidates have an effect, with few requests: all are tried at once, and halves only while the whole
 * has an effect.
 */
export const findEffective = async <T>(
  some: readonly T[],
  hasEffect: (some: readonly T[]) => Promise<boolean>,
  wanted = Number.POSITIVE_INFINITY,
): Promise<T[]> => {
  if (some.length === 0 || wanted <= 0 || !(await hasEffect(some))) return [];
  if (some.length === 1) return [...some];
  const middle = Math.ceil(some.length / 2);
  const first = await findEffective(some.slice(0, middle), hasEffect, wanted);
  const second = await findEffective(some.slice(middle), hasEffect, wanted - first.length);
  return [...first, ...second];
};

/** All named parameters at one value. */
export const allAt = (names: readonly string[], value: string | number): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, String(value)]));

export const finding = (key: string, found: string, confidence: Finding['confidence'], evidence: string): Finding => ({
  key,
  found,
  confidence,
  evidence,
});
