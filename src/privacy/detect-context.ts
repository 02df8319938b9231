/** Finds values that only their context shows: card verification values, dates of birth. */
import { type Claims, findRuns, spansOf, textOf } from './detect-numbers.ts';
import type { Span } from './finding.ts';
import type { Piece, Spoken } from './read-pieces.ts';
import { setOf, toKey } from './read-text.ts';

/** Over text without accents. */
const contexts = {
  cvv: /[ck]rypto\w*|pictogramme|(?<!\[)\bcv[cv]\d?\b|(?:code|numero) de securite(?! sociale)|security (?:code|number)|verification (?:code|value|number)|(?:trois|3|quatre|4) (?:derniers )?chiffres|(?:three|3|four|4) (?:last )?digits|last (?:three|3|four|4) digits|dos de (?:la|ma|votre|sa) carte|derriere (?:la|ma|votre|sa) carte|back of (?:the|my|your) card/g,
  birth:
    /\bnee?s?\b|naissance|\bborn\b|date of birth|birth ?(?:day|date)|\bd\W?o\W?b\b|\bddn\b|anniversaire|\bje suis (?:du|de)\b/g,
};

/** A quick filter on raw text, wider than both. Text that it skips has no announcement. */
const announcement =
  /rypto|pictogr|cv[cv]|curit|chiffres|digits|rification|\bdos d|derri|back of|\bn[e\u00e9\u00c9][e\u00e9\u00c9]?s?(?![a-z\d_])|naissance|born|birth|d\W?o\W?b|\bddn|anniversaire|\bje suis d/i;

/** Whether words announce a card verification value or a date of birth. */
export const announces = (text: string): boolean => {
  if (!announcement.test(text)) return false;
  const stripped = stripAccents(text);
  return Object.values(contexts).some((context) => stripped.search(context) !== -1);
};

/** Utterances behind the question in which its answer is looked for. */
const answersWithin = 2;
/** Most characters between the announcement and the value, in one utterance. */
const reach = 60;

/** Lower case without accents, of the same length. */
const stripAccents = (text: string): string => {
  const key = toKey(text);
  return key.length === text.length
    ? key
    : [...text].map((char) => (char.length === 1 ? toKey(char).charAt(0) || ' ' : '  ')).join('');
};

type Announced = { readonly value: string; readonly spans: readonly Span[] };

const findCodes = (pieces: readonly Piece[]): Announced[] =>
  findRuns(pieces, 0)
    .filter((atoms) => /^\d{3,4}$/.test(textOf(atoms)))
    .map((atoms) => ({ value: textOf(atoms), spans: spansOf(atoms) }));

/** Claims the first value behind each mention: in the rest of its utterance, then in the beginnings of the next ones. */
export const claimAnnounced = (
  detector: keyof typeof contexts,
  spoken: readonly Spoken[],
  pieces: readonly (readonly Piece[])[],
  claims: Claims,
): void => {
  const find = detector === 'cvv' ? findCodes : findDates;
  const known = new Map<number, Heard>();
  const hear = (utterance: number): Heard => {
    const heard =
      known.get(utterance) ?? hearValues(detector, spoken[utterance]?.text ?? '', find(pieces[utterance] ?? []));
    known.set(utterance, heard);
    return heard;
  };
  const note = ([first]: readonly Span[]): void => {
    if (first !== undefined) hear(first.utterance).claimed[first.start] = 1;
  };
  for (const finding of claims.findings) if (finding.detector === detector) note(finding.spans);
  for (const [utterance, { text }] of spoken.entries()) {
    if (!announcement.test(text)) continue;
    // Accents are one character here: composed text keeps its offsets without them.
    for (const match of stripAccents(text).matchAll(contexts[detector])) {
      const end = match.index + match[0].length;
      const windows = Array.from({ length: 1 + answersWithin }, (_, behind) => ({
        heard: hear(utterance + behind),
        from: behind === 0 ? end : 0,
      }));
      if (windows.some(({ heard, from }) => isAnswered(heard, from))) continue;
      const value = windows.flatMap(({ heard, from }) => firstWithin(heard, from, claims) ?? [])[0];
      if (value === undefined) continue;
      claims.add({ detector, ...value });
      note(value.spans);
    }
  }
};

type Heard = ReturnType<typeof hearValues>;

/** Announcements and values in one utterance. */
const hearValues = (detector: string, text: string, values: readonly Announced[]) => ({
  values,
  /** Values before it stand before every further mention. */
  next: 0,
  /** Position of the last replaced value; -1 if there is none. */
  lastReplaced: text.lastIndexOf(`[${detector}]`),
  /** Characters at which a value of the kind begins: each mention announces one. */
  claimed: new Uint8Array(text.length),
});

const isAnswered = ({ lastReplaced, claimed }: Heard, from: number): boolean =>
  lastReplaced >= from || claimed.subarray(from, from + reach).includes(1);

const firstWithin = (heard: Heard, from: number, claims: Claims): Announced | undefined => {
  const startOf = (at: number): number => heard.values[at]?.spans[0]?.start ?? Number.POSITIVE_INFINITY;
  while (startOf(heard.next) < from) heard.next += 1;
  for (let at = heard.next; startOf(at) < from + reach; at += 1)
    if (claims.isFree((heard.values[at] as Announced).spans)) return heard.values[at];
  return undefined;
};

type Said = Exclude<Piece, { kind: 'turn' }>;

const months = setOf(
  `janvier january jan janv fevrier february feb fev fevr mars march mar avril april avr apr mai may juin june jun juillet july jul juil
   aout august aug septembre september sep sept octobre october oct novembre november nov decembre december dec`,
);
const unitOrdinals = setOf('first second third fourth fifth sixth seventh eighth ninth');
const otherOrdinals = setOf(
  `premier tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth`,
);
const between = setOf("of de du the le er ere st nd rd th in en and , . - / '");

/** "12/03/1985" and "1985-03-12" are one token. */
const written =
  /^(?:(?:[0-3]?\d\/[01]?\d|[01]?\d\/[0-3]?\d)\/(?:19|20)\d\d$|(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))/;

/** The search for dates runs over signs: digits of a number, or a letter for each kind of word. */
const signOf = (piece: Said): string => {
  if (piece.kind === 'number') return piece.text;
  if (piece.kind === 'mark') return 'x';
  const { key } = piece;
  if (months.has(key)) return 'M';
  if (unitOrdinals.has(key)) return 'u';
  return otherOrdinals.has(key) ? 'o' : written.test(key) ? 'W' : 'x';
};

/** Digits may be said one by one: a blank may stand between any two. */
const spaced = (digits: string): string => digits.replaceAll('_', ' ?');
const [day, day2, month, month2, year] = [
  '(?:[12]_\\d|3_[01]|(?:0_)?[1-9])',
  '(?:0_[1-9]|[12]_\\d|3_[01])',
  '(?:1_[0-2]|(?:0_)?[1-9])',
  '(?:0_[1-9]|1_[0-2])',
  '(?:(?:1_9|2_0)_\\d_\\d)',
].map(spaced) as [string, string, string, string, string];
const namedDay = '(?:(?:20|30) u|[ou]|0?[1-9]|[12]\\d|3[01])';
const dates = new RegExp(
  spaced(
    `(?<=^| )(?:W|(?:${namedDay} M|M ${namedDay}) (?:${year}|\\d\\d)|${year}_${month2}_${day2}|${day}_${month}_${year}|${month}_${day}_${year}|(?:${day2}_${month}|${day}_${month2})_\\d_\\d)(?= |$)`,
  ),
  'g',
);

/** @param pieces of one utterance. */
const findDates = (pieces: readonly Piece[]): Announced[] => {
  const said = pieces.filter(
    (piece): piece is Said => piece.kind !== 'turn' && !(piece.kind !== 'number' && between.has(piece.key)),
  );
  const signs = said.map(signOf).join(' ');
  const countWords = (text: string): number => text.split(' ').length;
  return [...signs.matchAll(dates)].map(({ 0: match, index }) => {
    const from = countWords(signs.slice(0, index)) - 1;
    const own = said.slice(from, from + countWords(match));
    return {
      value: own.map((piece) => (piece.kind === 'mark' ? piece.key : piece.text)).join(' '),
      spans: spansOf(own),
    };
  });
};
