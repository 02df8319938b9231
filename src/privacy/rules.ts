/** Which policy acts on which field of a record. */

export type PrivacyAction = 'keep' | 'drop' | 'token' | 'last4' | 'redact';

export interface PrivacyRule {
  /** Dotted path from the record; `*` is any text within a name. It acts on everything below it too. */
  readonly path: string;
  readonly action: PrivacyAction;
}

export type PrivacyProfile = 'none' | 'pseudonymous' | 'no_transcript';

const pseudonymous: readonly PrivacyRule[] = [
  { path: 'in.data', action: 'token' },
  { path: 'in.label', action: 'token' },
  { path: 'out.data', action: 'token' },
  { path: 'out.label', action: 'token' },
  { path: 'metadata.ANI', action: 'token' },
  { path: 'metadata.Agent', action: 'token' },
  { path: 'metadata.ClientID', action: 'token' },
  { path: '*', action: 'redact' },
];

export const profileRules: Readonly<Record<PrivacyProfile, readonly PrivacyRule[]>> = {
  none: [],
  pseudonymous,
  no_transcript: [{ path: 'transcript_json', action: 'drop' }, ...pseudonymous],
};

export interface CompiledRules {
  /** The action on a field; list positions are no part of its path. Without a rule it is kept. */
  actionOn(path: readonly string[]): PrivacyAction;
  /** False where everything in a field is kept, so that nobody needs to look. */
  mayAct(path: readonly string[]): boolean;
}

const compileName = (name: string): RegExp =>
  new RegExp(
    `^${name
      .split('*')
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    'su',
  );

/** The first rule that fits a field or what it is in decides: rules of one's own stand before those of the profile. */
export const compileRules = (rules: readonly PrivacyRule[]): CompiledRules => {
  const compiled = rules.map(({ path, action }) => ({ names: path.split('.').map(compileName), action }));
  const fits = (names: readonly RegExp[], path: readonly string[]): boolean =>
    names.every((name, index) => index >= path.length || name.test(path[index] as string));
  return {
    actionOn: remember((path) => {
      const rule = compiled.find(({ names }) => names.length <= path.length && fits(names, path));
      return rule?.action ?? 'keep';
    }),
    mayAct: remember((path) => compiled.some(({ names, action }) => action !== 'keep' && fits(names, path))),
  };
};

const remember = <T>(find: (path: readonly string[]) => T): ((path: readonly string[]) => T) => {
  const known = new Map<string, T>();
  return (path) => {
    const key = path.join('\0');
    const held = known.get(key);
    if (held !== undefined) return held;
    const found = find(path);
    if (known.size < mostKnown) known.set(key, found);
    return found;
  };
};

/** Names of free fields never end. */
const mostKnown = 5_000;
