/** Cron expressions as Temporal reads them: five fields, a sixth for the year, a seventh in front for the second. */

const months = 'january february march april may june july august september october november december';
const weekdays = 'sunday monday tuesday wednesday thursday friday saturday';

const fields: readonly (readonly [name: string, least: number, most: number, words?: string])[] = [
  ['second', 0, 59],
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day of month', 1, 31],
  ['month', 1, 12, months],
  ['day of week', 0, 7, weekdays],
  ['year', 2000, 2100],
];

const partForm = /^(\*|(\d+|[a-z]+)(?:-(\d+|[a-z]+))?)(?:\/([1-9]\d*))?$/i;

/** The numbers of one field, such as `1-5`, `MON,WED` or `8/2`; none where it is not valid. */
const numbersOf = (text: string, [, least, most, words = '']: (typeof fields)[number]): readonly number[] => {
  const numberOf = (word: string): number => {
    const named = words.split(' ').findIndex((one) => word.length > 2 && one.startsWith(word.toLowerCase()));
    return named < 0 ? Number(word) : named + least;
  };
  const parts = text.split(',').map((part) => {
    const [, range = '', first = '', last = '', step = ''] = partForm.exec(part) ?? [];
    const from = range === '*' ? least : numberOf(first || 'none');
    const to = last === '' && (range === '*' || step !== '') ? most : numberOf(last || first);
    if (!(from >= least && to <= most)) return [];
    return Array.from({ length: most + 1 }, (_, at) => at).filter(
      (at) => at >= from && at <= to && (at - from) % Number(step || 1) === 0,
    );
  });
  return parts.every(({ length }) => length > 0) ? parts.flat() : [];
};

/** The reason for which Temporal refuses a cron expression, or would never run it; undefined for a good one. */
export const faultOfCron = (text: string): string | undefined => {
  // A comment may follow.
  const given = text
    .replace(/\s#.*$/, '')
    .trim()
    .split(/\s+/);
  if (/^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$/.test(given.join(' '))) return undefined;
  if (given.length < 5 || given.length > 7) return 'needs five fields, such as 0 3 * * *';
  const all = [...(given.length < 7 ? ['0'] : []), ...given, '*'];
  const numbers = fields.map((field, index) => numbersOf(all[index] as string, field));
  const wrong = fields[numbers.findIndex(({ length }) => length === 0)];
  if (wrong !== undefined) return `has no valid ${wrong[0]} (${wrong[1]} to ${wrong[2]})`;
  const [, , , days = [], months = [], , years = []] = numbers;
  const hasDay = months.some((month) => days.some((day) => day <= new Date(2024, month, 0).getDate()));
  const comes = hasDay && years.some((year) => year >= new Date().getUTCFullYear());
  return comes ? undefined : 'names no day that comes';
};
