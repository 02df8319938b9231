/** The policies on the bytes of a transcript: utterances in which nothing is found stay as they came, and are not parsed. */
import { detectHeard } from './detect.ts';
import type { Finding } from './finding.ts';
import { type Heard, hear } from './hear.ts';
import { type Aligned, readUtterance, redactUtterances } from './redact-transcript.ts';
import { renderJson, saysNoMore } from './render-json.ts';
import type { RuleNode } from './rules.ts';
import { sanitizeUtterance } from './sanitize-transcript.ts';
import { mostRounds, replacementOf, type SanitizeOptions, sanitizeName, sanitizeValue } from './sanitize-value.ts';
import type { ScannedSaid, ScannedTranscript, ScannedUtterance } from './scan-transcript.ts';

/**
 * What `sanitizeTranscript` leaves of a transcript, as bytes.
 * @param bytes that were scanned.
 * @param node of the transcript.
 * @returns undefined where it has to be looked at as a whole.
 * @throws SyntaxError, RangeError as a parser.
 */
export const admitTranscript = (
  bytes: Buffer,
  scanned: ScannedTranscript,
  node: RuleNode,
  options: SanitizeOptions,
): Buffer | undefined => {
  const names = scanned.fields.map(({ name }) => name);
  if (new Set(names).size < names.length) return undefined;
  const callData = admitCallData(bytes, scanned, node.child('callData'), options);
  const rest = admitRest(scanned, node, options);
  if (rest === undefined) {
    if (callData === undefined) return bytes.subarray(scanned.from, scanned.to);
    return Buffer.concat([
      bytes.subarray(scanned.from, scanned.start),
      callData,
      bytes.subarray(scanned.end, scanned.to),
    ]);
  }
  return Buffer.concat([
    Buffer.from(`${rest.slice(0, -1)}${rest.length > 2 ? ',' : ''}"callData":`),
    callData ?? bytes.subarray(scanned.start, scanned.end),
    Buffer.from('}'),
  ]);
};

const parse = (bytes: Buffer): unknown => JSON.parse(bytes.toString('utf8'));

/** The fields beside `callData` as an object in JSON; undefined where they stay as they came. */
const admitRest = ({ fields }: ScannedTranscript, node: RuleNode, options: SanitizeOptions): string | undefined => {
  const rest = Object.fromEntries(fields.map(({ name, value }) => [name, parse(value)]));
  const kept = sanitizeValue(rest, node, 'transcript_json', options, 1);
  if (kept === rest && fields.every(({ name, value }) => saysNoMore(value, rest[name]))) return undefined;
  const values = Buffer.concat(fields.map(({ value }) => value));
  return typeof kept === 'object' ? renderJson(kept, values) : '{}';
};

/** The list of utterances; undefined where it stays as it came. */
const admitCallData = (
  bytes: Buffer,
  { utterances }: ScannedTranscript,
  node: RuleNode,
  options: SanitizeOptions,
): Buffer | undefined => {
  const changed = new Map<number, unknown>();
  const parsed = new Map<number, unknown>();
  const bytesOf = ({ start, end }: ScannedUtterance): Buffer => bytes.subarray(start, end);
  const isPlain = checkNames(node, options);
  for (const [index, utterance] of utterances.entries()) {
    const { said } = utterance;
    if (said !== undefined && isPlain(said) && staysBeside(said, node, options)) continue;
    parsed.set(index, parse(bytesOf(utterance)));
  }
  const open = (index: number): Aligned =>
    readUtterance(parsed.get(index) ?? parse(bytesOf(utterances[index] as ScannedUtterance)));
  const spoken = utterances.map(({ said }, index) =>
    hear(
      said === undefined || parsed.has(index) ? open(index) : { speaker: speakerOf(said), text: said.content },
      index,
    ),
  );
  redactRounds(spoken, open, changed, options);
  for (const index of new Set([...changed.keys(), ...parsed.keys()])) {
    const before = changed.get(index) ?? parsed.get(index);
    const kept = sanitizeUtterance(before, node, options);
    const own = bytesOf(utterances[index] as ScannedUtterance);
    if (changed.has(index) || kept !== before || !saysNoMore(own, kept)) changed.set(index, kept);
  }
  if (changed.size === 0) return undefined;
  const parts = utterances.flatMap((utterance, index) => {
    const own = bytesOf(utterance);
    return [
      Buffer.from(index === 0 ? '[' : ','),
      changed.has(index) ? Buffer.from(renderJson(changed.get(index), own)) : own,
    ];
  });
  return Buffer.concat([...parts, Buffer.from(']')]);
};

/** Replaces what is found until nothing is; a value that is replaced may part others that were one run before. */
const redactRounds = (
  spoken: Heard[],
  open: (index: number) => Aligned,
  changed: Map<number, unknown>,
  options: SanitizeOptions,
): void => {
  const aligned = new Map<number, Aligned>();
  const replace = (finding: Finding): string => replacementOf(finding, options);
  for (let round = 0; round < mostRounds; round += 1) {
    const findings = detectHeard(spoken, options);
    if (findings.length === 0) return;
    for (const [index, kept] of redactUtterances(findings, replace, (at) => aligned.get(at) ?? open(at))) {
      const read = readUtterance(kept);
      aligned.set(index, read);
      changed.set(index, kept);
      spoken[index] = hear(read, index);
    }
  }
};

const speakerOf = ({ others }: ScannedSaid): string => {
  const speaker = others.find(({ name }) => name === 'from')?.parsed;
  return typeof speaker === 'string' ? speaker : '';
};

/** Whether the names of an utterance's fields stay, and no rule acts on small numbers in them. Worked out once for each list. */
const checkNames = (node: RuleNode, options: SanitizeOptions): ((said: ScannedSaid) => boolean) => {
  const known = new Map<readonly string[], boolean>();
  return ({ names }) => {
    const held = known.get(names);
    if (held !== undefined) return held;
    const isPlain = names.every((name) => {
      const inner = node.child(name);
      const isRead = name === 'content' || name === 'words' || inner.action === 'redact' || inner.action === 'keep';
      return isRead && sanitizeName(name, inner, options) === name;
    });
    known.set(names, isPlain);
    return isPlain;
  };
};

/** Whether every field beside text and words stays as it came. */
const staysBeside = ({ others }: ScannedSaid, node: RuleNode, options: SanitizeOptions): boolean =>
  others.every(
    ({ name, value, parsed }) =>
      sanitizeValue(parsed, node.child(name), name, options, 4) === parsed && saysNoMore(value, parsed),
  );
