/** The status page without any server behind it: what it says, what it escapes, whom it answers. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Reason } from '../../src/health/coverage/why.ts';
import { createAccess } from '../../src/health/page/access.ts';
import { drawSections } from '../../src/health/page/draw.ts';
import { createPage } from '../../src/health/page/page.ts';
import { serveOperations } from '../../src/health/page/server.ts';
import { type PageState, sumUp } from '../../src/health/page/state.ts';
import { terminal } from '../../src/lib/errors.ts';
import type { StoredVerdict } from '../../src/store/windows/verdicts.ts';
import { openBrowser } from './support/browser.ts';
import { healthy, warehouse } from './support/healthy.ts';

const evil = `<img src=x onerror="alert(1)">'&`;
const calm: PageState = {
  ...{ at: healthy.at, version: '1.2.3', health: healthy, away: { store: null, temporal: null }, requestsAMinute: 12 },
  ...{ warehouses: ['main'], provenThrough: '2026-01-03', spool: null, backfills: [], events: [] },
  days: [{ day: '2026-01-02', warehouse: 'main', state: 'proven', calls: 7 }],
  funnel: [{ warehouse: null, calls: 9, p50: 0.2, p95: 1.5 }],
};

test('sums everything up in one sentence while nothing is wrong', () => {
  const sentence = 'The newest visible call is 5.0 s old; all is proven through 2026-01-03.';
  expect(sumUp(calm)).toMatchObject({ mood: 'good', word: 'On time', sentence });
  expect(sumUp({ ...calm, provenThrough: null }).sentence).toContain('; the oldest day is not proven yet.');
  expect(sumUp({ ...calm, health: { ...healthy, sync: null } }).word).toBe('Not started');
  const expected = { mood: 'action', wrong: [{ command: 'callsync doctor', since: 7 }] };
  expect(sumUp({ ...calm, health: null, away: { store: 7, temporal: 7 } })).toMatchObject(expected);
});

const sectionOf = (state: PageState, id: string) =>
  drawSections(state, null).find((one) => one.id === id)?.content.text;
const draw = (state: PageState, id: string) => sectionOf(state, id)?.replaceAll(/( |<[^>]+>)+/g, ' ');

test('Temporal that stays away is wrong too, and a short silence is not', () => {
  const away = (seconds: number) => ({ ...calm, away: { store: null, temporal: calm.at - seconds * 1000 } });
  expect(sumUp(away(5)).wrong).toEqual([]);
  expect(sumUp(away(20))).toMatchObject({ mood: 'delayed', wrong: [{ since: calm.at - 20_000 }] });
});

test('gives each part of the path a light, a rate and an age', () => {
  expect(draw(calm, 'path')).toContain('Service works 12 requests a minute listed 65 s ago');
  expect(draw(calm, 'path')).toContain('main works 61 calls loaded a minute newest call 5.0 s old, 4,000,000 pending');
  const faults = { workerAge: 60, refused: { count: 9, oldestAge: 9, newestAge: 1 } };
  const warehouses = [{ ...warehouse, liveOldestAge: 1_000 }];
  const lights =
    /Service works.*Webhook attention.*Poll attention.*Inbox attention.*Ledger attention.*main action required/;
  expect(draw({ ...calm, health: { ...healthy, ...faults, warehouses } }, 'path')).toMatch(lights);
});

test('shows four figures, and nothing that is zero', () => {
  expect(draw(calm, 'figures')).toMatch(/Calls a minute 62 .* 200 ms \/ 1.5 s .* none in the last hour.* 2026-01-03/);
  const refused = { ...healthy, flow: { ...healthy.flow, refused: 188 } };
  expect(draw({ ...calm, health: refused }, 'figures')).toContain('188 in the last hour');
  expect(draw(calm, 'waiting')).toMatch(/Inbox 1 2.0 s/);
  expect(draw(calm, 'waiting')).not.toMatch(/Quarantine|Rereads|Spool/);
  const empty = { ...calm, health: { ...healthy, inbox: { ...healthy.inbox, count: 0 } } };
  expect(sectionOf(empty, 'waiting')).toContain('hidden');
});

const everyMs = 50;

const serve = async (
  rules: Partial<Parameters<typeof createAccess>[0]> = {},
  state: PageState = calm,
  verdicts: readonly StoredVerdict[] = [],
  reasons: readonly Reason[] = [],
) => {
  let reads = 0;
  const acted: string[] = [];
  const act = (name: string) => async (fields: URLSearchParams, actor: string) => {
    if (fields.get('name') === 'gone') throw terminal('USAGE_BACKFILL', 'There is none.');
    acted.push(`${actor} ${name} ${fields.get('name')}`);
    return name;
  };
  const page = createPage({
    access: createAccess({ isOpen: true, readToken: undefined, users: [], hosts: [], ...rules }),
    actions: rules.users && { pause: act('pause'), resume: act('resume') },
    readState: async () => {
      reads += 1;
      return { ...state, at: reads };
    },
    readDay: async () => ({ verdicts, reasons }),
    everyMs,
  });
  const common = { listen: '127.0.0.1', port: 0, registry: new Registry(), ready: () => true, token: undefined };
  const { address, close } = await serveOperations({ ...common, page });
  onTestFinished(close);
  return { address, close, port: Number(new URL(address).port), reads: () => reads, acted };
};

/** fetch does not let a test choose the Host header. */
const ask = async (port: number, head: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\n\r\n`));
  return String(Buffer.concat(await socket.toArray()));
};

const backfill = { startedAt: '2026-01-01T00:00:00Z', closedAt: null, link: 'http://127.0.0.1/', progress: null };

const progress = { state: 'running', share: 0.5, startedAt: 0, totals: { windows: 2, calls: 1_234 } } as const;
const running = { ...backfill, name: 'big', state: 'running', error: null, progress };

test('the number of calls that a backfill has read is called so', () => {
  const text = sectionOf({ ...calm, backfills: [running] }, 'runs');
  expect(text).toMatch(/<th[^>]*>Calls<[\s\S]*1,234/);
  expect(text).not.toMatch(/<th[^>]*>Rows</);
});

test('shows hostile names as text, under a policy that runs nothing but its own script', async () => {
  const hostile: PageState = {
    ...calm,
    // The headline names it too.
    health: { ...healthy, warehouses: [{ ...warehouse, name: evil, lastError: evil, liveOldestAge: 901 }] },
    warehouses: [evil],
    days: calm.days.map((one) => ({ ...one, warehouse: evil })),
    backfills: [{ ...backfill, name: evil, state: evil, error: evil }],
    events: [{ at: 0, kind: evil, what: evil, actor: evil }],
    funnel: [{ warehouse: null, calls: 1, p50: 1, p95: 1 }],
  };
  const { address } = await serve({}, hostile);
  const answer = await fetch(address);
  const text = await answer.text();
  expect(text).not.toMatch(/<img|onerror="/);
  expect(text).toContain('&lt;img src=x onerror=&quot;');
  expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self'/);
  const targets = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, target = '']) => target);
  expect(targets.filter((one) => /^(https?:)?\/\//.test(one))).toEqual(['http://127.0.0.1/']);
  expect(text).not.toMatch(/style="|<style|<script>/);
  const verdicts = await fetch(`${address}/verdicts?warehouse=${encodeURIComponent(evil)}&day=2026-01-02`);
  expect([verdicts.status, (await verdicts.text()).includes('<img')]).toEqual([200, false]);
  for (const query of ['', '?day=2026-99-99&warehouse=a', '?day=<script>'])
    expect((await fetch(`${address}/verdicts${query}`)).status).toBe(400);
  expect((await fetch(`${address}/script.js`)).headers.get('content-type')).toContain('text/javascript');
});

test('answers only under its own names, so that a page whose name resolves here reads nothing', async () => {
  const { port } = await serve({ hosts: ['status.example'] });
  const others = ['attacker.example', `127.0.0.1.attacker.example:${port}`, ''];
  for (const host of [...others, 'status.example', `localhost:${port}`, `[::1]:${port}`, '10.1.2.3:80']) {
    const status = others.includes(host) ? 421 : 200;
    expect((await ask(port, `GET / HTTP/1.1\r\nHost: ${host}`)).split('\r\n')[0], host).toContain(` ${status} `);
  }
});

test('asks for a token where it is not open, and takes none by half', async () => {
  const users = [{ name: 'ann', token: () => 'act' }];
  const { address } = await serve({ isOpen: false, readToken: () => 'read', users });
  const status = async (authorization?: string) =>
    (await fetch(address, { headers: authorization === undefined ? {} : { authorization } })).status;
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const refused = ['Bearer ', 'Bearer rea', basic('bob:act'), basic('ann:'), basic('ann'), 'Digest read'];
  for (const wrong of [undefined, ...refused]) expect(await status(wrong), wrong ?? 'none').toBe(401);
  for (const right of ['Bearer read', basic('anybody:read'), basic('ann:act'), 'Bearer act'])
    expect(await status(right)).toBe(200);
  expect((await fetch(address, { method: 'POST', headers: { authorization: 'Bearer act' } })).status).toBe(405);
});

test('a section with nothing more to show is no lost connection, and a lost one is told once', async () => {
  const state = { ...calm };
  const { address, close } = await serve({}, state);
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.evaluateOnNewDocument('const wait = setTimeout; window.setTimeout = (run, ms) => wait(run, ms / 20);');
  await page.goto(address);
  Object.assign(state, { health: { ...healthy, inbox: { ...healthy.inbox, count: 0 } } });
  await page.waitForSelector('#waiting[hidden]');
  const textOf = (selector: string) => page.$eval(selector, ({ textContent }) => textContent);
  expect(`${await textOf('#live')}, ${await textOf('#headline')}`).toMatch(/^Live.* On time/);
  let asked = 0;
  page.on('requestfailed', () => (asked += 1));
  await close();
  await page.waitForSelector('#headline.delayed');
  await page.focus('#headline .copy');
  await vi.waitUntil(() => asked > 2, 20_000);
  expect(await page.$eval('#headline .copy', (button) => button.ownerDocument.activeElement === button)).toBe(true);
});

test('reads its state once for many clients, and not at all for nobody', async () => {
  const { address, reads } = await serve();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: 60 }, async () => await (await fetch(address)).text()));
  expect(reads()).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / everyMs);
  // Readings under way end, and then nobody reads for several intervals.
  const isQuiet = async (): Promise<boolean> => {
    const before = reads();
    await delay(6 * everyMs);
    return reads() === before;
  };
  await expect.poll(isQuiet).toBe(true);
});

test('acts only for a caller with a token of an own name, and only by a form of its own page', async () => {
  const users = [{ name: 'ann', token: () => 'act' }];
  const { address, acted } = await serve({ users }, { ...calm, backfills: [running] });
  const form = /name="form" value="([^"]+)"/.exec(await (await fetch(address)).text())?.[1] ?? '';
  const authorization = `Basic ${Buffer.from('ann:act').toString('base64')}`;
  const good = { origin: address, authorization };
  const post = async (headers: Record<string, string>, body: string, path = 'pause', method = 'POST') => {
    const options = { method, headers, ...(method === 'POST' && { body }), redirect: 'manual' as const };
    return (await fetch(`${address}/actions/${path}`, options)).status;
  };
  const fields = (more: Record<string, string>) => new URLSearchParams({ form, name: 'big', ...more }).toString();
  for (const [status, headers, body, path, method] of [
    [403, { authorization }, fields({})],
    [403, { ...good, origin: 'null' }, fields({})],
    [403, { ...good, origin: 'http://attacker.example' }, fields({})],
    [403, { ...good, 'sec-fetch-site': 'cross-site' }, fields({})],
    [403, good, fields({ form: 'guessed' })],
    [403, good, ''],
    [401, { origin: address }, fields({})],
    [401, { ...good, authorization: 'Bearer wrong' }, fields({})],
    [413, good, fields({ more: 'x'.repeat(9_000) })],
    [404, good, fields({}), 'constructor'],
    [405, good, fields({}), 'pause', 'GET'],
    [400, good, fields({ name: 'gone' })],
  ] as [number, Record<string, string>, string, string?, string?][])
    expect(await post(headers, body, path, method), `${status} ${JSON.stringify(headers)} ${body}`).toBe(status);
  expect(acted).toEqual([]);
  expect(await post({ ...good, 'sec-fetch-site': 'same-origin' }, fields({}))).toBe(303);
  expect(acted).toEqual(['ann pause big']);
});

test('has no form and no action where nobody may act', async () => {
  const { address } = await serve();
  expect(await (await fetch(address)).text()).not.toContain('<form');
  expect((await fetch(`${address}/actions/pause`, { method: 'POST' })).status).toBe(404);
});

test('a day has the reasons why it is not proven, and says how many listed calls may not be kept', async () => {
  const verdict = {
    ...{ window_from: 0, window_to: 3_600_000_000, outcome: 'proven', level: 'records', warehouse_level: 'rows' },
    ...{ calls_listed: 4_320, calls_found: 4_311, excluded: 9, missing: 0, different: 0, healed: 0, compared_at: 0 },
    warehouse: 'main',
  } as StoredVerdict;
  const day = { from: 0, to: 3_600_000_000, warehouse: 'main', since: 0, calls: ['<b>', 'c2'] };
  const { address } = await serve({}, calm, [verdict], [{ ...day, text: evil, command: 'callsync doctor' }]);
  const text = await (await fetch(`${address}/verdicts?warehouse=main&day=1970-01-01`)).text();
  expect(text).toMatch(/Why this day is not proven.*&lt;img.*Calls: &lt;b&gt;, c2\. .*<code>callsync doctor/);
  expect(text).toContain('<th scope="col">Found</th><th scope="col">Excluded</th><th scope="col">Missing</th>');
  expect(text.replaceAll(/ data-head="[^"]*"/g, '')).toContain('<td>4,311</td><td>9</td><td>0</td>');
});
