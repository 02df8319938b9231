/** The policies on a whole record: pure, and doing it twice changes nothing more. */
import { isObject } from '../calls/field-reader.ts';
import { type RuleNode, readsSpeech } from './rules.ts';
import { sanitizeTranscript } from './sanitize-transcript.ts';
import {
  type Fields,
  gone,
  identity,
  type SanitizeOptions,
  sanitizeFields,
  sanitizeName,
  sanitizeValue,
} from './sanitize-value.ts';

const sanitizeTop = (value: unknown, node: RuleNode, name: string, options: SanitizeOptions): unknown =>
  name === 'transcript_json' && isObject(value) && readsSpeech(node)
    ? sanitizeTranscript(value, node, options)
    : sanitizeValue(value, node, name, options, 1);

/**
 * The fields with the policies applied; the very same object when nothing had to change.
 * @throws RangeError when nested too deeply.
 */
export const sanitizeRecord = (fields: Fields, options: SanitizeOptions): Fields =>
  sanitizeFields(fields, options.rules, options, (value, node, name) =>
    name === identity ? value : sanitizeTop(value, node, name, options),
  );

/** What becomes of one field of a record; a name that has to change concerns the others too. */
export type SanitizedField = { readonly value: unknown } | 'dropped' | 'renamed';

/** As `sanitizeRecord`, for one of its fields. */
export const sanitizeField = (name: string, value: unknown, options: SanitizeOptions): SanitizedField => {
  if (name === identity) return { value };
  const node = options.rules.child(name);
  if (sanitizeName(name, node, options) !== name) return 'renamed';
  const kept = sanitizeTop(value, node, name, options);
  return kept === gone ? 'dropped' : { value: kept };
};
