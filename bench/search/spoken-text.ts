/**
 * Words of the calls in the bench of searching, and the searches. The words are the bench's own, frequent as in speech:
 * each is half as frequent as a word of half its rank. Between them stand real stop words, which the search reads
 * apart.
 */

export type Language = 'fr' | 'en';

let seed = 7;
const random = (): number => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};
const ranks = 20_000;
/** By rank; frequency falls as 1 / rank. */
const randomRank = (most = ranks): number => Math.floor(Math.exp(random() * Math.log(most + 1))) - 1;
const below = (most: number): number => Math.floor(random() * most);
const syllables = 'ba cé di fou gra hé jo ka lè mo nu pré ri sa té vou xi zo chan plo'.split(' ');
/** A word of its own for each rank. */
const wordOf = (rank: number): string => {
  let text = '';
  for (let left = rank + 20; left > 0; left = Math.floor(left / 20)) text += syllables[left % 20];
  return text;
};

/** Most frequent first. */
const stopWords = {
  fr: `de la le et les des en un du une que est pour qui dans a par pas au sur ne se ce il je vous nous on mais ou avec son
    sa ses même mon ma votre notre cette était à elle ils ai avez lui leur aux y été`.split(/\s+/),
  en: `the to and of a in is it you that i for on are with be at this have from or by not but what we your can my if do will
    so me all they about an was no when there which his our their more has been were`.split(/\s+/),
} as const;
const stopWord = (language: Language, most: number): string => stopWords[language][below(most)] ?? '';

/** 12 words; before three of ten stand one to three stop words. */
const sentence = (language: Language): string =>
  Array.from({ length: 12 }, () => {
    const before = random() < 0.3 ? Array.from({ length: 1 + below(3) }, () => spokenStopWord(language)) : [];
    return [...before, wordOf(randomRank())].join(' ');
  }).join(' ');
const spokenStopWord = (language: Language): string =>
  stopWords[language][randomRank(stopWords[language].length)] ?? '';

/** 40 utterances of both sides in turn, with 480 words and about 290 stop words. */
export const speak = (language: Language): readonly { readonly from: string; readonly content: string; words: [] }[] =>
  Array.from({ length: 40 }, (_, at) => ({
    from: at % 2 === 0 ? 'out' : 'in',
    content: sentence(language),
    words: [],
  }));

const frequent = (): string => wordOf(below(20));
const rare = (): string => wordOf(10_000 + below(10_000));
const ofThe = (language: Language = 'fr'): string => stopWord(language, 8);

/** The searches; each kind as often as the others. */
export const kinds: Readonly<Record<string, () => string>> = {
  'a word of the 20 most frequent': frequent,
  'a word': () => wordOf(randomRank()),
  'a rare word': rare,
  'a word that nobody says': () => `q${wordOf(randomRank())}`,
  'two words': () => `${wordOf(randomRank())} ${wordOf(randomRank())}`,
  'a phrase of frequent words': () => `"${wordOf(below(40))} ${wordOf(below(40))}"`,
  'a phrase': () => `"${wordOf(below(400))} ${wordOf(below(400))}"`,
  'a frequent word but not another': () => `${frequent()} -${wordOf(randomRank())}`,
  'stop word, frequent word': () => `"${ofThe()} ${frequent()}"`,
  'stop word, word': () => `"${ofThe()} ${wordOf(randomRank())}"`,
  'stop word, rare word': () => `"${ofThe()} ${rare()}"`,
  'stop word, word, in English': () => `"${ofThe('en')} ${wordOf(randomRank())}"`,
  'word, stop word, word': () => `"${wordOf(below(400))} ${ofThe()} ${wordOf(below(400))}"`,
  'two stop words, frequent word': () => `"${ofThe()} ${ofThe()} ${frequent()}"`,
  'two stop words': () => `"${ofThe()} ${ofThe()}"`,
  'rarer stop words': () => `"${stopWord('fr', 50)} ${stopWord('fr', 50)}"`,
  'one such phrase or another': () => `"${ofThe()} ${wordOf(randomRank())}" or "${ofThe()} ${wordOf(randomRank())}"`,
  'a word and such a phrase': () => `${wordOf(randomRank())} "${ofThe()} ${wordOf(below(400))}"`,
  'a word but no such phrase': () => `${wordOf(randomRank())} -"${ofThe()} ${wordOf(below(400))}"`,
};
