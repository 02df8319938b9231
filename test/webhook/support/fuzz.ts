/** Sends mutated deliveries over raw sockets and says for each whether it was valid and what became of it. */
import { createHmac } from 'node:crypto';
import { hash32, randomStream } from '../../../src/simulator/calls/random.ts';
import { withInheritedNames } from '../../support/inherited-names.ts';
import { exchange, head } from './raw-http.ts';
import { testSecret } from './receiver.ts';

export interface Answered {
  readonly number: number;
  readonly mutation: string;
  /** The bytes that a receiver sees as the body. */
  readonly body: Buffer;
  /** Whether the signature header is, by the interface, the right one for these bytes. */
  readonly valid: boolean;
  readonly accepted: boolean;
  /** Undefined: the connection was closed without an answer. */
  readonly status: number | undefined;
}

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

const setSignature =
  (make: (right: string, draft: Draft, random: Random) => Header): Mutate =>
  (draft, random) => {
    draft.headers[signatureName] = make(signed(draft.body), draft, random);
  };
const setBody =
  (make: (body: Buffer, random: Random) => Buffer, resign: boolean): Mutate =>
  (draft, random) => {
    draft.body = make(draft.body, random);
    draft.headers['Content-Length'] = String(draft.body.length);
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
const encodings = ['gzip', 'br', 'deflate', 'identity', 'nonsense', 'gzip, gzip'];

const mutations: Record<string, Mutate> = {
  none: () => {},
  'signature absent': setSignature(() => undefined),
  'signature empty': setSignature(() => ''),
  'digest cut short': setSignature((right, _draft, random) => right.slice(0, 7 + at(64, random))),
  'digit changed': setSignature((right, _draft, random) => {
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
    draft.body = make(0xfe);
    draft.headers['Content-Length'] = String(draft.body.length);
  },
  'bytes that are no text, signed as text': (draft, random) => {
    draft.body = Buffer.concat([draft.body, Buffer.from([0x80 + at(64, random)])]);
    draft.headers['Content-Length'] = String(draft.body.length);
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
    draft.body = Buffer.alloc(0);
    draft.headers['Content-Length'] = '0';
    draft.headers[signatureName] = undefined;
  },
  'content type': (draft, random) => {
    draft.headers['Content-Type'] = contentTypes[at(contentTypes.length, random)];
  },
  'content encoding': (draft, random) => {
    draft.headers['Content-Encoding'] = encodings[at(encodings.length, random)];
  },
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
  'delivery id': (draft, random) => {
    const ids = ['', '-1', '1e309', 'NaN', '\u00ff\u00fe', 'x'.repeat(5_000), '0'.repeat(300), '1701699087.8115606'];
    draft.headers['X-Service-Delivery'] = ids[at(ids.length, random)];
  },
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

/** @param seed decides everything: the same seed sends the same deliveries. */
export const fuzzReceiver = async (options: { port: number; count: number; seed: number }) => {
  const { port, count, seed } = options;
  const names = Object.keys(mutations);
  const answered: Answered[] = [];
  let next = 0;
  const sender = async () => {
    for (let number = next++; number < count; number = next++) {
      // A stream of its own for each delivery, so that one can be sent again alone.
      const random = randomStream(hash32(seed, number));
      const mutation = names[at(names.length, random)] ?? 'none';
      const draft = makeDraft(number);
      mutations[mutation]?.(draft, random);
      const { headers, body } = draft;
      const { answers } = await exchange(port, [head(headers), ...(draft.wire ?? [body])]);
      const status = answers[0]?.status;
      answered.push({
        number,
        mutation,
        body,
        valid: headers[signatureName] === signed(body),
        accepted: status !== undefined && status >= 200 && status < 300,
        status,
      });
    }
  };
  await Promise.all(Array.from({ length: 16 }, sender));
  return answered;
};

const makeDraft = (number: number): Draft => {
  const call = { unique_id: `fuzz-${number}`, note: 'é'.repeat(20), ...withInheritedNames(number) };
  const body = Buffer.from(JSON.stringify(call));
  return {
    body,
    headers: {
      'Content-Type': 'application/json',
      'User-agent': 'Service-Webhook/1.2.0',
      'X-Service-Delivery': `${1_701_699_087 + number}.5`,
      'X-Service-Hook-Id': 'fuzz',
      [signatureName]: signed(body),
      'Content-Length': String(body.length),
    },
  };
};
