/** The signing secrets in force, and verification of the signature header over the raw bytes of the body (interface §5.4). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SigningSecretConfig } from '../../../schemas/config/webhook.ts';
import { terminal } from '../../lib/errors.ts';
import { type FileContents, readFiles, watchFiles } from '../../lib/file-watch.ts';
import { bareSecret } from '../../lib/secret.ts';
import type { ReceiverLog } from './receiver-log.ts';

type SigningKey = NonNullable<ReturnType<typeof keyOf>>;

export type RejectReason = 'signature_absent' | 'signature_malformed' | 'signature_wrong' | 'hook_refused' | 'address';

type Verdict =
  | { readonly ok: true; readonly key: string | null }
  | { readonly ok: false; readonly reason: RejectReason };

interface VerifyInput {
  readonly body: Buffer;
  /** The header as it came; a repeated one arrives joined by commas and is malformed. */
  readonly signature: string | undefined;
  readonly hookId: string | null;
  readonly keys: readonly SigningKey[];
  readonly allowUnsigned: boolean;
}

export type Verifier = typeof signatureVerifier;

const signaturePattern = /^sha256=[0-9a-f]{64}$/;

const isWellFormed = (signature: string | undefined): signature is string =>
  signature !== undefined && signaturePattern.test(signature);

/** An absent signature passes where unsigned deliveries are taken, any where there is no key to check it with. */
const passesUnsigned = ({ signature, keys, allowUnsigned }: Omit<VerifyInput, 'body'>): boolean =>
  allowUnsigned && (signature === undefined || keys.length === 0);

/** Fault of the header alone. Absent or malformed signatures are refused without their body: reading it and hashing it would cost an attacker nothing. */
const checkHeader = (input: Omit<VerifyInput, 'body'>): RejectReason | undefined => {
  if (passesUnsigned(input) || isWellFormed(input.signature)) return undefined;
  return input.signature === undefined ? 'signature_absent' : 'signature_malformed';
};

/**
 * Evaluates every key, and compares digests of one length in constant time. The time of an answer therefore reveals
 * nothing about the secrets.
 */
const verify = (input: VerifyInput): Verdict => {
  const { body, signature, hookId, keys } = input;
  const wellFormed = isWellFormed(signature);
  const given = wellFormed ? Buffer.from(signature.slice('sha256='.length), 'hex') : Buffer.alloc(32);
  let verifiedBy: string | undefined;
  let keyOfAnotherHook = false;
  for (const key of keys) {
    const equal = timingSafeEqual(createHmac('sha256', key.secret).update(body).digest(), given);
    if (!equal || !wellFormed) continue;
    if (key.hookIds === undefined || (hookId !== null && key.hookIds.has(hookId))) verifiedBy ??= key.name;
    else keyOfAnotherHook = true;
  }
  if (verifiedBy !== undefined) return { ok: true, key: verifiedBy };
  if (passesUnsigned(input)) return { ok: true, key: null };
  return { ok: false, reason: checkHeader(input) ?? (keyOfAnotherHook ? 'hook_refused' : 'signature_wrong') };
};

export const signatureVerifier = { checkHeader, verify };

/** The keys in force; they follow their files while the receiver runs. */
export type SigningKeys = ReturnType<typeof openSigningKeys>;

/**
 * Throws when no secret is configured (unless unsigned deliveries are allowed), or one cannot be read or is empty.
 * Later, a file that is emptied or removed retires its key; the last key left is never retired that way.
 */
export const openSigningKeys = (options: {
  secrets: readonly SigningSecretConfig[];
  allowUnsigned: boolean;
  log: ReceiverLog;
  intervalMs?: number;
}) => {
  const { secrets, allowUnsigned, log, intervalMs = 1_000 } = options;
  if (secrets.length === 0 && !allowUnsigned)
    throw terminal('WEBHOOK_SECRET_MISSING', 'No signing secret is configured for the webhook receiver.', {
      hint: 'Set webhook.secrets (or webhook.allow_unsigned: true, which accepts deliveries from anyone), then run callsync config check.',
    });
  if (allowUnsigned) log.warn({}, 'webhook.allow_unsigned is set, so anyone can send webhook deliveries.');
  const contents = readFiles(secrets.flatMap((entry) => entry.secret_file ?? []));
  let keys = secrets.map((entry) => keyOf(entry, contents) ?? refuseEmpty(entry));

  const watch = watchFiles({
    initial: contents,
    intervalMs,
    onChange: (changed) => {
      const next = secrets.flatMap((entry) => keyOf(entry, changed) ?? []);
      if (next.length === 0) {
        log.error({}, 'All signing secret files are empty or gone; the last secrets stay in use.');
        return;
      }
      keys = next;
      log.info({ keys: next.map((key) => key.name) }, 'Signing secrets read again.');
    },
  });
  return { current: () => keys, close: () => watch.close() };
};

/**
 * One of the configured keys as it is now, for signing as the service does; the first without a name.
 * @throws CallsyncError WEBHOOK_SECRET_MISSING, WEBHOOK_SECRET_EMPTY
 */
export const readSigningKey = (secrets: readonly SigningSecretConfig[], name?: string): SigningKey => {
  const entry = name === undefined ? secrets[0] : secrets.find((candidate) => candidate.name === name);
  if (entry === undefined) {
    const missing = name === undefined ? 'No signing secret is configured.' : `There is no signing secret "${name}".`;
    throw terminal('WEBHOOK_SECRET_MISSING', missing, { hint: 'Set webhook.secrets, then run callsync config check.' });
  }
  const key = keyOf(entry, readFiles(secrets.flatMap((one) => one.secret_file ?? [])));
  return key ?? refuseEmpty(entry);
};

/** How `sendWebhook` signs with a key; without one the delivery is unsigned. */
export const signWith = (key: SigningKey | undefined) => ({
  secret: key?.secret,
  hookId: [...(key?.hookIds ?? [])][0],
});

const refuseEmpty = (entry: SigningSecretConfig): never => {
  throw terminal('WEBHOOK_SECRET_EMPTY', `The signing secret "${entry.name}" is empty or its file cannot be read.`, {
    hint: `Write the secret into ${entry.secret_file ?? 'webhook.secrets'}, then run callsync config check.`,
  });
};

/** `hookIds` = the webhooks that it verifies; undefined = all. */
const keyOf = (entry: SigningSecretConfig, contents: FileContents) => {
  const given = entry.secret_file === undefined ? Buffer.from(entry.secret ?? '') : contents.get(entry.secret_file);
  const secret = bareSecret(given ?? Buffer.alloc(0));
  if (secret.length === 0) return undefined;
  return { name: entry.name, secret, hookIds: entry.hook_ids && new Set(entry.hook_ids) };
};
