/**
 * Mutated deliveries: none is accepted without a valid signature, none makes the receiver fail, and every accepted one
 * is in the inbox with its bytes. The same fuzz runs against verifiers with a seeded bug and must find each.
 */
import { createHash, createHmac } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { hash32, randomStream } from '../../src/simulator/calls/random.ts';
import type { Verifier } from '../../src/webhook/server/signature.ts';
import { withInheritedNames } from '../support/inherited-names.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { deliveryHeaders, exchange, head, testSecret } from './support/raw-http.ts';

type Random = () => number;
type Header = string | readonly string[] | undefined;

interface Draft {
  body: Buffer;
  /** Written instead of the body; the body as it is without it. */
  wire?: readonly (string | Buffer)[];
  headers: Record<string, Header>;
}

const signatureName = 'X-Service-Signature';

/** The interface's own definition (§5.4), independent of the receiver's code. */
const signed = (body: Buffer) => `sha256=${createHmac('sha256', testSecret).update(body).digest('hex')}`;

type Mutate = (draft: Draft, random: Random) => void;

const setHeader =
  (name: string, make: (random: Random, body: Buffer) => Header): Mutate =>
  (draft, random) => {
    draft.headers[name] = make(random, draft.body);
  };
const setSignature = (make: (right: string, random: Random) => Header): Mutate =>
  setHeader(signatureName, (random, body) => make(signed(body), random));
const put = (draft: Draft, body: Buffer): void => {
  draft.body = body;
  draft.headers['Content-Length'] = String(body.length);
};
const setBody =
  (make: (body: Buffer, random: Random) => Buffer, resign: boolean): Mutate =>
  (draft, random) => {
    put(draft, make(draft.body, random));
    if (resign) draft.headers[signatureName] = signed(draft.body);
  };
const at = (length: number, random: Random) => Math.floor(random() * length);
const bytes = (random: Random, most: number) =>
  Buffer.from(Array.from({ length: at(most, random) }, () => at(256, random)));
const changeByte = (body: Buffer, random: Random) => {
  const changed = Buffer.from(body);
  const position = at(changed.length, random);
  changed[position] = (changed[position] ?? 0) ^ (1 + at(255, random));
  return changed;
};
const contentTypes = ['text/plain', '', ';;;', 'application/json; charset=utf-16'];
const ids = ['', '-1', '1e309', 'NaN', '\u00ff\u00fe', 'x'.repeat(5_000), '0'.repeat(300), '1701699087.8115606'];
const encodings = ['gzip', 'br', 'deflate', 'identity', 'nonsense', 'gzip, gzip'];

const mutations: Record<string, Mutate> = {
  none: () => {},
  'signature absent': setSignature(() => undefined),
  'signature empty': setSignature(() => ''),
  'digest cut short': setSignature((right, random) => right.slice(0, 7 + at(64, random))),
  'digit changed': setSignature((right, random) => {
    const position = 7 + at(64, random);
    const digit = ((Number.parseInt(right.charAt(position), 16) + 1 + at(15, random)) % 16).toString(16);
    return `${right.slice(0, position)}${digit}${right.slice(position + 1)}`;
  }),
  'upper case': setSignature((right) => right.replace(/[a-f]/g, (letter) => letter.toUpperCase())),
  'repeated signature': setSignature((right) => [right, right]),
  'wrong and right signature': setSignature((right) => [`sha256=${'0'.repeat(64)}`, right]),
  'of other text bytes': (draft, random) => {
    // The signature of a body with 0xff stands over one with 0xfe: the same text once decoded.
    const position = at(draft.body.length, random);
    const make = (byte: number) => Buffer.concat([draft.body.subarray(0, position), Buffer.from([byte]), draft.body]);
    draft.headers[signatureName] = signed(make(0xff));
    put(draft, make(0xfe));
  },
  'bytes that are no text, signed as text': (draft, random) => {
    put(draft, Buffer.concat([draft.body, Buffer.from([0x80 + at(64, random)])]));
    draft.headers[signatureName] = signed(Buffer.from(draft.body.toString('utf8')));
  },
  'byte changed': setBody(changeByte, false),
  'random body, signed': setBody((_body, random) => bytes(random, 4_000), true),
  'byte changed, signed': setBody(changeByte, true),
  'not JSON, signed': setBody(() => Buffer.from('{"unique_id": '), true),
  'deep JSON, signed': setBody((_body, random) => Buffer.from('['.repeat(1 + at(20_000, random))), true),
  'NUL, signed': setBody(() => Buffer.from('{"unique_id":"\\u0000"}\0'), true),
  'large, signed': setBody((_body, random) => Buffer.alloc(at(300_000, random), 'x'), true),
  'empty, signed': setBody(() => Buffer.alloc(0), true),
  'empty, not signed': (draft) => {
    put(draft, Buffer.alloc(0));
    draft.headers[signatureName] = undefined;
  },
  'content type': setHeader('Content-Type', (random) => contentTypes[at(contentTypes.length, random)]),
  'content encoding': setHeader('Content-Encoding', (random) => encodings[at(encodings.length, random)]),
  chunked: (draft, random) => {
    draft.headers['Content-Length'] = undefined;
    draft.headers['Transfer-Encoding'] = 'chunked';
    const parts: (string | Buffer)[] = [];
    for (let from = 0; from < draft.body.length; ) {
      const part = draft.body.subarray(from, from + 1 + at(500, random));
      parts.push(`${part.length.toString(16)}\r\n`, part, '\r\n');
      from += part.length;
    }
    draft.wire = [...parts, '0\r\n\r\n'];
  },
  'delivery id': setHeader('X-Service-Delivery', (random) => ids[at(ids.length, random)]),
  'repeated ids': (draft) => {
    draft.headers['X-Service-Delivery'] = ['1', '2'];
    draft.headers['X-Service-Hook-Id'] = ['a', 'b'];
  },
  'no ids': (draft) => {
    for (const name of ['X-Service-Delivery', 'X-Service-Hook-Id', 'User-agent']) draft.headers[name] = undefined;
  },
  'many headers': (draft, random) => {
    for (let n = at(90, random); n > 0; n -= 1) draft.headers[`X-Filler-${n}`] = 'x'.repeat(at(40, random));
  },
};

const names = Object.keys(mutations);

/**
 * Sends a mutated delivery over a raw socket, and says whether it was valid and what became of it.
 * @param seed decides everything: the same seed sends the same deliveries.
 */
const sendMutated = async (port: number, number: number, seed: number) => {
  // A stream of its own for each delivery, so that one can be sent again alone.
  const random = randomStream(hash32(seed, number));
  const mutation = names[at(names.length, random)] ?? 'none';
  const draft = makeDraft(number);
  mutations[mutation]?.(draft, random);
  const { headers, body } = draft;
  const { answers } = await exchange(port, [head(headers), ...(draft.wire ?? [body])]);
  // Undefined: the connection was closed without an answer.
  const status = answers[0]?.status;
  const accepted = status !== undefined && status >= 200 && status < 300;
  // By the interface: the signature header is the right one for the bytes that a receiver sees as the body.
  return { number, mutation, body, valid: headers[signatureName] === signed(body), accepted, status };
};

const makeDraft = (number: number): Draft => {
  const call = { unique_id: `fuzz-${number}`, note: 'é'.repeat(20), ...withInheritedNames(number) };
  const body = Buffer.from(JSON.stringify(call));
  return { body, headers: { ...deliveryHeaders(body, `${1_701_699_087 + number}.5`), [signatureName]: signed(body) } };
};

const seed = Number(process.env.CALLSYNC_SEED ?? Math.floor(Math.random() * 2 ** 31));

export const describeFuzz = ({ count }: { count: number }): void => {
  const database = useInboxDatabase();
  beforeEach(() => database.empty());

  const config = { limits: { headers_timeout_s: 30, request_timeout_s: 30 }, rejected_per_minute: 5 };

  const fuzz = async (count: number, seed: number, verify?: Verifier['verify']) => {
    // A broken verifier sees every delivery: the check of the header would hide most faults.
    const verifier = verify && { checkHeader: () => undefined, verify };
    const { port, receiver, stop } = await database.receive({ config, ...(verifier && { verifier }) });
    const answered: Awaited<ReturnType<typeof sendMutated>>[] = [];
    let next = 0;
    const sender = async () => {
      for (let number = next++; number < count; number = next++) answered.push(await sendMutated(port, number, seed));
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    expect(receiver.ready()).toBe(true);
    await stop();
    return answered;
  };

  const title = `accepts exactly the valid ones of ${count} (seed ${seed}), never fails, and has what it accepted`;
  test(title, async () => {
    const answered = await fuzz(count, seed);
    const wrong = answered.filter(({ valid, accepted }) => accepted && !valid);
    const refused = answered.filter(({ valid, accepted }) => valid && !accepted);
    const failed = answered.filter(({ status }) => status !== undefined && status >= 500);
    const faults = [wrong, refused, failed].map((some) =>
      some.map(({ mutation, status, number }) => `${number} ${mutation}: ${status}`),
    );
    expect(faults, 'wrong, refused, failed').toEqual([[], [], []]);
    const { rows } = await database.store.pool.query<{ hash: Buffer; body: Buffer }>(
      "SELECT body_hash AS hash, sha256(body) AS body FROM inbox WHERE outcome = 'pending'",
    );
    const stored = rows.map((row) => row.body.toString('hex')).sort();
    const accepted = answered.filter((one) => one.accepted);
    expect(stored).toEqual(accepted.map((one) => createHash('sha256').update(one.body).digest('hex')).sort());
    expect(rows.every((row) => row.hash.equals(row.body))).toBe(true);
    expect(accepted.length).toBeGreaterThan(count / 20);
  });

  describe('finds a verifier that', () => {
    const digestOf = (text: Buffer, secret: Buffer) => createHmac('sha256', secret).update(text).digest('hex');
    const judge =
      (passes: (digest: string, signature: string) => boolean): Verifier['verify'] =>
      ({ body, signature = '', keys }) =>
        keys.some(({ secret }) => passes(`sha256=${digestOf(body, secret)}`, signature))
          ? { ok: true, key: 'primary' }
          : { ok: false, reason: 'signature_wrong' };
    const ofText = judge((right, given) => given === right);
    const broken: Record<string, Verifier['verify']> = {
      'compares the body decoded as text': (delivery) =>
        ofText({ ...delivery, body: Buffer.from(String(delivery.body)) }),
      'takes an absent or empty signature': judge((right, given) => given === '' || given === right),
      'takes a digest cut short': judge((right, given) => given.startsWith('sha256=') && right.startsWith(given)),
      'takes any of several signatures': judge((right, given) => given.includes(right)),
      'ignores case': judge((right, given) => given.toLowerCase() === right),
      'throws on a digest of another length': judge((right, given) => {
        if (given.length !== right.length) throw new RangeError('Input buffers must have the same byte length');
        return given === right;
      }),
    };
    test.each(Object.entries(broken))('%s', async (_what, verify) => {
      const answered = await fuzz(300, 7, verify);
      const found = answered.filter(({ valid, accepted, status = 0 }) => accepted !== valid || status >= 500);
      expect(found.length).toBeGreaterThan(0);
    });
  });
};
