/** The policies on the bytes of a delivery: only fields that a rule may act on are parsed, only those that changed written anew. */
import { identifyRecord } from '../calls/record.ts';
import { admitTranscript } from './admit-transcript.ts';
import { aliasesFound, aliasField, takeAliases } from './aliases.ts';
import { cutFields, type FieldPlace, type JsonBytes, openJson, parsePlace, skipValue } from './cut-fields.ts';
import { renderJson, saysNoMore } from './render-json.ts';
import { readsSpeech } from './rules.ts';
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
  const isScanned = readsSpeech(transcripts) && sanitizeName(transcript, transcripts, options) === transcript;
  let scanned: ScannedTranscript | undefined;
  const json = openJson(body);
  const fields = cutFields(json, (text, at, name) => {
    if (name !== transcript || !isScanned || scanned !== undefined) return skipValue(text, at, name);
    scanned = scanTranscript(json, at);
    return scanned?.to ?? skipValue(text, at, name);
  });
  if (fields === undefined || new Set(fields.map(({ name }) => name)).size < fields.length) return undefined;
  const id = fields.find(({ name }) => name === 'unique_id');
  if (id === undefined || 'reason' in identifyRecord({ unique_id: parsePlace(json, id) })) return undefined;
  const parts: Buffer[] = [];
  options.former?.found.clear();
  for (const field of fields) {
    if (field.name === aliasField) {
      takeAliases(parsePlace(json, field), options);
      continue;
    }
    const admitted =
      field.name === transcript && scanned !== undefined
        ? admitTranscript(json, scanned, transcripts, options)
        : undefined;
    const kept = admitted ?? admitField(json, field, options);
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

const admitField = (json: JsonBytes, field: FieldPlace, options: SanitizeOptions): Buffer | 'dropped' | 'renamed' => {
  const { name, start, end } = field;
  const asItCame = json.bytes.subarray(start, end);
  if (!options.rules.child(name).mayAct) return asItCame;
  const value = parsePlace(json, field);
  const kept = sanitizeField(name, value, options);
  if (typeof kept === 'string') return kept;
  const written = json.text.slice(start, end);
  // Text that says more than its value, such as a name twice, is not kept.
  if (kept.value === value && saysNoMore(written, value)) return asItCame;
  return Buffer.from(renderJson(kept.value, written));
};
