/** The folders of examples/ that need nothing but this package; the campaigns dashboards and neighbours run the others. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isGenuine } from '../examples/verify-webhook/verify.ts';
import { loadConfig } from '../src/config/load.ts';
import { signBody } from '../src/lib/send-webhook.ts';
import { json, openSource, startServer } from './source/local-server.ts';
import { readSimulated } from './source/simulated.ts';
import { useFolder } from './support/folder.ts';
import { root } from './support/repository.ts';

const folder = useFolder('examples');

describe('verify-webhook accepts what the service signed, and nothing else', () => {
  const secret = 'a secret of the examples';
  const body = Buffer.from('{"unique_id": "c1",\r\n "note": "déjà vu"}');
  const genuine = signBody(body, secret);
  const cases = [
    ['the bytes as they came', body, genuine, true],
    ['JSON that was written again', Buffer.from(JSON.stringify(JSON.parse(`${body}`))), genuine, false],
    ['another secret', body, signBody(body, `${secret}.`), false],
    ['no signature', body, '', false],
    ['the digest alone', body, genuine.slice('sha256='.length), false],
    ['a signature that is too long', body, `${genuine}0`, false],
  ] as const;
  const hasPython = spawnSync('python3', ['--version']).status === 0;

  test.each(cases)('in TypeScript: %s', (_, bytes, signature, expected) => {
    expect(isGenuine(bytes, signature, secret)).toBe(expected);
  });

  test('in TypeScript: no header', () => expect(isGenuine(body, undefined, secret)).toBe(false));

  test.skipIf(!hasPython).each(cases)('in Python: %s', (_, input, signature, expected) => {
    const file = join(folder, 'secret');
    writeFileSync(file, `${secret}\n`);
    const verify = join(root, 'examples/verify-webhook/verify.py');
    const run = (...args: string[]) => spawnSync('python3', [verify, ...args], { input }).status;
    expect(run(file, signature)).toBe(expected ? 0 : 1);
    expect(run(file)).toBe(2);
  });
});

test('short is valid, and has at most 40 lines', async () => {
  const path = join(root, 'examples/short/callsync.yaml');
  const { config } = await loadConfig({ path, env: {} });
  expect(config.privacy.profile).toBe('pseudonymous');
  expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThanOrEqual(40);
});

test('own-preset reads all calls of the list that it describes', async () => {
  const start = Date.UTC(2026, 0, 1);
  const calls = Array.from({ length: 120 }, (_, index) => ({
    unique_id: `c${index}`,
    processed: new Date(start + index * 60_000).toISOString(),
  }));
  const server = await startServer((request, response, { pathname, searchParams }) => {
    const { p, per_page, processed_since, processed_before } = Object.fromEntries(searchParams);
    if (request.headers['x-api-key'] !== 'a-key') return json(response, 401, {});
    if (pathname !== '/v2/call-records') return json(response, 404, {});
    const [from, to] = [Number(processed_since) * 1000, Number(processed_before) * 1000];
    const found = calls.filter(({ processed }) => Date.parse(processed) >= from && Date.parse(processed) < to);
    const begin = Number(p) * Number(per_page);
    json(response, 200, { result: { total: found.length, calls: found.slice(begin, begin + Number(per_page)) } });
  });
  const keyFile = join(folder, 'api.key');
  writeFileSync(keyFile, 'a-key\n');
  const path = join(root, 'examples/own-preset/callsync.yaml');
  const env = { CALLSYNC_SOURCE__BASE_URL: server.url, CALLSYNC_SOURCE__TOKEN_FILE: keyFile };
  const { config } = await loadConfig({ path, env });
  const window = { axis: 'processed', from: start * 1000, to: (start + 7_200_000) * 1000 };
  const { inside, result } = await readSimulated(openSource(config.source), window);
  expect([...inside].sort()).toEqual(calls.map(({ unique_id }) => unique_id).sort());
  expect(result).toMatchObject({ shown: 'total' });
});
