/** Names that every object inherits: a record may have fields of these names, and each lookup by a name that others wrote must stand them. */
export const inheritedNames: readonly string[] = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'];

/** An object with a field of each name, built from pairs as JSON.parse does it. */
export const withInheritedNames = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(inheritedNames.map((name) => [name, value]));
