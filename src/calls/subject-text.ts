/**
 * Subjects as text: what names a person or calls of one, the same text however it is written. Only keyed hashes of it are kept. No
 * call id has the character between the parts.
 */

/** @param number E.164 where it is one, else its digits. */
export const phoneSubject = (number: string): string => `phone\0${number}`;

/** A whole value. */
export const textSubject = (value: string): string => `text\0${value}`;

/** Calls by the value of a metadata key. @param text as `metadataText` has it. */
export const metadataSubject = (key: string, text: string): string => `metadata\0${key}\0${text}`;

/** A value of metadata as text; objects and lists, which may have any field of their own, as JSON. */
export const metadataText = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
