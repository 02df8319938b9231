/**
 * Telephone conversations with personal values: two speakers, interruptions, corrections, repetitions, letters one by
 * one, and numbers that are nobody's.
 *
 * A template has a line for each utterance; one that begins with `>` is the other speaker's. `{kind style 1-2}` are
 * groups 1 to 2 of a value, `{wrong style}` is a group that was said by mistake, and `{ack}`, `{interruption}`,
 * `{hesitation}` are phrases.
 */
import { frNumber, numberStyles } from './speak.ts';
import { makeValue, type Random, type Say } from './values.ts';

type Kind = 'phone' | 'card' | 'cvv' | 'iban' | 'email' | 'nir' | 'birth';
type Phrases = Readonly<Record<'fr' | 'en', readonly string[]>>;

export interface Talk {
  readonly acknowledgements: Phrases;
  readonly interruptions: Phrases;
  readonly hesitations: Phrases;
  readonly values: Readonly<Record<Kind, readonly string[]>>;
  readonly harmless: Phrases;
}

export interface Said {
  readonly speaker: string;
  readonly text: string;
}

export interface Planted {
  readonly kind: string;
  readonly parts: { utterance: number; start: number; end: number }[];
}

export interface Conversation {
  readonly said: readonly Said[];
  readonly planted: readonly Planted[];
}

const below = (random: Random, limit: number): number => Math.floor(random() * limit);
const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)] as T;
const digits = (random: Random, count: number): string =>
  Array.from({ length: count }, () => String(below(random, 10))).join('');
const capitals = (random: Random, count: number): string =>
  Array.from({ length: count }, () => String.fromCharCode(65 + below(random, 26))).join('');

const months = { fr: 'janvier mars mai juin août octobre'.split(' '), en: 'January March May June August'.split(' ') };
const departments = ['75', '13', '69', '93', '94', '2A', '2B', '971', '44', '33'];

/** Numbers that are nobody's. */
const harmless: Readonly<Record<string, (random: Random, style: string, language: 'fr' | 'en') => string>> = {
  order: (random, style) => {
    const groups = pick(random, [
      [2, 3],
      [3, 3],
      [4, 2, 3],
      [2, 2, 2],
      [4, 4],
    ]).map((count) => `${1 + below(random, 9)}${digits(random, count - 1)}`);
    return (numberStyles[style] as (groups: readonly string[]) => string)(groups);
  },
  size: (random) => String(34 + below(random, 14)),
  measure: (random) => [0, 0, 0].map(() => 20 + below(random, 200)).join(pick(random, [' par ', ' x ', ' sur '])),
  department: (random) => pick(random, departments),
  date: (random, _style, language) =>
    language === 'fr'
      ? `le ${1 + below(random, 28)} ${pick(random, months.fr)} ${pick(random, ['', '2024', '2025'])}`.trim()
      : `${pick(random, months.en)} ${1 + below(random, 28)}`,
  time: (random, _style, language) =>
    language === 'fr'
      ? pick(random, [
          `${8 + below(random, 10)} h ${pick(random, ['15', '30', '45'])}`,
          `${frNumber(8 + below(random, 10))} heures trente`,
        ])
      : `${1 + below(random, 11)}:${pick(random, ['15', '30', '45'])}`,
  amount: (random, _style, language) =>
    language === 'fr'
      ? pick(random, [
          `${10 + below(random, 900)},${digits(random, 2)} euros`,
          `${frNumber(100 + below(random, 3000))} euros`,
        ])
      : `${10 + below(random, 900)}.${digits(random, 2)} pounds`,
  tracking: (random) =>
    `${capitals(random, 2)} ${digits(random, 3)} ${digits(random, 3)} ${digits(random, 3)} ${capitals(random, 2)}`,
  postcode: (random) => `${1 + below(random, 9)}${digits(random, 4)}`,
  serial: (random) => `${capitals(random, 3)}${digits(random, 4)}-${digits(random, 2)}`,
};

const slot = /\{([a-z-]+)(?: ([a-z-]+))?(?: (\d+)-(\d+))?\}/g;

const languageOf = (template: string): 'fr' | 'en' =>
  /en-|\b(?:the|is|my|your|you|on|it|please|was|and|from|this|that's|work|by|with)\b/i.test(template) ? 'en' : 'fr';

/** Says a template, its lines behind those of `into`. */
const say = (template: string, talk: Talk, random: Random, into: { said: Said[]; planted: Planted[] }): void => {
  const language = languageOf(template);
  const phrases: Readonly<Record<string, Phrases>> = {
    ack: talk.acknowledgements,
    interruption: talk.interruptions,
    hesitation: talk.hesitations,
  };
  const values = new Map<string, Say>();
  const planted = new Map<string, Planted>();
  for (const line of template.split('\n')) {
    const utterance = into.said.length;
    const speaker = line.startsWith('> ') ? 'in' : 'out';
    let text = '';
    let last = 0;
    const source = line.replace(/^> /, '');
    for (const match of source.matchAll(slot)) {
      const [whole, kind = '', style = '', from, to] = match;
      text += source.slice(last, match.index);
      last = match.index + whole.length;
      if (kind === 'wrong') text += (numberStyles[style] as (groups: readonly string[]) => string)([digits(random, 2)]);
      else if (phrases[kind] !== undefined) text += pick(random, phrases[kind][language]);
      else if (harmless[kind] !== undefined) text += harmless[kind](random, style, language);
      else {
        const value = values.get(kind) ?? (makeValue[kind] as (random: Random) => Say)(random);
        values.set(kind, value);
        const form = value(style, from === undefined ? undefined : [Number(from), Number(to)]);
        const entry = planted.get(kind) ?? { kind: kind.replace(/-gb$/, ''), parts: [] };
        planted.set(kind, entry);
        entry.parts.push({ utterance, start: text.length, end: text.length + form.length });
        text += form;
      }
    }
    into.said.push({ speaker, text: text + source.slice(last) });
  }
  into.planted.push(...planted.values());
};

/** Talk without a number, so that values do not stand at the same distance each time. */
const smallTalk: Phrases = {
  fr: [
    'bonjour madame',
    '> bonjour que puis-je faire pour vous',
    'merci beaucoup',
    '> je vous en prie',
    "c'est bien aimable",
  ],
  en: ['good morning', '> hello how can I help', 'thank you so much', '> you are welcome', 'that is kind of you'],
};

/** A conversation with one value or two, and harmless numbers around them. */
export const converse = (talk: Talk, random: Random): Conversation => {
  const into = { said: [] as Said[], planted: [] as Planted[] };
  const chat = (language: 'fr' | 'en'): void => {
    for (let left = below(random, 3); left > 0; left -= 1) say(pick(random, smallTalk[language]), talk, random, into);
    if (random() < 0.7) say(pick(random, talk.harmless[language]), talk, random, into);
  };
  const first = pick(random, talk.values[pick(random, Object.keys(talk.values) as Kind[])]);
  const language = languageOf(first);
  chat(language);
  say(first, talk, random, into);
  chat(language);
  if (random() < 0.4) {
    say(pick(random, talk.values[pick(random, Object.keys(talk.values) as Kind[])]), talk, random, into);
    chat(language);
  }
  return into;
};
