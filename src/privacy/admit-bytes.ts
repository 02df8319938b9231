/** The policies on the bytes of a delivery: only fields that a rule may act on are parsed, only those that changed written anew. */
import { identifyRecord } from '../calls/identify.ts';
import { infinityAsText } from '../calls/values.ts';
import { type FieldSpan, NotScannable, ValueScanner } from '../scan-json.ts';
import { type SanitizeOptions, sanitizeField } from './sanitize-record.ts';

const openBrace = 0x7b;
const comma = Buffer.from(',');

/**
 * What is stored of a body; undefined where it has to be looked at as a whole: it is not the JSON of an identified record, has a
 * name twice, or one that the rules change.
 */
export const admitBytes = (body: Buffer, options: SanitizeOptions): Buffer | undefined => {
  const spans = scan(body);
  if (spans === undefined || new Set(spans.map(({ name }) => name)).size < spans.length) return undefined;
  const id = spans.find(({ name }) => name === 'unique_id');
  if (id === undefined || 'reason' in identifyRecord({ unique_id: parse(body, id) })) return undefined;
  const parts: Buffer[] = [];
  for (const span of spans) {
    const kept = admitField(body, span, options);
    if (kept === 'renamed') return undefined;
    if (kept === 'dropped') continue;
    parts.push(parts.length === 0 ? Buffer.from('{') : comma, Buffer.from(`${JSON.stringify(span.name)}:`), kept);
  }
  parts.push(Buffer.from(parts.length === 0 ? '{}' : '}'));
  return Buffer.concat(parts);
};

const scan = (body: Buffer): readonly FieldSpan[] | undefined => {
  if (body[0] !== openBrace) return undefined;
  const scanner = new ValueScanner(body);
  try {
    const spans = scanner.record(0);
    return scanner.isAtEnd() ? spans : undefined;
  } catch (error) {
    if (error instanceof NotScannable) return undefined;
    throw error;
  }
};

const bytesOf = (body: Buffer, { from, to }: FieldSpan): Buffer => body.subarray(from, to);
const parse = (body: Buffer, span: FieldSpan): unknown => JSON.parse(bytesOf(body, span).toString('utf8'));

const admitField = (body: Buffer, span: FieldSpan, options: SanitizeOptions): Buffer | 'dropped' | 'renamed' => {
  const { name, plain, keys } = span;
  const bytes = bytesOf(body, span);
  if (!options.rules.child(name).mayAct) return bytes;
  const value = parse(body, span);
  const kept = sanitizeField(name, value, options);
  if (typeof kept === 'string') return kept;
  // Bytes that say more than their value, such as a name twice, are not kept.
  if (kept.value === value && plain && countKeys(value) === keys) return bytes;
  return Buffer.from(renderJson(kept.value, bytes));
};

const countKeys = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
    return count;
  }
  for (const name in value) {
    const inner: unknown = (value as Readonly<Record<string, unknown>>)[name];
    count += typeof inner === 'object' ? 1 + countKeys(inner) : 1;
  }
  return count;
};

/** Only such numbers can lie beyond a double's range; a replacer costs as much as all else. */
const mayOverflow = /\d[eE]\+?\d{3}|\d{309}/;

/** @param bytes of which the value was read. */
export const renderJson = (value: unknown, bytes: Buffer): string =>
  JSON.stringify(value, mayOverflow.test(bytes.toString('latin1')) ? infinityAsText : undefined);
