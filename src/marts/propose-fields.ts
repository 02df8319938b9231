/** Proposes typed columns for metadata keys, from the texts that calls have under them. Pure. */

import { type AnalyticsConfig, metadataKey, ownColumns, typedColumns } from '../../schemas/config/analytics.ts';
import { tableOf } from '../../schemas/tables.ts';
import { countEach } from '../lib/count-of.ts';
import { isObject } from '../lib/parse-json.ts';

type Field = AnalyticsConfig['fields'][string];

/** Digits that begin with zero or a plus, or are longer than an amount, are identifiers and telephone numbers. */
const digits = '0|[1-9][0-9]{0,8}';
const whole = `-?(${digits})`;
const grouped = (mark: string): string => `-?([1-9][0-9]{0,2}([ \u00a0\u202f’'${mark}][0-9]{3})+|${digits})`;
const isDay = (text: string): boolean => {
  const at = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(at).getUTCDate() === Number(text.slice(8));
};
const like = (pattern: string) => {
  const form = new RegExp(`^(${pattern})$`, 'iu');
  return (text: string): boolean => form.test(text);
};

/** The first type that fits every text is proposed; of two decimal marks that fit alike, neither is. */
const types: readonly (readonly [Pick<Field, 'type' | 'decimal'>, (text: string) => boolean])[] = [
  [{ type: 'boolean' }, like('true|false|yes|no')],
  [{ type: 'date' }, isDay],
  [{ type: 'integer' }, like(whole)],
  [{ type: 'numeric' }, like(`${whole}([.][0-9]{1,9})?`)],
  [{ type: 'numeric', decimal: 'comma' }, like(`${grouped('.')}(,[0-9]{1,9})?`)],
  [{ type: 'numeric', decimal: 'point' }, like(`${grouped(',')}([.][0-9]{1,9})?`)],
];

const typeOf = (texts: readonly string[]): Pick<Field, 'type' | 'decimal'> => {
  const fitting = types.filter(([, fits]) => texts.every(fits)).map(([type]) => type);
  const [first = { type: 'text' as const }, ...others] = fitting;
  const isUnsure =
    others.some(({ decimal }) => decimal === 'point' || decimal === 'comma') && texts.some((one) => /[.,]/.test(one));
  const hasGroups = texts.every((one) => !/[.,]/.test(one) || /^-?\d{1,3}[.,]\d{3}$/.test(one));
  return isUnsure && hasGroups ? { type: 'text' } : first;
};

/** Letters and digits by their kind, so that nobody reads a value from it: `Aa+ 99+`. */
const shapeOf = (text: string): string =>
  text
    .replaceAll(/\p{Lu}/gu, 'A')
    .replaceAll(/(?!A)\p{L}/gu, 'a')
    .replaceAll(/\p{N}/gu, '9')
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .replaceAll(/([Aa9])\1+/g, '$1+')
    .slice(0, 24);

const mostShapes = 3;
const mostCommon = (all: readonly string[]): string[] =>
  [...countEach(all)]
    .sort((left, right) => right[1] - left[1])
    .slice(0, mostShapes)
    .map(([one]) => one);

/** A free name for a column, and for the two beside it. */
const nameFor = (key: string, taken: Set<string>): string => {
  const plain = key
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_');
  const words = plain
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 40);
  const base = /^[a-z]/.test(words) ? words : `field_${words}`.replace(/_$/, '');
  let name = base;
  for (let number = 2; typedColumns(name).some((one) => taken.has(one)); number += 1) name = `${base}_${number}`;
  for (const one of typedColumns(name)) taken.add(one);
  return name;
};

/** As table `metadata` holds it; blank texts say nothing. */
const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value)).trim();

const ownPaths = new Set(tableOf('calls').columns.map(({ from }) => from));

/**
 * One proposal for each metadata key that has a text and no column yet, the most frequent first.
 * @param documents of calls; @param configured `analytics.fields`
 */
export const proposeFields = (
  documents: readonly { readonly metadata?: unknown }[],
  configured: AnalyticsConfig['fields'],
) => {
  const texts = new Map<string, string[]>();
  for (const { metadata } of documents)
    for (const [key, value] of Object.entries(isObject(metadata) ? metadata : {})) {
      const text = textOf(value);
      if (text === '' || ownPaths.has(`metadata.${key}`)) continue;
      if (Object.hasOwn(configured, key) || !metadataKey.test(key)) continue;
      const all = texts.get(key);
      if (all === undefined) texts.set(key, [text]);
      else all.push(text);
    }
  const taken = new Set([...ownColumns, ...Object.values(configured).flatMap(({ name }) => typedColumns(name))]);
  return [...texts]
    .sort((left, right) => right[1].length - left[1].length || (left[0] < right[0] ? -1 : 1))
    .map(([key, all]) => ({
      key,
      field: { name: nameFor(key, taken), ...typeOf(all) },
      /** Share of the calls that have a text, 0 to 1. */
      share: all.length / documents.length,
      shapes: mostCommon(all.map(shapeOf)),
    }));
};
