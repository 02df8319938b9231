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
}

const anyEnding = '*';
/** Letters by which phrases whose first word has any ending are looked up. */
const stemLetters = 2;

/** Phrases of a list, as their words. */
export const splitPhrases = (phrases: string): readonly (readonly string[])[] =>
  phrases.split(',').flatMap((phrase) => (phrase.trim() === '' ? [] : [phrase.trim().split(/\s+/)]));

/**
 * @param lists phrases, and what each of them means.
 * @returns the meaning and the length of the longest phrase that begins at a word.
 */
export const compilePhrases = <T>(lists: readonly (readonly [phrases: string, meaning: T])[]) => {
  interface Phrase {
    readonly words: readonly string[];
    readonly length: number;
    readonly meaning: T;
  }
  const [byWord, byStem] = [new Map<string, Phrase[]>(), new Map<string, Phrase[]>()];
  for (const [phrases, meaning] of lists) {
    for (const words of splitPhrases(phrases)) {
      const [first = ''] = words;
      const [known, key] = first.endsWith(anyEnding) ? [byStem, first.slice(0, stemLetters)] : [byWord, toKey(first)];
      known.set(key, [...(known.get(key) ?? []), { words, length: words.length, meaning }]);
      known.get(key)?.sort((one, other) => other.length - one.length);
    }
  }
  const fits = (own: string, word: Word | undefined): boolean =>
    word !== undefined &&
    (own === word.key ||
      own === '_' ||
      (own.endsWith(anyEnding) && word.key.startsWith(own.slice(0, -1))) ||
      own === word.text?.toLowerCase());
  return (words: readonly Word[], at: number): Phrase | undefined => {
    const key = words[at]?.key ?? '';
    const isFitting = (phrase: Phrase) => phrase.words.every((own, index) => fits(own, words[at + index]));
    return byWord.get(key)?.find(isFitting) ?? byStem.get(key.slice(0, stemLetters))?.find(isFitting);
  };
};

/** Phrases of all languages with one meaning. */
export const phrasesOf = (list: (language: Language) => string) =>
  compilePhrases(languages.map((language) => [list(language), true] as const));
