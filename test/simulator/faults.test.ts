import { request } from 'node:http';
import { expect, test } from 'vitest';
import { type FaultKind, faultKinds } from '../../schemas/simulator.ts';
import { parseQuietly } from '../../src/lib/parse-json.ts';
import { openApi } from './api.ts';

/** The view of a plain client: the status and whether the body was whole and readable, or the failure. */
const look = (url: string, token: string): Promise<string> =>
  new Promise((resolve) => {
    const headers = { Authorization: `bearer ${token}` };
    const asked = request(`${url}/calls?limit=20`, { headers, agent: false }, async (response) => {
      const { statusCode } = response;
      const body = await response.toArray().catch(() => undefined);
      if (body === undefined) return resolve(`${statusCode} broken`);
      const kind = parseQuietly(Buffer.concat(body)) === undefined ? 'text' : 'json';
      resolve(`${statusCode} ${kind} ${response.headers['retry-after'] ?? ''}`.trim());
    });
    asked.setTimeout(1_500, () => asked.destroy(new Error('timeout')));
    asked.on('error', (error) => resolve(error.message === 'timeout' ? 'timeout' : 'no answer'));
    asked.end();
  });

const expected: Readonly<Record<FaultKind, RegExp>> = {
  error_500: /^500 json$/,
  html_502: /^502 text$/,
  unavailable_503: /^503 text$/,
  too_many_429: /^429 json$/,
  reset_before_headers: /^no answer$/,
  truncated_body: /^200 broken$/,
  slow_body: /^200 json$/,
  wrong_length: /^(200 text|no answer|200 broken)$/,
  invalid_json: /^200 text$/,
  hang: /^timeout$/,
  refused_400: /^400 json$/,
  refused_416: /^416 json$/,
  refused_422: /^422 json$/,
  forbidden_403: /^403 json$/,
  missing_404: /^404 json$/,
};

const to = '2024-03-08T00:00:00Z';

test('fails in every way it names', async () => {
  const { simulator, token } = await openApi({ calls: { count: 20, utterances: 1, to } });
  for (const kind of faultKinds) {
    await simulator.configure({ faults: { rates: {}, slowMs: 100 } });
    expect(await look(simulator.url, token)).toBe('200 json');
    await simulator.configure({ faults: { rates: { [kind]: 1 } } });
    expect(await look(simulator.url, token), kind).toMatch(expected[kind]);
  }
  expect(Object.keys((await simulator.stats()).faults).sort()).toEqual([...faultKinds].sort());
});

test('fails the same requests for the same seed, at about the stated rate', async () => {
  const run = async (): Promise<string[]> => {
    const faults = { rates: { error_500: 0.1, html_502: 0.1 } };
    const { get } = await openApi({ seed: 5, calls: { count: 5, utterances: 0, to }, faults });
    const statuses: string[] = [];
    for (let i = 0; i < 200; i++) statuses.push(String((await get('/calls?limit=1')).status));
    return statuses;
  };
  const first = await run();
  expect(await run()).toEqual(first);
  const failed = first.filter((status) => status !== '200').length;
  expect(failed).toBeGreaterThan(20);
  expect(failed).toBeLessThan(65);
});

test('says when to retry where configured', async () => {
  const rateLimit = { requests: 1, retryAfter: 'seconds', headers: true } as const;
  const { get, list } = await openApi({ calls: { count: 20, to }, rateLimit });
  expect((await list()).data).toHaveLength(20);
  const refused = await get('/calls');
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.headers.get('x-ratelimit-limit')).toBe('1');
});
