/** The expected findings of a search in random calls: each utterance is read word by word, without any index. */
import type pg from 'pg';
import { randomStream } from '../../../src/simulator/calls/random.ts';

type Language = 'fr' | 'en';

const stemmers = { fr: 'french_stem', en: 'english_stem' } as const;
const words = `facture factures contrat résilier résilié annulée élève problème problem problems bill cancelled invoice
  le la là de du dû à pas sûr sur the with a my will willing`.split(/\s+/);

export const createRandom = (seed: number) => {
  const random = randomStream(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const word = (): string => {
    const one = words[below(words.length)] ?? '';
    return random() < 0.2 ? one.toUpperCase() : one;
  };
  const some = (most: number): readonly string[] => Array.from({ length: 1 + below(most) }, word);
  return { random, below, some, lang: (): Language => (random() < 0.6 ? 'fr' : 'en') };
};
type Random = ReturnType<typeof createRandom>;

export const makeSayings = ({ below, some, lang }: Random, calls: number) =>
  Array.from({ length: calls }, (_, at) => ({
    callId: `c${String(at).padStart(3, '0')}`,
    lang: lang(),
    /** Side and words of each utterance. */
    says: Array.from({ length: 1 + below(8) }, () => [below(2) === 0 ? 'out' : 'in', some(7)] as const),
  }));

/** Words, phrases and excluded phrases, and one of two such searches. */
export const makeQuestion = ({ random, below, some }: Random) =>
  Array.from({ length: random() < 0.2 ? 2 : 1 }, () => ({
    words: random() < 0.3 ? some(2) : [],
    phrases: Array.from({ length: 1 + Number(random() < 0.15) }, () => some(4)),
    excludedPhrases: random() < 0.3 ? [some(1 + below(3))] : [],
  }));

type Question = ReturnType<typeof makeQuestion>;

export const writeQuestion = (question: Question): string =>
  question
    .map(({ words: outside, phrases, excludedPhrases }) => {
      const [said, excluded] = [phrases, excludedPhrases].map((all) => all.map((phrase) => `"${phrase.join(' ')}"`));
      return [...outside, ...(said ?? []), ...(excluded ?? []).map((phrase) => `-${phrase}`)].join(' ');
    })
    .join(' or ');

export const createTruth = async (client: pg.Client, sayings: ReturnType<typeof makeSayings>) => {
  const readings = new Map<string, readonly string[]>();
  for (const [lang, stemmer] of Object.entries(stemmers)) {
    const { rows } = await client.query<{ word: string; stems: string[]; plain_stems: string[] }>(
      `SELECT word, ts_lexize($1::regdictionary, word) AS stems, ts_lexize($1::regdictionary, plain) AS plain_stems
         FROM unnest($2::text[], $3::text[]) AS t(word, plain)`,
      [stemmer, words, words.map(withoutAccents)],
    );
    for (const { word, stems, plain_stems: plainStems } of rows) {
      // Stop words are no other words, but those with accents may be typed without them.
      const read = stems.length > 0 ? stems : [`${stopMark}${word}`];
      readings.set(`${lang} ${word}`, [...new Set([...read, ...plainStems])]);
    }
  }
  const readingsOf = (lang: Language, word: string) => readings.get(`${lang} ${word.toLowerCase()}`) ?? [];
  /** Of a stop word, that reading alone. */
  const spell = (lang: Language, typed: readonly string[]): Spelled =>
    typed.map((word) => {
      const read = readingsOf(lang, word);
      return isStop(read) ? read.slice(0, 1) : read;
    });
  const spelled = sayings.map(({ callId, lang, says }) => {
    const read = (spoken: readonly string[]) => spoken.map((word) => readingsOf(lang, word));
    return { callId, lang, utterances: says.map(([side, spoken], index) => ({ side, index, words: read(spoken) })) };
  });
  return {
    /** Calls to find, and for each the utterances that may be shown. */
    find: (question: Question) => {
      const found = new Map<string, Set<number>>();
      for (const { callId, lang, utterances } of spelled) {
        const alternatives = question.map((alternative) => {
          const phrases = alternative.phrases.map((phrase) => spell(lang, phrase));
          const outside = alternative.words.map((word) => spell(lang, [word])).filter(([word]) => !isStop(word));
          const excluded = alternative.excludedPhrases.map((phrase) => spell(lang, phrase));
          return { wanted: [...phrases, ...outside], excluded };
        });
        for (const side of ['out', 'in']) {
          const mine = utterances.filter((utterance) => utterance.side === side);
          const isSaid = (phrase: Spelled) => mine.some(({ words }) => isAmong(words, phrase));
          if (!alternatives.some(({ wanted, excluded }) => wanted.every(isSaid) && !excluded.some(isSaid))) continue;
          const having = mine.filter(({ words }) =>
            alternatives.some(({ wanted }) => wanted.some((one) => isAmong(words, one))),
          );
          found.set(callId, new Set([...(found.get(callId) ?? []), ...having.map(({ index }) => index)]));
        }
      }
      return found;
    },
  };
};

/** The readings of each word. */
type Spelled = readonly (readonly string[])[];

const stopMark = '^';
const isStop = (readings: readonly string[] | undefined): boolean => readings?.[0]?.startsWith(stopMark) === true;
const isAmong = (said: Spelled, phrase: Spelled): boolean =>
  said.some((_, at) => phrase.every((word, offset) => word.some((reading) => said[at + offset]?.includes(reading))));
const withoutAccents = (text: string): string => text.normalize('NFD').replaceAll(/\p{M}/gu, '');
