/** The policies on the bytes of a transcript: utterances in which nothing is found stay as they came, and are not parsed. */
import { type Redaction, redactionsField } from '../calls/redactions.ts';
import { type FieldPlace, type JsonBytes, parsePlace } from './cut-fields.ts';
import { detectHeard } from './detect.ts';
import type { Finding } from './finding.ts';
import { type Heard, hear } from './hear.ts';
import { countWordsOf, markRedactions } from './mark-redactions.ts';
import { type Aligned, readUtterance, redactUtterances } from './redact-transcript.ts';
import { renderJson, saysNoMore } from './render-json.ts';
import type { RuleNode } from './rules.ts';
import { sanitizeUtterance, staysNamed } from './sanitize-transcript.ts';
import { mostRounds, replacementOf, type SanitizeOptions, sanitizeValue } from './sanitize-value.ts';
import type { ScannedSaid, ScannedTranscript, ScannedUtterance } from './scan-transcript.ts';

/**
 * What `sanitizeTranscript` leaves of a transcript, as bytes.
 * @param json that was scanned.
 * @param node of the transcript.
 * @returns undefined where it has to be looked at as a whole.
 * @throws SyntaxError, RangeError as a parser.
 */
export const admitTranscript = (
  json: JsonBytes,
  scanned: ScannedTranscript,
  node: RuleNode,
  options: SanitizeOptions,
): Buffer | undefined => {
  const { bytes } = json;
  const names = scanned.fields.map(({ name }) => name);
  if (new Set(names).size < names.length) return undefined;
  const { utterances, redactions } = admitCallData(json, scanned, node.child('callData'), options);
  const held = scanned.fields.find(({ name }) => name === redactionsField);
  const marks = markBytes(json, scanned, { held, added: redactions }, node, options);
  const others = scanned.fields.filter((field) => field !== held);
  const rest = admitRest(json, others, node, options);
  const callData = utterances ?? bytes.subarray(scanned.start, scanned.end);
  if (rest.isKept && (held === undefined || marks?.equals(bytes.subarray(held.start, held.end)) === true)) {
    if (utterances === undefined && (marks === undefined || held !== undefined))
      return bytes.subarray(scanned.from, scanned.to);
    const added = held === undefined ? nameMarks(marks) : [];
    return Buffer.concat([
      bytes.subarray(scanned.from, scanned.start),
      callData,
      ...added,
      bytes.subarray(scanned.end, scanned.to),
    ]);
  }
  return Buffer.concat([
    Buffer.from(`${rest.written.slice(0, -1)}${rest.written.length > 2 ? ',' : ''}"callData":`),
    callData,
    ...nameMarks(marks),
    Buffer.from('}'),
  ]);
};

/** The list of what was replaced, as JSON; undefined where there is none. */
const markBytes = (
  json: JsonBytes,
  { utterances }: ScannedTranscript,
  { held, added }: { readonly held: FieldPlace | undefined; readonly added: readonly Redaction[] },
  node: RuleNode,
  options: SanitizeOptions,
): Buffer | undefined => {
  if (held === undefined && added.length === 0) return undefined;
  const countWords = (index: number): number | undefined =>
    countWordsOf(parsePlace(json, utterances[index] as ScannedUtterance));
  const before = held === undefined ? undefined : parsePlace(json, held);
  const marks = markRedactions({ held: before, added, count: utterances.length, countWords }, node, options);
  return marks === undefined ? undefined : Buffer.from(JSON.stringify(marks));
};

/** The list as a further field of the transcript. */
const nameMarks = (marks: Buffer | undefined): Buffer[] =>
  marks === undefined ? [] : [Buffer.from(`,"${redactionsField}":`), marks];

/** The fields beside utterances and list as an object in JSON, and whether they stay as they came. */
const admitRest = (
  json: JsonBytes,
  fields: readonly FieldPlace[],
  node: RuleNode,
  options: SanitizeOptions,
): { readonly written: string; readonly isKept: boolean } => {
  const textOf = ({ start, end }: FieldPlace): string => json.text.slice(start, end);
  const rest = Object.fromEntries(fields.map((field) => [field.name, parsePlace(json, field)]));
  const kept = sanitizeValue(rest, node, 'transcript_json', options, 1);
  const isKept = kept === rest && fields.every((field) => saysNoMore(textOf(field), rest[field.name]));
  return { written: typeof kept === 'object' ? renderJson(kept, fields.map(textOf).join(' ')) : '{}', isKept };
};

/** The list of utterances, undefined where it stays as it came, and what was replaced in it. */
const admitCallData = (
  json: JsonBytes,
  { utterances }: ScannedTranscript,
  node: RuleNode,
  options: SanitizeOptions,
): { readonly utterances: Buffer | undefined; readonly redactions: readonly Redaction[] } => {
  const changed = new Map<number, unknown>();
  const parsed = new Map<number, unknown>();
  const isPlain = checkNames(node, options);
  for (const [index, utterance] of utterances.entries()) {
    const { said } = utterance;
    if (said !== undefined && isPlain(said) && staysBeside(json, said, node, options)) continue;
    parsed.set(index, parsePlace(json, utterance));
  }
  const open = (index: number): Aligned =>
    readUtterance(parsed.get(index) ?? parsePlace(json, utterances[index] as ScannedUtterance));
  const spoken = utterances.map(({ said }, index) =>
    hear(
      said === undefined || parsed.has(index) ? open(index) : { speaker: speakerOf(said), text: said.content },
      index,
    ),
  );
  const redactions = redactRounds(spoken, open, changed, options);
  for (const index of new Set([...changed.keys(), ...parsed.keys()])) {
    const before = changed.get(index) ?? parsed.get(index);
    const kept = sanitizeUtterance(before, node, options);
    const { start, end } = utterances[index] as ScannedUtterance;
    if (changed.has(index) || kept !== before || !saysNoMore(json.text.slice(start, end), kept))
      changed.set(index, kept);
  }
  if (changed.size === 0) return { utterances: undefined, redactions };
  const parts = utterances.flatMap(({ start, end }, index) => [
    Buffer.from(index === 0 ? '[' : ','),
    changed.has(index)
      ? Buffer.from(renderJson(changed.get(index), json.text.slice(start, end)))
      : json.bytes.subarray(start, end),
  ]);
  return { utterances: Buffer.concat([...parts, Buffer.from(']')]), redactions };
};

/** Replaces what is found until nothing is, and says where; a value that is replaced may part others that were one run before. */
const redactRounds = (
  spoken: Heard[],
  open: (index: number) => Aligned,
  changed: Map<number, unknown>,
  options: SanitizeOptions,
): readonly Redaction[] => {
  const aligned = new Map<number, Aligned>();
  const redactions: Redaction[] = [];
  const replace = (finding: Finding): string => replacementOf(finding, options);
  for (let round = 0; round < mostRounds; round += 1) {
    const findings = detectHeard(spoken, options);
    if (findings.length === 0) break;
    const redacted = redactUtterances(findings, replace, (at) => aligned.get(at) ?? open(at));
    redactions.push(...redacted.redactions);
    for (const [index, kept] of redacted.utterances) {
      const read = readUtterance(kept);
      aligned.set(index, read);
      changed.set(index, kept);
      spoken[index] = hear(read, index);
    }
  }
  return redactions;
};

const speakerOf = ({ others }: ScannedSaid): string => {
  const speaker = others.find(({ name }) => name === 'from')?.parsed;
  return typeof speaker === 'string' ? speaker : '';
};

/** Whether the names of an utterance's fields stay, and no rule acts on small numbers in them. Worked out once for each list. */
const checkNames = (node: RuleNode, options: SanitizeOptions): ((said: ScannedSaid) => boolean) => {
  const known = new Map<readonly string[], boolean>();
  const words = node.child('words');
  return ({ names, wordNames }) => {
    const held = known.get(names);
    if (held !== undefined) return held;
    const isPlain =
      names.every((name) => name === 'content' || name === 'words' || staysNamed(name, node, options)) &&
      wordNames.every((name) => name === 'value' || staysNamed(name, words, options));
    known.set(names, isPlain);
    return isPlain;
  };
};

/** Whether every field beside text and words stays as it came. */
const staysBeside = (json: JsonBytes, { others }: ScannedSaid, node: RuleNode, options: SanitizeOptions): boolean =>
  others.every(
    ({ name, start, end, parsed }) =>
      sanitizeValue(parsed, node.child(name), name, options, 4) === parsed &&
      saysNoMore(json.text.slice(start, end), parsed),
  );
