/** The policies on the bytes of a delivery: only fields that a rule may act on are parsed, only those that changed written anew. */
import { identifyRecord } from '../calls/record.ts';
import { infinityAsText } from '../calls/values.ts';
import { cutFields, type FieldBytes } from './cut-fields.ts';
import { type SanitizeOptions, sanitizeField } from './sanitize-record.ts';

const comma = Buffer.from(',');
const open = Buffer.from('{');
const close = Buffer.from('}');

/**
 * What is stored of a body; undefined where it has to be looked at as a whole: it is not the JSON of an identified record, has a
 * name twice, or one that the rules change.
 */
export const admitBytes = (body: Buffer, options: SanitizeOptions): Buffer | undefined => {
  try {
    return admitFields(body, options);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
};

const admitFields = (body: Buffer, options: SanitizeOptions): Buffer | undefined => {
  const fields = cutFields(body);
  if (fields === undefined || new Set(fields.map(({ name }) => name)).size < fields.length) return undefined;
  const id = fields.find(({ name }) => name === 'unique_id');
  if (id === undefined || 'reason' in identifyRecord({ unique_id: parse(id) })) return undefined;
  const parts: Buffer[] = [];
  for (const field of fields) {
    const kept = admitField(field, options);
    if (kept === 'renamed') return undefined;
    if (kept === 'dropped') continue;
    parts.push(parts.length === 0 ? open : comma, Buffer.from(`${JSON.stringify(field.name)}:`), kept);
  }
  parts.push(...(parts.length === 0 ? [open, close] : [close]));
  return Buffer.concat(parts);
};

const parse = ({ value }: FieldBytes): unknown => JSON.parse(value.toString('utf8'));

const admitField = (field: FieldBytes, options: SanitizeOptions): Buffer | 'dropped' | 'renamed' => {
  if (!options.rules.child(field.name).mayAct) return field.value;
  const value = parse(field);
  const kept = sanitizeField(field.name, value, options);
  if (typeof kept === 'string') return kept;
  // Bytes that say more than their value, such as a name twice, are not kept.
  if (kept.value === value && !field.hasLongNumber && countKeys(value) === field.keys) return field.value;
  return Buffer.from(renderJson(kept.value, field.value));
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
