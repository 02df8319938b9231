/** What bytes look like without what they say: names of known fields and types, for people who may not see content. */
import { knownCallFields } from '../../schemas/call.ts';

const known = new Set(knownCallFields);

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? `array of ${value.length}` : typeof value;

/** One line for something that is not an object, else one line a field. Names of unknown fields may be data: counted. */
export const describeShape = (body: Buffer): string => {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return `${body.length} bytes that are not JSON`;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `JSON: ${typeOf(value)}`;
  const fields = Object.entries(value);
  const lines = fields.filter(([name]) => known.has(name)).map(([name, inner]) => `${name}: ${typeOf(inner)}`);
  const others = fields.length - lines.length;
  if (others > 0) lines.push(`${others} further field${others === 1 ? '' : 's'} that the interface does not show`);
  return lines.length === 0 ? 'an empty JSON object' : lines.join('\n');
};
