/** Writes and speaks values as people do: numbers in words, groups, spelled letters. Knows nothing of the detectors. */

const frUnits =
  'zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf'.split(
    ' ',
  );
const frTens = ['', '', 'vingt', 'trente', 'quarante', 'cinquante', 'soixante', '', 'quatre-vingt', ''];
const enUnits =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const enTens = 'x x twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const ordinals =
  'zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth'.split(
    ' ',
  );
export const frMonths = 'janvier février mars avril mai juin juillet août septembre octobre novembre décembre'.split(
  ' ',
);
export const enMonths = 'January February March April May June July August September October November December'.split(
  ' ',
);

/** 0 to 99 in French. */
const frSmall = (value: number): string => {
  if (value < 20) return frUnits[value] as string;
  let ten = Math.floor(value / 10);
  let rest = value % 10;
  if (ten === 7 || ten === 9) {
    ten -= 1;
    rest += 10;
  }
  const base = frTens[ten] as string;
  if (rest === 0) return ten === 8 ? 'quatre-vingts' : base;
  if ((rest === 1 || rest === 11) && ten !== 8) return `${base} et ${frUnits[rest]}`;
  return `${base}-${frUnits[rest]}`;
};

/** 0 to 9,999 in French. */
export const frNumber = (value: number): string => {
  const parts: string[] = [];
  let rest = value;
  if (rest >= 1000) {
    parts.push(rest >= 2000 ? `${frUnits[Math.floor(rest / 1000)]} mille` : 'mille');
    rest %= 1000;
  }
  if (rest >= 100) {
    parts.push(rest >= 200 ? `${frUnits[Math.floor(rest / 100)]} cent` : 'cent');
    rest %= 100;
  }
  if (rest > 0 || parts.length === 0) parts.push(frSmall(rest));
  return parts.join(' ');
};

const enSmall = (value: number): string => {
  if (value < 20) return enUnits[value] as string;
  const rest = value % 10;
  return `${enTens[Math.floor(value / 10)]}${rest === 0 ? '' : `-${enUnits[rest]}`}`;
};
export const enYear = (year: number): string =>
  year >= 2000 && year < 2010
    ? `two thousand${year === 2000 ? '' : ` and ${enUnits[year - 2000]}`}`
    : year % 100 === 0
      ? `${enSmall(year / 100)} hundred`
      : `${enSmall(Math.floor(year / 100))} ${enSmall(year % 100)}`;
export const enOrdinal = (day: number): string => {
  if (day <= 20) return ordinals[day] as string;
  const rest = day % 10;
  return rest === 0 ? 'thirtieth' : `${enTens[Math.floor(day / 10)]}-${ordinals[rest]}`;
};

const pairsOf = (text: string): string[] => text.match(/\D|\d{2}|\d/g) ?? [];

/** Letters as they are, digits two by two; a leading zero is said. */
const frPairs = (group: string): string =>
  pairsOf(group)
    .map((part) => {
      if (/\D/.test(part)) return part;
      return part.length === 2 && part.startsWith('0') && part !== '00'
        ? `zéro ${frUnits[Number(part[1])]}`
        : part === '00'
          ? 'zéro zéro'
          : frSmall(Number(part));
    })
    .join(' ');

const each = (group: string, names: readonly string[]): string =>
  [...group].map((char) => (/\d/.test(char) ? (names[Number(char)] as string) : char)).join(' ');

const enDouble = (group: string): string =>
  (group.match(/(\d)\1\1(?!\1)|(\d)\2|./g) ?? [])
    .map((part) => {
      const name = part[0] === '0' ? 'oh' : (enUnits[Number(part[0])] as string);
      return part.length === 3 ? `triple ${name}` : part.length === 2 ? `double ${name}` : name;
    })
    .join(' ');

/** How the groups of a number are said or written. */
export const numberStyles: Readonly<Record<string, (groups: readonly string[]) => string>> = {
  plain: (groups) => groups.join(''),
  spaced: (groups) => groups.join(' '),
  dotted: (groups) => groups.join('.'),
  dashed: (groups) => groups.join('-'),
  'fr-pairs': (groups) => groups.map(frPairs).join(' '),
  'fr-loose': (groups) => groups.map(frPairs).join(' ').replaceAll('-', ' '),
  'fr-digits': (groups) => groups.map((group) => each(group, frUnits)).join(' '),
  'fr-number': (groups) =>
    groups.map((group) => `${group.startsWith('0') ? 'zéro ' : ''}${frNumber(Number(group))}`).join(' '),
  'en-digits': (groups) => groups.map((group) => each(group, enUnits)).join(' '),
  'en-double': (groups) => groups.map(enDouble).join(' '),
  spelled: (groups) => [...groups.join('')].join(' '),
};
