/** Configuration before it is checked: the preset, the YAML file and the environment, merged. */
import { isObject } from './parse-json.ts';

export type Raw = { [key: string]: unknown };

/**
 * Objects merge, everything else replaces. Where both sides choose a variant (`style` of a pagination, `type` of a
 * warehouse) and choose differently, the upper one replaces the lower whole.
 */
export const mergeRaw = (lower: Raw, upper: Raw): Raw => {
  for (const tag of ['style', 'type']) {
    if (lower[tag] !== undefined && upper[tag] !== undefined && lower[tag] !== upper[tag]) return upper;
  }
  const merged: Raw = { ...lower };
  for (const [key, value] of Object.entries(upper)) {
    const below = merged[key];
    merged[key] = isObject(below) && isObject(value) ? mergeRaw(below, value) : value;
  }
  return merged;
};

/** A null counts as a key that is not written: YAML gives it for a section whose keys are all commented out. */
export const dropNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (!isObject(value)) return value;
  const present = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return Object.fromEntries(present.map(([key, each]) => [key, dropNulls(each)]));
};
