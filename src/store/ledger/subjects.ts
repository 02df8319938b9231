/** How calls and persons are known where their names must not stay. */

/** Keyed hash of a call id. */
export type KeyOf = (callId: string) => string;

/** What says who is meant by an erasure or a hold. */
export interface Subjects {
  /** Everything that a text may name. */
  readonly subjectsIn: (text: string) => Iterable<string>;
  readonly keyOf: KeyOf;
}
