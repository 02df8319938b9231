/** Notifications: told once, told when over, signed as receivers' libraries verify it, to channels that may be away. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { notificationsConfigSchema } from '../../schemas/config/notifications.ts';
import { openChannels } from '../../src/health/notifications/channels.ts';
import { describeWeek, queueDigest } from '../../src/health/notifications/digest.ts';
import { notice, sendMessages } from '../../src/health/notifications/watch.ts';
import { dayMicros } from '../../src/lib/timestamps.ts';
import { issueEpoch } from '../../src/store/loads/warehouses.ts';
import { openStore } from '../../src/store/store.ts';
import { createErasures } from '../support/erasures.ts';
import { useFolder } from '../support/folder.ts';
import { listen } from '../support/listen.ts';
import { createDatabase } from '../support/postgres.ts';
import { openProxy } from '../support/proxy.ts';
import { judge } from '../support/verdicts.ts';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`;
const folder = useFolder('notify');
let status = 200;
const received: { headers: Record<string, string>; body: string }[] = [];
const server = await listen(async (request, response) => {
  const body = String(Buffer.concat(await request.toArray()));
  received.push({ headers: request.headers as Record<string, string>, body });
  response.writeHead(status).end('ok');
});
afterAll(server.close);
const url = `${server.url}/hook`;
await writeFile(join(folder, 'secret'), `${secret}\n`);
await writeFile(join(folder, 'slack'), `${url}\n`);

const channels = [
  { type: 'webhook', name: 'pager', url, secret_file: join(folder, 'secret') },
  { type: 'slack', name: 'chat', url_file: join(folder, 'slack') },
];
const configOf = (rules?: unknown) =>
  notificationsConfigSchema.parse({ channels, ...(rules !== undefined && { rules }) });

const message = { id: 'msg-1', subject: '', state: 'firing', at: 0, condition: 'stale' } as const;

test('signs what it posts, and sends Slack text that mentions nobody', async () => {
  const [pager, chat] = openChannels(configOf()).values();
  const data = { condition: 'stale', subject: '', state: 'firing', summary: '<!channel> & more' } as const;
  for (const channel of [pager, chat]) await channel?.send({ ...message, ...data });
  const [signed, plain] = received;
  const told = { type: 'callsync.stale.firing', timestamp: '1970-01-01T00:00:00.000Z', data };
  expect(new Webhook(secret).verify(signed?.body ?? '', signed?.headers ?? {})).toEqual(told);
  expect(signed?.headers['webhook-id']).toBe('msg-1');
  expect(() => new Webhook(secret).verify(`${signed?.body} `, signed?.headers ?? {})).toThrow();
  expect(JSON.parse(plain?.body ?? '')).toEqual({ text: '*Wrong*: &lt;!channel&gt; &amp; more' });
  status = 500;
  const failed = { code: 'NOTIFICATION_FAILED', kind: 'transient' };
  await expect(pager?.send({ ...message, ...data })).rejects.toMatchObject(failed);
});

test('the message of a week goes to every channel, and no receiver can take it for a fault', async () => {
  status = 200;
  received.length = 0;
  const week = { condition: 'digest', summary: 'Week\nProven' } as const;
  for (const channel of openChannels(configOf()).values()) await channel.send({ ...message, ...week });
  const [signed, plain] = received.map(({ body }) => JSON.parse(body));
  expect(signed.type).toBe('callsync.digest');
  expect(signed.data).toEqual({ ...week, subject: '' });
  expect(plain).toEqual({ text: 'Week\nProven' });
});

test('posts through the proxy of the environment', async () => {
  const proxy = await openProxy(server.url);
  vi.stubEnv('HTTPS_PROXY', proxy.url);
  vi.stubEnv('HTTP_PROXY', proxy.url);
  onTestFinished(() => void vi.unstubAllEnvs());
  const away = { type: 'webhook', name: 'away', url: 'http://hooks.example/hook', secret_file: join(folder, 'secret') };
  await writeFile(join(folder, 'slack-away'), 'http://slack.example/hook');
  const chat = { type: 'slack', name: 'chat', url_file: join(folder, 'slack-away') };
  status = 200;
  for (const channel of openChannels(notificationsConfigSchema.parse({ channels: [away, chat] })).values())
    await channel.send({ ...message, summary: 'It is late.' });
  expect(proxy.hosts).toEqual(['hooks.example:80', 'slack.example:80']);
});

test('tells each change once, however many processes look, and again when a channel was away', async () => {
  const database = await createDatabase();
  const store = await openStore({ url: database.url });
  onTestFinished(() => store.close().then(database.drop));
  const { rules } = configOf([{ when: 'stale' }, { when: 'unproven', after: '1h' }]);
  const telling = rules.map(({ when, after }) => ({ condition: when, after, channels: ['pager', 'chat'] }));
  const stale = { condition: 'stale', subject: '', summary: 'New calls are not read.', isUrgent: true } as const;
  const unproven = { condition: 'unproven', subject: 'main', summary: '3 windows.', isUrgent: true } as const;
  const sent: string[] = [];
  let isAway = false;
  const look = async (wrong: Parameters<typeof notice>[1]): Promise<string[]> => {
    sent.length = 0;
    await Promise.all([1, 2, 3].map(() => notice(store, wrong, telling)));
    const send: Parameters<typeof sendMessages>[1] = async ({ channel, condition, state, id }) => {
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      if (isAway && channel === 'chat') return false;
      sent.push(`${channel} ${condition} ${state}`);
      return true;
    };
    await Promise.all([sendMessages(store, send), sendMessages(store, send)]);
    return sent.toSorted();
  };
  expect(await look([])).toEqual([]);
  isAway = true;
  expect(await look([stale, unproven])).toEqual(['pager stale firing']);
  isAway = false;
  expect(await look([stale, unproven])).toEqual([]);
  await store.query(`UPDATE notification_messages SET next_at = now()`);
  expect(await look([stale, unproven])).toEqual(['chat stale firing']);
  await store.query(`UPDATE notified_conditions SET since = since - interval '2 hours'`);
  expect(await look([stale, unproven])).toEqual(['chat unproven firing', 'pager unproven firing']);
  expect(await look([unproven])).toEqual(['chat stale resolved', 'pager stale resolved']);
  expect(await look([])).toEqual(['chat unproven resolved', 'pager unproven resolved']);
  // An outage that ended before its message is not told.
  expect(await look([unproven])).toEqual([]);
  expect(await look([])).toEqual([]);
  expect(await store.query('SELECT 1 FROM notification_messages')).toEqual([]);
});

test('sends each past week once: proven days, missing calls, lost webhooks, healed differences', async () => {
  const database = await createDatabase();
  const erasures = createErasures();
  const store = await openStore({ url: database.url, erasures: erasures.open });
  onTestFinished(() => store.close().then(database.drop).then(erasures.remove));
  await issueEpoch(store, 'test', 0);
  const monday = Date.parse('2026-03-02T00:00:00Z') * 1000;
  const prove = (day: number, counts: Parameters<typeof judge>[2]) =>
    judge(store, { from: monday + day * dayMicros, to: monday + (day + 1) * dayMicros }, counts);
  for (const day of [0, 1, 3, 4, 6]) await prove(day, {});
  await prove(2, { outcome: 'healed', missing: 2, different: 1, healed: 3 });
  await prove(5, { outcome: 'unproven', different: 4 });
  const look = async (at: string, pageUrl?: string, warehouses = ['main']) => {
    const input = { channels: ['pager', 'chat'], warehouses, version: 'test', pageUrl };
    const now = Date.parse(at) * 1000;
    await Promise.all([1, 2, 3].map(() => queueDigest(store, { ...input, comparedAfter: 2 * dayMicros, now })));
    const sent: string[] = [];
    await sendMessages(store, async ({ channel, summary }) => sent.push(`${channel}: ${summary}`) > 0);
    return sent.toSorted();
  };
  // The first week is not told, for it began before the store; nor is a week whose last day is not compared yet.
  expect(await look('2026-03-06T00:00:00Z')).toEqual([]);
  expect(await look('2026-03-11T00:00:00Z')).toEqual([]);
  const lines = (link: (day: number) => string) => [
    'Week from 2026-03-02 to 2026-03-08',
    `Proven days: 6 of 7. ${link(7)}`,
    `Missing calls: 2, found by comparison: late at the service, or gone from a warehouse. ${link(4)}`,
    `Lost webhooks: 0 of 0 calls. callsync coverage`,
    `Healed differences: 3 of 7. ${link(4)}`,
  ];
  const page = 'https://callsync.example:9464';
  const text = lines((day) => `${page}/verdicts?warehouse=main&day=2026-03-0${day}`).join('\n');
  expect(await look('2026-03-11T13:00:00Z', `${page}/`)).toEqual([`chat: ${text}`, `pager: ${text}`]);
  expect(await look('2026-03-12T00:00:00Z')).toEqual([]);
  expect(await look('2026-03-18T13:00:00Z', undefined, [])).toEqual([]);
  // After a long absence, one message has every week since the last.
  const weeks = expect.stringContaining('Weeks from 2026-03-09 to 2026-03-29');
  expect(await look('2026-04-01T13:00:00Z')).toEqual([weeks, weeks]);
  const day = { warehouse: 'main', state: 'proven', calls: 1 } as const;
  const none = { calls_listed: 1, calls_found: 1, excluded: 0, missing: 0, different: 0, healed: 0, deleted: 0 };
  const days = [1, 2, 3, 4, 5, 6, 7].map((n) => ({ ...day, ...none, day: `2026-03-0${n}` }));
  const told = describeWeek({ days, webhooks: { expected: 1_034, lost: 12 } });
  expect(told).toContain('Proven days: 7 of 7. callsync coverage --day 2026-03-07\n');
  expect(told).toContain('Lost webhooks: 12 of 1,034 calls. callsync coverage\n');
});
