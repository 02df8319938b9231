/**
 * Replaces findings in a transcript (interface §2.2), in text and words alike; timings stay. The transcript lists the
 * replacements of this and earlier passes.
 */

import { compareRedactions, type Redaction, readRedactions } from '../calls/own-fields.ts';
import { isObject } from '../lib/parse-json.ts';
import { type Finding, type Span, versionOf } from './finding.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Replaces the further words of a value; the first word has the replacement. */
const further = '…';

/** Words and digits may not stand between words and be lost: such text does not align. */
const isWordCharacter = /[\p{L}\p{N}]/u;

const spokenBy = (word: unknown): unknown => (isObject(word) ? word.value : undefined);

type Place = Omit<Span, 'utterance'>;

/** Where each word stands in the text, or undefined where some do not, or the text says more. */
const alignWords = (text: string, words: readonly unknown[]): Place[] | undefined => {
  const places: Place[] = [];
  let at = 0;
  for (const word of words) {
    const value = spokenBy(word);
    if (typeof value !== 'string') return undefined;
    const start = text.indexOf(value, at);
    const between = text.slice(at, start);
    if (start === -1 || (between !== ' ' && isWordCharacter.test(between))) return undefined;
    at = start + value.length;
    places.push({ start, end: at });
  }
  return isWordCharacter.test(text.slice(at)) ? undefined : places;
};

/** An utterance as it is looked at. If text and words do not say the same (`agrees`), the text has both. */
const readUtterance = (item: unknown) => {
  const fields: Fields = isObject(item) ? item : {};
  const speaker = typeof fields.from === 'string' ? fields.from : '';
  const words: readonly unknown[] = Array.isArray(fields.words) ? fields.words : [];
  const content = typeof fields.content === 'string' ? fields.content : undefined;
  const agrees = words.length === 0 || content === undefined || alignWords(content, words) !== undefined;
  const listen = (): string => words.map((word) => String(spokenBy(word) ?? '')).join(' ');
  return { fields, speaker, words, text: agrees ? (content ?? listen()) : `${content}\n${listen()}`, agrees };
};
type Utterance = ReturnType<typeof readUtterance>;

/** @param callData the list of utterances; anything else has none. */
export const readUtterances = (callData: unknown) => (Array.isArray(callData) ? callData.map(readUtterance) : []);

/**
 * Replaces the findings in their utterances. Other utterances stay the same objects.
 * @param label replacement of a finding
 * @returns also one redaction of each span that was replaced.
 */
export const replaceFindings = (
  utterances: readonly Utterance[],
  findings: readonly Finding[],
  label: (finding: Finding) => string,
) => {
  const byUtterance = new Map<number, Replacement[]>();
  for (const finding of findings) {
    const { detector, spans } = finding;
    let text = label(finding);
    for (const { utterance, start, end } of spans) {
      byUtterance.set(utterance, [...(byUtterance.get(utterance) ?? []), { start, end, label: text, detector }]);
      text = further;
    }
  }
  const replaced = [...utterances];
  const redactions: Redaction[] = [];
  for (const [index, spans] of byUtterance) {
    const own = replaceInUtterance(utterances[index] as Utterance, spans);
    replaced[index] = readUtterance(own.fields);
    for (const [first, last, detector] of own.places)
      redactions.push([index, first, last, detector, versionOf(detector)]);
  }
  return { utterances: replaced, redactions };
};

interface Replacement extends Place {
  readonly label: string;
  readonly detector: string;
}

/** An utterance with its replacements, and which words each covers: null where it has none, or nothing tells which are meant. */
const replaceInUtterance = ({ fields, words, text, agrees }: Utterance, unsorted: readonly Replacement[]) => {
  const replacements = [...unsorted].sort((a, b) => a.start - b.start);
  const unplaced = replacements.map(({ detector }) => [null, null, detector] as const);
  if (words.length === 0) return { fields: { ...fields, content: replaceText(text, replacements) }, places: unplaced };
  const places = agrees ? alignWords(text, words) : undefined;
  if (places === undefined) {
    const redacted = words.map((word, index) => relabel(word, index === 0 ? (replacements[0]?.label ?? '') : further));
    const content = typeof fields.content === 'string' ? { content: redacted.map(spokenBy).join(' ') } : {};
    return { fields: { ...fields, words: redacted, ...content }, places: unplaced };
  }
  const labels = new Map<number, string>();
  const covered: [number, number, string][] = [];
  let first = 0;
  for (const { start, end, label, detector } of replacements) {
    while (first < places.length && (places[first] as Place).end <= start) first += 1;
    let last = first;
    let next = label;
    for (; last < places.length && (places[last] as Place).start < end; last += 1) {
      if (labels.has(last)) continue;
      labels.set(last, next);
      next = further;
    }
    if (last > first) covered.push([first, last - 1, detector]);
  }
  const redacted = words.map((word, index) => {
    const label = labels.get(index);
    return label === undefined ? word : relabel(word, label);
  });
  const parts = [...labels].map(([index, label]) => ({ ...(places[index] as Place), label }));
  const content = typeof fields.content === 'string' ? { content: replaceText(text, parts) } : {};
  return { fields: { ...fields, words: redacted, ...content }, places: covered };
};

/** Other text of a word, such as another spelling of it, goes with its value. */
const relabel = (word: unknown, label: string): Fields => {
  const sent = Object.entries(isObject(word) ? word : {});
  const others = sent.map(([name, value]) => [name, typeof value === 'string' ? further : value]);
  return { ...Object.fromEntries(others), value: label };
};

/** @param replacements in order, without overlaps. */
const replaceText = (text: string, replacements: readonly (Place & { readonly label: string })[]): string => {
  let result = '';
  let at = 0;
  for (const { start, end, label } of replacements) {
    result += text.slice(at, start) + label;
    at = end;
  }
  return result + text.slice(at);
};

/**
 * The list after this pass; undefined if empty. Keeps only entries that an earlier pass can have written, so that the
 * list carries nothing past the rules.
 * @param held earlier list of the transcript: anything, for a sender may have written it.
 * @param patterns names of the configured ones.
 */
export const listRedactions = (
  held: unknown,
  added: readonly Redaction[],
  utterances: readonly Utterance[],
  patterns: readonly string[],
): readonly Redaction[] | undefined => {
  const isKnown = (detector: string, version: number | null): boolean => {
    const present = versionOf(detector);
    return version === null ? patterns.includes(detector) : present !== null && version <= present;
  };
  const mostWords = ({ fields, words }: Utterance): number => (Array.isArray(fields.words) ? words.length : Infinity);
  const kept = readRedactions(held).filter(([index, , last, detector, version]) => {
    const utterance = utterances[index];
    return utterance !== undefined && (last === null || last < mostWords(utterance)) && isKnown(detector, version);
  });
  const all = [...kept, ...added].sort(compareRedactions);
  return all.length === 0 ? undefined : all;
};
