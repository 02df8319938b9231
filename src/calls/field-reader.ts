/** Reads single fields of a document into typed values and remembers what could not be typed. */
import { isObject } from '../lib/parse-json.ts';
import { parseTimestamp } from '../lib/timestamps.ts';
import { cleanJson, cleanText, maxJsonDepth, parseNumber } from './values.ts';

interface Issue {
  readonly field: string;
  readonly reason: string;
}

const maxIssues = 50;

const typeName = (value: unknown): string => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);

/** JSON.parse has rounded such numbers already, so their digits are gone. */
const holdsRounded = (value: unknown, depth: number): boolean => {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null || depth > maxJsonDepth) return false;
  return Object.values(value).some((part) => holdsRounded(part, depth + 1));
};

/** Null and absent read as null without an issue. Reasons name types, never values: those may be personal. */
export class FieldReader {
  private readonly issues: Issue[] = [];

  note(field: string, reason: string): null {
    this.issues.push({ field, reason });
    return null;
  }

  /** The issues as JSON, null without any. Sorted, so that they do not depend on the order in which fields were read. */
  issuesText(): string | null {
    if (this.issues.length === 0) return null;
    const texts = this.issues.map((issue) => JSON.stringify(issue)).sort();
    return `[${texts.slice(0, maxIssues).join(',')}]`;
  }

  private wrong(field: string, expected: string, value: unknown): null {
    return this.note(field, `expected ${expected}, got ${typeName(value)}`);
  }

  clean(value: string, field: string): string {
    const clean = cleanText(value);
    if (clean !== value) this.note(field, 'characters that cannot be stored were replaced');
    return clean;
  }

  text(value: unknown, field: string): string | null {
    if (typeof value === 'string') return this.clean(value, field);
    return value == null ? null : this.wrong(field, 'text', value);
  }

  number(value: unknown, field: string): number | null {
    if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : this.note(field, 'number out of range');
    return value == null ? null : this.wrong(field, 'a number', value);
  }

  /** A number, or text that holds one; empty text is no value. */
  numberText(value: unknown, field: string): number | null {
    if (typeof value !== 'string') return this.number(value, field);
    if (value.trim() === '') return null;
    const parsed = parseNumber(value);
    return parsed === undefined ? this.note(field, 'text is not a number') : parsed + 0;
  }

  boolText(value: unknown, field: string): boolean | null {
    if (typeof value === 'boolean') return value;
    if (value === 'true' || value === 'True' || value === 'TRUE') return true;
    if (value === 'false' || value === 'False' || value === 'FALSE') return false;
    return value == null || value === '' ? null : this.note(field, 'neither true nor false');
  }

  /** Microseconds since the epoch. */
  timestamp(value: unknown, field: string): number | null {
    if (value == null || value === '') return null;
    const at = parseTimestamp(value);
    if (at !== undefined) return at;
    return typeof value === 'string' ? this.note(field, 'not a date-time') : this.wrong(field, 'a date-time', value);
  }

  object(value: unknown, field: string): Record<string, unknown> | undefined {
    if (isObject(value)) return value;
    if (value != null) this.wrong(field, 'an object', value);
    return undefined;
  }

  array(value: unknown, field: string): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value != null) this.wrong(field, 'an array', value);
    return [];
  }

  /** An element of a list of objects; null is none either. */
  element(value: unknown, field: string): Record<string, unknown> {
    if (isObject(value)) return value;
    this.wrong(field, 'an object', value);
    return {};
  }

  /** As `json`, for a value that may hold any numbers: reports whole numbers that a double cannot hold. */
  freeJson(value: unknown, field: string): string | null {
    this.noteRounded(value, field);
    return this.json(value, field);
  }

  noteRounded(value: unknown, field: string): void {
    if (holdsRounded(value, 0)) this.note(cleanText(field), 'a whole number beyond 2^53 may have lost its last digits');
  }

  /** Any value as JSON text; null and absent are null. */
  json(value: unknown, field: string): string | null {
    if (value == null) return null;
    try {
      return JSON.stringify(cleanJson(value));
    } catch {
      return this.note(field, 'nested too deeply');
    }
  }
}
