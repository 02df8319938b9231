/** Words by which people say and announce values, by language. */
import { english } from './languages/en.ts';
import { french } from './languages/fr.ts';
import type { Language } from './languages/language.ts';
import { toKey } from './read-text.ts';

/** A language is one file; its words are known wherever callsync runs. */
export const languages: readonly Language[] = [french, english];

/** Words of all languages. */
export const wordsOf = (list: (language: Language) => string): ReadonlySet<string> =>
  new Set(languages.flatMap((language) => list(language).split(/\s+/).filter(Boolean)));

interface Word {
  /** Lower case without accents. */
  readonly key: string;
  readonly text?: string;
  readonly kind?: string;
}

const anyEnding = '*';
/** Letters by which phrases whose first word has any ending are looked up. */
const stemLetters = 2;

/** Phrases of a list, as their words. */
export const splitPhrases = (phrases: string): readonly (readonly string[])[] =>
  phrases.split(',').flatMap((phrase) => (phrase.trim() === '' ? [] : [phrase.trim().split(/\s+/)]));

const isFitting = (own: string, { key, text }: Word): boolean =>
  own === key ||
  own === '_' ||
  (own.endsWith(anyEnding) && key.startsWith(own.slice(0, -1))) ||
  own === text?.toLowerCase();

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

/**
 * @param lists phrases, and what each of them means.
 * @returns the meaning and the end of the longest phrase that begins at a word.
 */
export const compilePhrases = <T>(lists: readonly (readonly [phrases: string, meaning: T])[]) => {
  type Phrases = readonly (readonly [words: readonly string[], meaning: T])[];
  const [byWord, byStem] = [new Map<string, Phrases>(), new Map<string, Phrases>()];
  for (const [phrases, meaning] of lists) {
    for (const words of splitPhrases(phrases)) {
      const [first = ''] = words;
      const [known, key] = first.endsWith(anyEnding) ? [byStem, first.slice(0, stemLetters)] : [byWord, toKey(first)];
      const own = [...(known.get(key) ?? []), [words, meaning] as const];
      known.set(
        key,
        own.sort(([one], [other]) => other.length - one.length),
      );
    }
  }
  type Found = { readonly meaning: T; readonly end: number };
  const find = (among: Phrases | undefined, words: readonly Word[], at: number): Found | undefined => {
    for (const [phrase, meaning] of among ?? []) {
      const end = endOf(phrase, words, at);
      if (end !== undefined) return { meaning, end };
    }
    return undefined;
  };
  return (words: readonly Word[], at: number): Found | undefined => {
    const key = words[at]?.key ?? '';
    return find(byWord.get(key), words, at) ?? find(byStem.get(key.slice(0, stemLetters)), words, at);
  };
};

/** Phrases of all languages with one meaning. */
export const phrasesOf = (list: (language: Language) => string) =>
  compilePhrases(languages.map((language) => [list(language), true] as const));
