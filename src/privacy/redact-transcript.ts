/** Replaces what was found in a transcript (interface §2.2): text and words alike, so that they still agree; timings stay. */
import { isObject } from '../calls/field-reader.ts';
import type { Redaction } from '../calls/redactions.ts';
import { type Finding, type Span, versionOf } from './finding.ts';
import type { Spoken } from './read-pieces.ts';

type Fields = Record<string, unknown>;

/** Stands for the further words of a value, whose first word holds what replaces it. */
const further = '…';

/** Words and digits may not stand between words and be lost: such text does not align. */
const isWordCharacter = /[\p{L}\p{N}]/u;

export interface Aligned extends Spoken {
  readonly utterance: Fields;
  readonly words: readonly unknown[] | undefined;
  /** False where text and words do not say the same. */
  readonly agrees: boolean;
}

const spokenBy = (word: unknown): unknown => (isObject(word) ? word.value : undefined);

/** Where each word stands in the text, or undefined where some do not, or the text says more. */
const alignWords = (text: string, words: readonly unknown[]): Place[] | undefined => {
  const places: Place[] = [];
  let at = 0;
  for (const word of words) {
    const value = spokenBy(word);
    if (typeof value !== 'string') return undefined;
    const start = text.indexOf(value, at);
    if (start === -1 || isWordCharacter.test(text.slice(at, start))) return undefined;
    at = start + value.length;
    places.push({ start, end: at });
  }
  return isWordCharacter.test(text.slice(at)) ? undefined : places;
};

/** Text is nearly always its words with blanks between them, which costs far less to see than their places. */
const isJoined = (text: string, words: readonly unknown[]): boolean => {
  let at = 0;
  for (const word of words) {
    const value = spokenBy(word);
    if (typeof value !== 'string') return false;
    if (at > 0) {
      if (text.charCodeAt(at) !== 0x20) return false;
      at += 1;
    }
    if (value === '' || !text.startsWith(value, at)) return false;
    at += value.length;
  }
  return at === text.length;
};

/** An utterance as it is looked at; where text and words differ, both. */
export const readUtterance = (item: unknown): Aligned => {
  const utterance = isObject(item) ? item : {};
  const speaker = typeof utterance.from === 'string' ? utterance.from : '';
  const words = Array.isArray(utterance.words) ? utterance.words : undefined;
  const content = typeof utterance.content === 'string' ? utterance.content : undefined;
  if (words === undefined || words.length === 0)
    return { utterance, speaker, words, text: content ?? '', agrees: true };
  if (content !== undefined && isJoined(content, words))
    return { utterance, speaker, words, text: content, agrees: true };
  const joined = words.map((word) => String(spokenBy(word) ?? '')).join(' ');
  if (content === undefined) return { utterance, speaker, words, text: joined, agrees: true };
  const agrees = alignWords(content, words) !== undefined;
  return { utterance, speaker, words, text: agrees ? content : `${content}\n${joined}`, agrees };
};

export interface OpenTranscript {
  readonly spoken: readonly Spoken[];
  /**
   * The utterances with findings replaced, and where; `undefined` when there are none.
   * @param replace what stands for a finding.
   */
  redact(
    findings: readonly Finding[],
    replace: (finding: Finding) => string,
  ): { readonly callData: unknown[]; readonly redactions: readonly Redaction[] } | undefined;
}

/** @param callData the list of utterances; anything else has none. */
export const openTranscript = (callData: unknown): OpenTranscript => {
  const items: readonly unknown[] = Array.isArray(callData) ? callData : [];
  const utterances = items.map(readUtterance);
  return {
    spoken: utterances,
    redact(findings, replace) {
      if (findings.length === 0) return undefined;
      const callData = [...items];
      const redacted = redactUtterances(findings, replace, (index) => utterances[index] as Aligned);
      for (const [index, utterance] of redacted.utterances) callData[index] = utterance;
      return { callData, redactions: redacted.redactions };
    },
  };
};

export interface RedactedUtterances {
  /** Those in which something was found, by index, with it replaced. */
  readonly utterances: ReadonlyMap<number, Fields>;
  /** One of each span that was replaced. */
  readonly redactions: readonly Redaction[];
}

/**
 * Replaces what was found in the utterances that it was found in.
 * @param replace what stands for a finding.
 * @param read an utterance by its index.
 */
export const redactUtterances = (
  findings: readonly Finding[],
  replace: (finding: Finding) => string,
  read: (index: number) => Aligned,
): RedactedUtterances => {
  const byUtterance = new Map<number, FoundSpan[]>();
  for (const finding of findings) {
    const label = replace(finding);
    for (const [part, span] of finding.spans.entries()) {
      const own = byUtterance.get(span.utterance) ?? [];
      byUtterance.set(span.utterance, own);
      own.push({ ...span, label: part === 0 ? label : further, detector: finding.detector });
    }
  }
  const utterances = new Map<number, Fields>();
  const redactions: Redaction[] = [];
  for (const [index, spans] of byUtterance) {
    const aligned = read(index);
    const places = placesOf(aligned);
    utterances.set(index, redactUtterance(aligned, places, spans));
    for (const span of spans) redactions.push(...markSpan(span, places));
  }
  return { utterances, redactions };
};

interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly label: string;
}

interface FoundSpan extends Replacement, Span {
  readonly detector: string;
}

type Place = Omit<Span, 'utterance'>;

/** Where each word stands in the text; undefined where there are no words, or nothing tells which of them are meant. */
const placesOf = ({ words, text, agrees }: Aligned): readonly Place[] | undefined =>
  words === undefined || words.length === 0 || !agrees ? undefined : alignWords(text, words);

const isCovered = (place: Place, { start, end }: Place): boolean => place.start < end && place.end > start;

const markSpan = (span: FoundSpan, places: readonly Place[] | undefined): Redaction[] => {
  const { utterance, detector } = span;
  if (places === undefined) return [[utterance, null, null, detector, versionOf(detector)]];
  const first = places.findIndex((place) => isCovered(place, span));
  const last = places.findLastIndex((place) => isCovered(place, span));
  return first === -1 ? [] : [[utterance, first, last, detector, versionOf(detector)]];
};

/** @param places as of `placesOf`. */
const redactUtterance = (
  { utterance, words, text }: Aligned,
  places: readonly Place[] | undefined,
  replacements: readonly Replacement[],
): Fields => {
  if (words === undefined || words.length === 0) return { ...utterance, content: replaceText(text, replacements) };
  const labels = new Map<number, string>();
  if (places === undefined) {
    // Nothing tells which words are meant.
    for (const [index] of words.entries())
      labels.set(index, index === 0 ? (replacements[0] as Replacement).label : further);
  } else {
    for (const replacement of replacements) {
      let isFirst = true;
      for (const [index, place] of places.entries()) {
        if (!isCovered(place, replacement) || labels.has(index)) continue;
        labels.set(index, isFirst ? replacement.label : further);
        isFirst = false;
      }
    }
  }
  const redacted = words.map((word, index) => {
    const label = labels.get(index);
    return label === undefined ? word : relabel(word, label);
  });
  if (typeof utterance.content !== 'string') return { ...utterance, words: redacted };
  const parts = places?.flatMap((place, index) => {
    const label = labels.get(index);
    return label === undefined ? [] : [{ ...place, label }];
  });
  const content = parts === undefined ? redacted.map(spokenBy).join(' ') : replaceText(text, parts);
  return { ...utterance, words: redacted, content };
};

/** Other text of a word, such as another spelling of it, goes with its value. */
const relabel = (word: unknown, label: string): Fields => {
  const entries = Object.entries(isObject(word) ? word : {}).map(([name, value]) => [
    name,
    name === 'value' ? label : typeof value === 'string' ? further : value,
  ]);
  return { ...Object.fromEntries(entries), value: label };
};

/** @param replacements may overlap; the first of those that do counts. */
export const replaceText = (text: string, replacements: readonly Replacement[]): string => {
  let result = '';
  let at = 0;
  for (const { start, end, label } of [...replacements].sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    result += text.slice(at, start) + label;
    at = end;
  }
  return result + text.slice(at);
};
