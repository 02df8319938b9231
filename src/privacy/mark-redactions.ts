/** The list of what was replaced in a transcript, as it is kept in it: what this pass replaced, and what earlier ones did. */
import { isObject } from '../calls/field-reader.ts';
import { compareRedactions, type Redaction, readRedactions, redactionsField } from '../calls/redactions.ts';
import { versionOf } from './finding.ts';
import type { RuleNode } from './rules.ts';
import type { SanitizeOptions } from './sanitize-value.ts';

export interface MarkedTranscript {
  /** What the transcript held of the list before: anything, for a sender may have written it. */
  readonly held: unknown;
  readonly added: readonly Redaction[];
  /** The utterances. */
  readonly count: number;
  /** Words of one of them; undefined where it has no list of words. */
  readonly countWords: (utterance: number) => number | undefined;
}

/**
 * The list after this pass; undefined where it is empty and not kept. Of what came with the transcript only entries stay that an
 * earlier pass can have written, so that the list cannot carry anything else past the rules.
 * @param node of the transcript.
 */
export const markRedactions = (
  { held, added, count, countWords }: MarkedTranscript,
  node: RuleNode,
  { patterns }: Pick<SanitizeOptions, 'patterns'>,
): readonly Redaction[] | undefined => {
  if (node.child(redactionsField).action === 'drop') return undefined;
  const isKnown = (detector: string, version: number | null): boolean => {
    const present = versionOf(detector);
    if (version === null) return patterns.some(({ name }) => name === detector);
    return present !== null && version <= present;
  };
  const kept = readRedactions(held).filter(
    ([utterance, , last, detector, version]) =>
      utterance < count &&
      (last === null || last < (countWords(utterance) ?? Number.POSITIVE_INFINITY)) &&
      isKnown(detector, version),
  );
  const all = [...kept, ...added].sort(compareRedactions);
  return all.length === 0 ? undefined : all;
};

/** Words of an utterance as it was sent; undefined where it has no list of them. */
export const countWordsOf = (utterance: unknown): number | undefined =>
  isObject(utterance) && Array.isArray(utterance.words) ? utterance.words.length : undefined;
