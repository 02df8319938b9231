/**
 * Words of one language, lower case without accents; a word with accents matches only itself. Phrases are parted by
 * commas; `*` is any ending, `_` any word. Signs within a phrase do not count.
 */
export interface Language {
  readonly name: string;
  /** Countries whose callers say numbers so. */
  readonly countries: string;
  /** Number words, each list from its first value on; hyphens part the words of one number. */
  readonly units: readonly (readonly [first: number, words: string])[];
  /** From ten to ten. */
  readonly tens: readonly (readonly [first: number, words: string])[];
  /** Tens behind which numbers go on to nineteen. */
  readonly longTens: string;
  /** Word between a ten and these units. */
  readonly joint: readonly [word: string, units: string];
  readonly hundreds: string;
  /** A hundred that needs no number before it. */
  readonly loneHundred: string;
  /** Between hundreds and the rest. */
  readonly and: string;
  readonly thousands: string;
  /** Letters and words that are a zero between digits. */
  readonly zeros: string;
  /** Twice the next digit, three times the next digit. */
  readonly repeats: readonly [twice: string, thrice: string];
  /** "two times 33" */
  readonly times: string;
  /** Words behind a number that make it an amount, a measure or a count. */
  readonly quantities: string;
  /** Words between hours and minutes. */
  readonly clock: string;
  /** Words between the parts of a number that do not end it. */
  readonly fillers: string;
  /** Phrases that do not end it either. */
  readonly hesitations: string;
  /** With them a speaker takes the last part back. */
  readonly corrections: string;
  /** Signs of an address as they are said; `@` only those that mean nothing else. */
  readonly signs: { readonly '@': string; readonly '.': string; readonly '-': string; readonly _: string };
  /** Between a letter and a name that begins with it. */
  readonly spelledLike: string;
  /** Names of letters that are said instead of them. */
  readonly alphabet: string;
  /** Words before an address that are no part of it. */
  readonly beforeAddress: string;
  /** Words that announce an address. */
  readonly announcesAddress: string;
  /** Hosts in several words. */
  readonly hosts: Readonly<Record<string, string>>;
  readonly months: string;
  /** Ordinal numbers of days below ten, and the others that are one word. */
  readonly ordinals: readonly [units: string, others: string];
  /** Between the parts of a date. */
  readonly betweenDates: string;
  /** Words that announce a value of each kind; `other` numbers are nobody's. */
  readonly announces: Readonly<Record<Announced, string>>;
  /** Words of a contact's name that name nobody. */
  readonly titles: string;
  /** Phrases before a name. */
  readonly beforeNames: string;
  /** Words that stand before nouns, and never before a name. */
  readonly articles: string;
  /** Names that are said as ordinary words far more often. */
  readonly ordinaryNames: string;
}

/** Kinds of values that words announce. */
export type Announced = 'phone' | 'card' | 'iban' | 'account' | 'nir' | 'cvv' | 'birth' | 'expiry' | 'last4' | 'other';
