/** The privacy rules of a configuration, at every door by which call data comes in. */
import { createHmac } from 'node:crypto';
import { isSupportedCountry } from 'libphonenumber-js/max';
import type { PrivacyConfig } from '../../schemas/config/privacy.ts';
import type { Observation, RejectedRecord } from '../../schemas/observation.ts';
import { identifyRecord, orderLength, renderDocument } from '../calls/fold.ts';
import { knownField } from '../calls/own-fields.ts';
import { terminal } from '../lib/errors.ts';
import { JsonRecord, readRecord } from '../lib/json-record.ts';
import { createSealer, isSealed } from '../lib/sealed.ts';
import { clean, openRules } from './clean.ts';
import type { JoinedDetector } from './finding.ts';
import { knownPath } from './known.ts';
import { compileRules, profileRules, readsSpeech, versionOfRules } from './rules.ts';
import { aliasField, makeTokens, markOf, type TokenKeys, takeAliases } from './tokens.ts';

export type Privacy = ReturnType<typeof createPrivacy>;

/** Stored form of a verified delivery, and the keyed hash of its raw bytes. */
export type Admitted = { readonly body: Buffer; readonly bodyHash: Buffer; readonly privacyVersion: string };

/** Bytes as another thread gets them. */
export type Bytes = Uint8Array;

export interface PrivacyKeys {
  /** Key of tokens and hashes. */
  readonly token: Bytes;
  /** Keys of `PrivacyConfig.former_keys`, in their order. */
  readonly former?: readonly Bytes[];
  /** Public key for sealing; undefined = unreadable records are dropped. */
  readonly seal: Bytes | undefined;
}

export const asBuffer = ({ buffer, byteOffset, byteLength }: Bytes) => Buffer.from(buffer, byteOffset, byteLength);

/** Stands for bytes that the configuration says to drop. */
const dropped = Buffer.from('"dropped on arrival, for no privacy rule could read it"');

/** Countries of telephone numbers without a country code. @throws CallsyncError CONFIG_INVALID */
export const countriesOf = ({ countries }: Pick<PrivacyConfig, 'countries'>) => {
  const known = countries.filter((country) => isSupportedCountry(country));
  if (known.length === countries.length) return known;
  throw terminal('CONFIG_INVALID', 'privacy.countries names a country that has no telephone numbers.');
};

/**
 * @returns undefined where there are no rules: nothing is then looked at, and nothing changes.
 * @throws CallsyncError CONFIG_INVALID, SEAL_KEY
 */
export const createPrivacy = (config: PrivacyConfig, keys: PrivacyKeys) => {
  const disabled = new Set<string>(config.disabled_detectors);
  const rules = [...config.rules, ...profileRules[config.profile]];
  const former = (keys.former ?? []).map((bytes, index) => ({ id: config.former_keys[index]?.id ?? '', bytes }));
  const tokenKeys: TokenKeys = [{ id: config.key_id, bytes: keys.token }, ...former];
  const matched = new Set<PrivacyConfig['rules'][number]>();
  const known = rules.find(({ path }) => path === knownPath);
  const options = openRules({
    isOn: (name) => !disabled.has(name),
    countries: countriesOf(config),
    patterns: config.patterns.map(({ name, pattern }) => ({ name, pattern: new RegExp(pattern, 'gu') })),
    rules: compileRules(rules, (rule) => matched.add(rule)),
    keys: tokenKeys,
    known: known && {
      action: known.action,
      // A rule on all keys says nothing of one of them.
      metadata: compileRules(rules.filter(({ path }) => /^(metadata|\*)\.(?!\*$)/.test(path))).child('metadata'),
      note: () => matched.add(known),
    },
  });
  const version = `${versionOfRules(config) ?? ''}.${markOf(tokenKeys[0])}`;
  const close = keys.seal === undefined ? () => dropped : createSealer(asBuffer(keys.seal));
  // The oldest key that there is: a body that is repeated after a change of the key has the same hash.
  const bodyKey = keys.former?.[0] ?? keys.token;
  const hashBody = (body: Buffer): Buffer => createHmac('sha256', bodyKey).update('body\0').update(body).digest();
  /** Fields that were bytes and that no rule changed stay bytes. */
  const sanitizeAll = (fields: JsonRecord) => {
    options.aliases.clear();
    takeAliases(fields.value(aliasField), tokenKeys, options.aliases);
    const { [aliasField]: _carried, ...sent } = fields.held;
    const known = knownField in sent && { [knownField]: fields.value(knownField) };
    const kept = new JsonRecord(clean({ ...sent, ...known }, options).fields);
    return { fields: kept, ...(options.aliases.size === 0 ? {} : { aliases: new Map(options.aliases) }) };
  };

  /** From the raw record; only holders of the key can compute it. */
  const orderOf = ({ fields, rawHash }: Observation): string => {
    const keyed = createHmac('sha256', bodyKey).update('order\0');
    if (rawHash !== undefined) keyed.update(rawHash);
    else
      for (const name of fields.names.sort())
        keyed.update(JSON.stringify(name)).update(fields.json(name) ?? JSON.stringify(fields.held[name]) ?? '');
    return keyed.digest('base64').slice(0, orderLength);
  };

  const sanitize = (observation: Observation): Observation => {
    const { rawHash: _rawHash, privacyVersion, ...unread } = observation;
    const order = unread.order ?? orderOf(observation);
    // The receiver has been here.
    if (privacyVersion === version && !(aliasField in unread.fields.held)) return { ...unread, order };
    const { fields, aliases = [] } = sanitizeAll(unread.fields);
    const all = new Map([...(unread.aliases ?? []), ...aliases]);
    return { ...unread, order, fields, ...(all.size === 0 ? {} : { aliases: all }) };
  };

  /** Only bytes that say no more than their value stay. Undefined if no rule can read them. */
  const cleanBody = (body: Buffer): Buffer | undefined => {
    const { value } = readRecord(body);
    const identified = identifyRecord(value);
    if ('reason' in identified) return undefined;
    const { fields, aliases } = sanitizeAll(identified.record);
    const all = aliases === undefined ? fields : fields.with({ [aliasField]: Object.fromEntries(aliases) });
    return renderDocument(all, all.names);
  };
  /** Keeps a body that is already cleaned or sealed. */
  const keepBytes = (body: Buffer): Buffer =>
    isSealed(body) || body.equals(dropped) ? body : (cleanBody(body) ?? close(body));

  return {
    /**
     * Changes with every setting that affects stored data, and with the detectors. Ends with id and fingerprint of
     * the key.
     */
    version,
    /** Whether detectors read transcripts, which costs several times all other rules. */
    readsSpeech: known !== undefined || readsSpeech(options.rules.child('transcript_json')),
    /** Pure; doing it twice changes nothing more. Aliases of tokens come with the observation. */
    sanitize,
    /** The fields of a record after the rules, and the findings. */
    preview: (fields: Parameters<typeof clean>[0]) => clean({ ...fields }, options),
    /** Paths of configured rules that decided about no field so far. */
    unmatched: () => config.rules.filter((rule) => !matched.has(rule)).map(({ path }) => path),
    admit: (body: Buffer) => ({ body: keepBytes(body), bodyHash: hashBody(body), privacyVersion: version }),
    /** As `admit`, of a body that takes too long to read. */
    admitUnread: (body: Buffer) => ({ body: close(body), bodyHash: hashBody(body), privacyVersion: version }),
    /**
     * Tokens of a whole value, or of a value of a kind as its detector reads it. The current key comes first, then
     * the former ones.
     */
    tokensOf: (value: string, kind?: JoinedDetector) =>
      kind === undefined ? options.tokensOf(value) : makeTokens(tokenKeys, kind, value),
    /** Whether a version is of rules that had another key under the name of one of these keys. */
    isForeign: (other: string) => {
      const mark = other.slice(other.indexOf('.') + 1);
      const named = tokenKeys.find(({ id }) => mark.startsWith(`${id}.`));
      return named !== undefined && markOf(named) !== mark;
    },
    /** Stored form of a record in quarantine. */
    seal: (record: RejectedRecord) => ({
      ...record,
      body: keepBytes(record.body),
      bodyHash: record.bodyHash ?? hashBody(record.body),
    }),
  };
};
