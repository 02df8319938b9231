/** Words by which people say and announce values, by language. */
import { english } from './languages/en.ts';
import { french, type Language } from './languages/fr.ts';
import { toKey } from './read-text.ts';

/** A language is one file; its words are known wherever callsync runs. */
export const languages: readonly Language[] = [french, english];

type List = Exclude<keyof Language, 'announces'>;

/** Words of all languages. */
export const wordsOf = (list: List): ReadonlySet<string> =>
  new Set(languages.flatMap((language) => language[list].split(/\s+/).filter(Boolean)));

/** Phrases of a list, as their words. */
export const splitPhrases = (phrases: string): readonly (readonly string[])[] =>
  phrases.split(',').flatMap((phrase) => (phrase.trim() === '' ? [] : [phrase.trim().split(/\s+/)]));

/** Lists of all languages in the form "meaning = phrases; meaning = phrases". */
export const meaningsOf = (list: List): readonly (readonly [phrases: string, meaning: string])[] =>
  languages.flatMap((language) =>
    language[list].split(';').map((part) => {
      const [meaning = '', phrases = ''] = part.split('=');
      return [phrases, meaning.trim()] as const;
    }),
  );

interface Word {
  /** Lower case without accents. */
  readonly key: string;
  readonly text?: string;
  readonly kind?: string;
}

const isFitting = (own: string, { key, text }: Word): boolean =>
  own === key || own === '_' || (own.endsWith('*') && key.startsWith(own.slice(0, -1))) || own === text?.toLowerCase();

/** Index behind a phrase that begins at a word. */
const endOf = (phrase: readonly string[], words: readonly Word[], at: number): number | undefined => {
  let to = at;
  for (const own of phrase) {
    while (to > at && words[to]?.kind === 'mark') to += 1;
    const word = words[to];
    if (word === undefined || !isFitting(own, word)) return undefined;
    to += 1;
  }
  return to;
};

/** Letters by which phrases whose first word has any ending are looked up. */
const stemLetters = 2;

/**
 * @param lists phrases, and what each of them means.
 * @returns the meaning and the end of the longest phrase that begins at a word.
 */
export const compilePhrases = <T>(lists: readonly (readonly [phrases: string, meaning: T])[]) => {
  const known = new Map<string, (readonly [words: readonly string[], meaning: T])[]>();
  for (const [phrases, meaning] of lists) {
    for (const words of splitPhrases(phrases)) {
      const [first = ''] = words;
      const key = first.endsWith('*') ? first.slice(0, stemLetters) : toKey(first);
      known.set(
        key,
        [...(known.get(key) ?? []), [words, meaning] as const].sort(([one], [other]) => other.length - one.length),
      );
    }
  }
  const find = (key: string, words: readonly Word[], at: number) => {
    for (const [phrase, meaning] of known.get(key) ?? []) {
      const end = endOf(phrase, words, at);
      if (end !== undefined) return { meaning, end };
    }
    return undefined;
  };
  return (words: readonly Word[], at: number) => {
    const key = words[at]?.key ?? '';
    return find(key, words, at) ?? find(key.slice(0, stemLetters), words, at);
  };
};

/** Phrases of all languages. */
export const phrasesOf = (...lists: readonly List[]) =>
  compilePhrases(lists.flatMap((list) => languages.map((language) => [language[list], list] as const)));
