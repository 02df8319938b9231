/** Words by which people say and announce values, by language. */
import { readdirSync, readFileSync } from 'node:fs';
import { readYaml } from '../lib/read-yaml.ts';
import type { DetectorName } from './finding.ts';
import { type Token, toKey } from './read-text.ts';

/** Kinds of values that words announce; `other` numbers are nobody's. */
export type Announced = Exclude<DetectorName, 'email'> | 'other';

const folder = new URL('./languages/', import.meta.url);
/** A language is one file; its words are known wherever callsync runs. `fr.yaml` says what each list holds. */
export const languages = readdirSync(folder)
  .sort()
  .map((file) => readYaml(readFileSync(new URL(file, folder), 'utf8'), file) as Readonly<Record<string, unknown>>);

/** Phrases of a list in all languages, with their meanings: the name of the list where it has no others. */
export const listPhrases = (name: string): readonly (readonly [phrase: readonly string[], meaning: string])[] =>
  languages.flatMap(({ [name]: list = {} }) =>
    Object.entries(typeof list === 'string' ? { [name]: list } : (list as object)).flatMap(([meaning, phrases]) =>
      String(phrases)
        .split(', ')
        .map((phrase) => [phrase.split(' '), meaning] as const),
    ),
  );

/** Words of all languages. */
export const wordsOf = (name: string): ReadonlySet<string> => new Set(listPhrases(name).flatMap(([words]) => words));

/** A word, as far as its phrases need it. */
type Word = Pick<Token, 'key'> & Partial<Pick<Token, 'text'>> & { readonly kind?: string };

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

/** A search for phrases of lists: the meaning and the end of the longest one that begins at a word. */
export const phrasesOf = (...names: readonly string[]) => {
  const phrases = names.flatMap(listPhrases);
  const known = new Map<string, (typeof phrases)[number][]>();
  for (const entry of [...phrases].sort(([one], [other]) => other.length - one.length)) {
    const [first = ''] = entry[0];
    const key = first.endsWith('*') ? first.slice(0, stemLetters) : toKey(first);
    known.set(key, [...(known.get(key) ?? []), entry]);
  }
  const find = (key: string, words: readonly Word[], at: number) => {
    const entries = known.get(key);
    if (entries === undefined) return undefined;
    for (const [phrase, meaning] of entries) {
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
