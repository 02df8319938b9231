/** HTTP written by hand on a socket, for what a well-behaved client cannot send. */
import { once, setMaxListeners } from 'node:events';
import { connect, type Socket, type TcpSocketConnectOpts } from 'node:net';
import { signBody } from '../../../src/lib/send-webhook.ts';

export const testSecret = 'test-signing-secret';

export type RawAnswer = ReturnType<typeof parseAnswers>[number];

/** Writes the parts one after another and reads until the other side closes or `answers` have come. */
export const exchange = (
  port: number,
  parts: readonly (string | Buffer)[],
  options: { answers?: number; deadlineMs?: number } = {},
): Promise<{ readonly answers: readonly RawAnswer[] }> => {
  const { answers: wanted = 1, deadlineMs = 15_000 } = options;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let text = '';
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ answers: parseAnswers(text) });
    };
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end within ${deadlineMs} ms; so far: ${text}`));
    }, deadlineMs);
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (parseAnswers(text).length >= wanted) finish();
    });
    // A reset after the answer is the other side's way to say that it does not want the rest.
    socket.on('error', finish).on('close', finish);
    for (const part of parts) socket.write(part);
  });
};

/** A socket that is there, or was closed already; whatever is done to it is no error. */
export const openSocket = async (port: number, more: Partial<TcpSocketConnectOpts> = {}): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', ...more });
  setMaxListeners(0, socket);
  socket.on('error', () => socket.destroy());
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
  return socket;
};

export const drained = async (socket: Socket): Promise<void> =>
  void (await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {}));

const parseAnswers = (text: string) => {
  const answers: { status: number; headers: Readonly<Record<string, string>>; body: string }[] = [];
  let at = 0;
  for (;;) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) return answers;
    const [first = '', ...lines] = text.slice(at, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const status = Number(first.split(' ')[1]);
    const length = status === 100 ? 0 : Number(headers['content-length'] ?? 0);
    if (text.length < end + 4 + length) return answers;
    if (status !== 100) answers.push({ status, headers, body: text.slice(end + 4, end + 4 + length) });
    at = end + 4 + length;
  }
};

/** The head of a delivery; a header given as undefined is left out, one given as a list is repeated. */
export const head = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  line = 'POST /webhook HTTP/1.1',
): string => {
  const lines = Object.entries({ Host: 'localhost', ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}`),
  );
  return `${[line, ...lines].join('\r\n')}\r\n\r\n`;
};

/** Headers of a valid delivery of these bytes (interface §4.3). */
export const deliveryHeaders = (body: Buffer | string, deliveryId: string, secret = testSecret) => {
  const bytes = Buffer.from(body);
  return {
    'Content-Type': 'application/json',
    'User-agent': 'Service-Webhook/1.2.0',
    'X-Service-Delivery': deliveryId,
    'X-Service-Hook-Id': 'hook-1',
    'X-Service-Signature': signBody(bytes, secret),
    'Content-Length': String(bytes.length),
  };
};
