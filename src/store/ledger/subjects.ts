/** How calls and persons are known where their names must not stay. */

/** Keyed hash of a call id. */
export type KeyOf = (callId: string) => string;

/** What says who is meant by an erasure or a hold. */
export interface Subjects {
  /** Everything that a text may name. */
  readonly subjectsIn: (text: string) => Iterable<string>;
  readonly keyOf: KeyOf;
}

export interface NamingCall {
  readonly callId: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Former tokens of values in `fields` → those in their place. */
  readonly aliases?: ReadonlyMap<string, string> | undefined;
}

/** Contacts and metadata as text, with what former keys made of their values: a person may be known by that. */
export const namingText = ({ fields, aliases = new Map() }: NamingCall): string => {
  const text = JSON.stringify([fields.in, fields.out, fields.metadata]);
  const former = [...aliases].flatMap(([old, token]) => (text.includes(token) ? [old] : []));
  return former.length === 0 ? text : `${text}${JSON.stringify(former)}`;
};
