/** The policies on the bytes of a delivery: only fields that a rule may act on are parsed, only those that changed written anew. */
import { identifyRecord } from '../calls/record.ts';
import { admitTranscript } from './admit-transcript.ts';
import { aliasesFound, aliasField, takeAliases } from './aliases.ts';
import { cutFields, type FieldBytes, skipValue } from './cut-fields.ts';
import { renderJson, saysNoMore } from './render-json.ts';
import { sanitizeField } from './sanitize-record.ts';
import { type SanitizeOptions, sanitizeName } from './sanitize-value.ts';
import { type ScannedTranscript, scanTranscript } from './scan-transcript.ts';

const transcript = 'transcript_json';
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
  const transcripts = options.rules.child(transcript);
  const isScanned =
    transcripts.child('callData').action === 'redact' && sanitizeName(transcript, transcripts, options) === transcript;
  let scanned: ScannedTranscript | undefined;
  const fields = cutFields(body, (bytes, at, name) => {
    if (name !== transcript || !isScanned || scanned !== undefined) return skipValue(bytes, at, name);
    scanned = scanTranscript(bytes, at);
    return scanned?.to ?? skipValue(bytes, at, name);
  });
  if (fields === undefined || new Set(fields.map(({ name }) => name)).size < fields.length) return undefined;
  const id = fields.find(({ name }) => name === 'unique_id');
  if (id === undefined || 'reason' in identifyRecord({ unique_id: parse(id) })) return undefined;
  const parts: Buffer[] = [];
  options.former?.found.clear();
  for (const field of fields) {
    if (field.name === aliasField) {
      takeAliases(parse(field), options);
      continue;
    }
    const admitted =
      field.name === transcript && scanned !== undefined
        ? admitTranscript(body, scanned, transcripts, options)
        : undefined;
    const kept = admitted ?? admitField(field, options);
    if (kept === 'renamed') return undefined;
    if (kept === 'dropped') continue;
    parts.push(parts.length === 0 ? open : comma, Buffer.from(`${JSON.stringify(field.name)}:`), kept);
  }
  const aliases = aliasesFound(options);
  if (aliases !== undefined)
    parts.push(comma, Buffer.from(`"${aliasField}":${JSON.stringify(Object.fromEntries(aliases))}`));
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
  if (kept.value === value && saysNoMore(field.value, value)) return field.value;
  return Buffer.from(renderJson(kept.value, field.value));
};
