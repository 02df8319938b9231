/** Policies of the fields of a record, and the version of all policies, which needs no key. */
import { hash } from 'node:crypto';
import type { PrivacyConfig } from '../../schemas/config/privacy.ts';
import { rememberRecent } from '../lib/recent.ts';
import { detectorVersions, joinedDetectors } from './finding.ts';

type PrivacyRule = Readonly<PrivacyConfig['rules'][number]>;

const joinedPaths = 'in.data in.label out.data out.label metadata.ANI metadata.Agent metadata.ClientID'.split(' ');
const pseudonymous: readonly PrivacyRule[] = [
  ...joinedPaths.map((path): PrivacyRule => ({ path, action: 'token' })),
  { path: '*', action: 'redact' },
];

export const profileRules: Readonly<Record<PrivacyConfig['profile'], readonly PrivacyRule[]>> = {
  none: [],
  pseudonymous,
  no_transcript: [{ path: 'transcript_json', action: 'drop' }, ...pseudonymous],
};

/** The rules at one place of a record; list positions are no separate place. */
export interface RuleNode {
  /** Policy of the value. Without a rule the value stays. */
  readonly action: PrivacyRule['action'];
  /** False where everything here and below is kept, so that nobody needs to look. */
  readonly mayAct: boolean;
  /** Whether detectors are known to find nothing in the name of this place. */
  isNamePlain: boolean;
  /** The rules on a field of this value. */
  child(name: string): RuleNode;
}

/** Whether detectors read transcripts. @param transcripts rules on `transcript_json` */
export const readsSpeech = (transcripts: RuleNode): boolean => transcripts.child('callData').action === 'redact';

/** Whether rules replace every kind of value that a request can name, anywhere in a transcript. */
export const redactsSpeech = (config: Pick<PrivacyConfig, 'disabled_detectors' | 'profile' | 'rules'>): boolean =>
  !joinedDetectors.some((name) => config.disabled_detectors.includes(name)) &&
  readsSpeech(compileRules([...config.rules, ...profileRules[config.profile]]).child('transcript_json'));

const patternOf = rememberRecent(1_000, (name) => {
  const parts = name.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'su');
});

/** `names` = the part of its path that is not matched yet. */
type PendingRule = { readonly names: readonly string[]; readonly rule: PrivacyRule };

/**
 * The rule below a field of this name, if it fits. A name with dots may be one name of the path, or as many as it has
 * parts.
 */
const follow = ({ names, rule }: PendingRule, name: string): readonly PendingRule[] => {
  const isNamed = (count: number) => count <= names.length && patternOf(names.slice(0, count).join('.')).test(name);
  const taken = names.length === 0 ? 0 : [1, name.split('.').length].find(isNamed);
  return taken === undefined ? [] : [{ names: names.slice(taken), rule }];
};

/** Names of free fields never end: beyond this many places the rules are worked out again each time. */
const mostKnown = 5_000;

/**
 * The rules of the record. The first rule that matches a field or its parent decides; your own rules come before those
 * of the profile.
 * @param matched gets each rule that decides about a place
 */
export const compileRules = (
  rules: readonly PrivacyRule[],
  matched: (rule: PrivacyRule) => void = () => {},
): RuleNode => {
  let known = 0;
  /** @param fitting rules whose names fit the path so far, in order, up to the first that is whole: it decides all below. */
  const nodeOf = (fitting: readonly PendingRule[]): RuleNode => {
    const whole = fitting.findIndex(({ names }) => names.length === 0);
    const deciding = whole === -1 ? fitting : fitting.slice(0, whole + 1);
    const rule = fitting[whole]?.rule;
    if (rule !== undefined) matched(rule);
    const children = new Map<string, RuleNode>();
    return {
      action: rule?.action ?? 'keep',
      mayAct: deciding.some(({ rule: { action } }) => action !== 'keep'),
      isNamePlain: false,
      child(name) {
        const held = children.get(name);
        if (held !== undefined) return held;
        const node = nodeOf(deciding.flatMap((one) => follow(one, name)));
        if (known < mostKnown) {
          known += 1;
          children.set(name, node);
        }
        return node;
      },
    };
  };
  return nodeOf(rules.map((rule) => ({ names: rule.path.split('.'), rule })));
};

/** Raise it if the result of the rules changes for a reason that neither settings nor detector versions show. */
const doorVersion = 5;

/**
 * Changes with every setting that affects stored data, and with the detectors; undefined without rules. Calls under
 * another version are processed again.
 */
export const versionOfRules = (config: PrivacyConfig): string | undefined => {
  const { profile, rules, countries, disabled_detectors: disabled, patterns, key_id: keyId } = config;
  const all = [...rules, ...profileRules[profile]];
  if (all.length === 0) return undefined;
  const parts = [all, countries, [...new Set(disabled)].sort(), patterns, keyId, detectorVersions, doorVersion];
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 12);
};
