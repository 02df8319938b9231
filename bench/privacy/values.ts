/** Personal values that pass every check, made from a random stream, and their forms by style. */
import { enMonths, enOrdinal, enYear, frMonths, frNumber, numberStyles } from './speak.ts';

export type Random = () => number;
/** How one value, or some of its groups, is written or spoken. */
export type Say = (style: string, groups?: readonly [from: number, to: number]) => string;

const below = (random: Random, limit: number): number => Math.floor(random() * limit);
const digits = (random: Random, count: number): string =>
  Array.from({ length: count }, () => String(below(random, 10))).join('');
const two = (value: number): string => String(value).padStart(2, '0');
const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)] as T;

const grouped =
  (all: readonly string[], others: Readonly<Record<string, string>> = {}): Say =>
  (style, [from, to] = [1, all.length]) => {
    const own = others[style];
    if (own !== undefined) return own;
    const speak = numberStyles[style];
    if (speak === undefined) throw new Error(`There is no style ${style}.`);
    return speak(all.slice(from - 1, to));
  };

const makePhone = (random: Random): Say => {
  const groups = [pick(random, ['01', '02', '03', '04', '05', '06', '07', '09']), ...pairs(digits(random, 8))];
  if (groups[0] === '07' && Number(groups[1]) < 30) groups[1] = '62';
  if (groups[0] === '09' && Number(groups[1]) < 50) groups[1] = '72';
  const [first = '', ...rest] = groups;
  return grouped(groups, {
    international: `+33 ${first.slice(1)} ${rest.join(' ')}`,
    colons: groups.join(':'),
    underscored: groups.join('_'),
    'fr-plus': `plus trente-trois ${numberStyles['fr-pairs']?.([first.slice(1), ...rest])}`,
  });
};
const pairs = (text: string): string[] => text.match(/../g) ?? [];

const makeBritish = (random: Random): Say => {
  const rest = digits(random, 6);
  return grouped([`07${pick(random, ['911', '700', '400', '555', '811'])}`, rest], {
    international: `+44 7911 ${rest}`,
  });
};

const luhnDigit = (text: string): string => {
  let sum = 0;
  for (const [index, char] of [...text].reverse().entries()) {
    const value = Number(char) * (index % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return String((10 - (sum % 10)) % 10);
};
const makeCard = (random: Random): Say => {
  const start = `${pick(random, ['4970', '4539', '5136', '5299', '4000'])}${digits(random, 11)}`;
  return grouped(`${start}${luhnDigit(start)}`.match(/.{4}/g) ?? []);
};

const mod97 = (text: string): number => {
  let rest = 0;
  for (const char of text) rest = (rest * 10 + Number(char)) % 97;
  return rest;
};
const lettersAsNumbers = (text: string): string => text.replaceAll(/[A-Z]/g, (char) => String(char.charCodeAt(0) - 55));
const makeIban = (random: Random): Say => {
  const [country, bban] = pick(random, [
    ['FR', frenchAccount(digits(random, 21))],
    ['DE', digits(random, 18)],
    ['GB', `NWBK${digits(random, 14)}`],
  ] as const);
  const check = two(98 - mod97(lettersAsNumbers(`${bban}${country}00`)));
  return grouped(`${country}${check}${bban}`.match(/.{1,4}/g) ?? []);
};
/** With its own key (RIB), which stricter checks look at. */
const frenchAccount = (text: string): string => `${text}${two(97 - mod97(`${text}00`))}`;

const makeNir = (random: Random): Say => {
  const groups = [
    pick(random, ['1', '2']),
    two(40 + below(random, 60)),
    two(1 + below(random, 12)),
    two(1 + below(random, 95)),
    two(1 + below(random, 89)).padStart(3, String(below(random, 5))),
    String(1 + below(random, 998)).padStart(3, '0'),
  ];
  if (groups[3] === '20') groups[3] = '21';
  return grouped([...groups, two(97 - mod97(groups.join('')))], { short: groups.join(' ') });
};

const makeBirth = (random: Random): Say => {
  const day = 1 + below(random, 28);
  const month = 1 + below(random, 12);
  const year = 1935 + below(random, 70);
  const forms: Record<string, string> = {
    slashed: `${two(day)}/${two(month)}/${year}`,
    'fr-text': `${day === 1 ? '1er' : day} ${frMonths[month - 1]} ${year}`,
    'fr-words': `${day === 1 ? 'premier' : frNumber(day)} ${frMonths[month - 1]} ${frNumber(year)}`,
    'fr-short': `${frNumber(day)} ${month < 10 ? 'zéro ' : ''}${frNumber(month)} ${year % 100 < 10 ? 'zéro ' : ''}${frNumber(year % 100)}`,
    'en-text': `${enMonths[month - 1]} ${day}, ${year}`,
    'en-words': `${enOrdinal(day)} of ${enMonths[month - 1]} ${enYear(year)}`,
  };
  return (style) => forms[style] as string;
};

const firstNames = ['marie', 'jean', 'paul', 'sophie', 'karim', 'lea', 'tom', 'anna'];
const lastNames = ['dupont', 'martin', 'bernard', 'petit', 'durand', 'smith', 'nguyen', 'lopez'];
const hosts = ['gmail.com', 'orange.fr', 'free.fr', 'outlook.com', 'laposte.net', 'wanadoo.fr', 'yahoo.co.uk'];
const makeEmail = (random: Random): Say => {
  const separator = pick(random, ['.', '-', '_', '']);
  const first = pick(random, firstNames);
  const last = pick(random, lastNames);
  const host = pick(random, hosts);
  const spoken = (at: string, dot: string, dash: string, local: string): string =>
    `${local.replace('.', ` ${dot} `).replace('-', ` ${dash} `).replace('_', ' underscore ')} ${at} ${host.replaceAll('.', ` ${dot} `)}`;
  const local = `${first}${separator}${last}`;
  const letters = [...`${first[0]}${last}`].join(' ');
  const forms: Record<string, string> = {
    plain: `${local}${pick(random, ['', '75', '1'])}@${host}`,
    'fr-spoken': spoken(pick(random, ['arobase', 'arobas']), 'point', 'tiret', local),
    'en-spoken': spoken('at', 'dot', 'dash', local),
    'fr-spelled': spoken('arobase', 'point', 'tiret', letters),
    'en-spelled': spoken('at', 'dot', 'dash', letters),
  };
  forms.encoded = `${local}${pick(random, ['%40', '[at]', ' (at) '])}${host}`;
  /** The words before the sign, the sign, and the words after it. */
  const splits: Record<string, RegExp> = { 'fr-spoken': /^(.*) (arobase?) (.*)$/, 'en-spoken': /^(.*) (at) (.*)$/ };
  return (style, groups) => {
    const form = forms[style] as string;
    const parts = groups && splits[style]?.exec(form)?.slice(1);
    return parts === undefined ? form : parts.slice((groups?.[0] ?? 1) - 1, groups?.[1]).join(' ');
  };
};

export const makeValue: Readonly<Record<string, (random: Random) => Say>> = {
  phone: makePhone,
  'phone-gb': makeBritish,
  card: makeCard,
  cvv: (random) => grouped([digits(random, 3)]),
  iban: makeIban,
  email: makeEmail,
  nir: makeNir,
  birth: makeBirth,
};
