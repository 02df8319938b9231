/** Verification of the signature header over the raw bytes of the body (interface §5.4). */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SigningKey {
  readonly name: string;
  readonly secret: Buffer;
  /** The webhooks that it verifies; undefined = all. */
  readonly hookIds: ReadonlySet<string> | undefined;
}

export type RejectReason = 'signature_absent' | 'signature_malformed' | 'signature_wrong' | 'hook_refused' | 'address';

export type Verdict =
  | { readonly ok: true; readonly key: string | null }
  | { readonly ok: false; readonly reason: RejectReason };

export interface VerifyInput {
  readonly body: Buffer;
  /** The header as it came; a repeated one arrives joined by commas and is malformed. */
  readonly signature: string | undefined;
  readonly hookId: string | null;
  readonly keys: readonly SigningKey[];
  readonly allowUnsigned: boolean;
}

export interface Verifier {
  /** What is wrong with the header alone, before anything of the body is read. */
  checkHeader(input: Omit<VerifyInput, 'body'>): RejectReason | undefined;
  verify(input: VerifyInput): Verdict;
}

const signaturePattern = /^sha256=[0-9a-f]{64}$/;
const signatureLength = 'sha256='.length + 64;

/** The text of the signature header for these bytes. */
export const signBody = (body: Buffer, secret: Buffer | string): string => {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
};

const isWellFormed = (signature: string | undefined): signature is string =>
  signature !== undefined && signature.length === signatureLength && signaturePattern.test(signature);

/** An absent signature passes where unsigned deliveries are taken, any where there is no key to check it with. */
const passesUnsigned = ({ signature, keys, allowUnsigned }: Omit<VerifyInput, 'body'>): boolean =>
  allowUnsigned && (signature === undefined || keys.length === 0);

/** Absent or malformed signatures are refused without their body: reading it and hashing it would cost an attacker nothing. */
const checkHeader: Verifier['checkHeader'] = (input) => {
  if (passesUnsigned(input) || isWellFormed(input.signature)) return undefined;
  return input.signature === undefined ? 'signature_absent' : 'signature_malformed';
};

/**
 * Every key is evaluated whatever the header says, and digests of one length are compared in constant time, so that
 * the time of an answer tells nothing of the secrets.
 */
export const verifySignature: Verifier['verify'] = (input) => {
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

export const signatureVerifier: Verifier = { checkHeader, verify: verifySignature };
