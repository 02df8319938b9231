import { unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sendWebhook } from '../../src/lib/send-webhook.ts';
import { listKeyUsage } from '../../src/store/delivery/delivery-statistics.ts';
import { openSigningKeys } from '../../src/webhook/server/signature.ts';
import { useFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { keepSending } from './support/receiver.ts';

const database = useInboxDatabase();
const folder = useFolder('keys');

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const file = (name: string) => join(folder, name);

test('rotates under load: nothing valid is refused, and a retired key never verifies again', async () => {
  await writeFile(file('a'), 'secret-a\n');
  await writeFile(file('b'), 'secret-b\n');
  const config = { secrets: ['a', 'b'].map((name) => ({ name, secret_file: file(name) })) };
  const started = await database.receive({ config, intervalMs: 30 });
  let secret = 'secret-a';
  let sent = 0;
  const refused: string[] = [];
  const stop = keepSending(['x', 'y', 'z', 'w'], async (id) => {
    const { delivered, attempts } = await started.send(id, { secret });
    sent += 1;
    if (!delivered) refused.push(`${id}: ${attempts[0]?.status ?? attempts[0]?.failure}`);
  });
  const more = (count: number, goal = sent + count) => until('more deliveries', () => sent >= goal);

  await more(50);
  secret = 'secret-b';
  await more(50);
  await unlink(file('a'));
  await until('the key is retired', () => !started.receiver.status().keys.includes('a'));
  await more(50);
  // The same name with a new secret: the service signs with the old one until it is told.
  await writeFile(file('a'), 'secret-c\n');
  await until('the new key is there', () => started.receiver.status().keys.includes('a'));
  secret = 'secret-c';
  await more(50);
  await stop();
  expect(refused).toEqual([]);

  for (let n = 0; n < 20; n += 1) {
    const { attempts } = await started.send(`${n}`, { secret: 'secret-a' });
    expect(attempts[0]?.status).toBe(403);
  }
  const usedTimes = async () => (await listKeyUsage(database.store)).reduce((sum, one) => sum + one.deliveries, 0);
  // Some may have gone through the spool.
  await until('all are in the inbox', async () => (await usedTimes()) >= sent);
  const usage = await listKeyUsage(database.store);
  expect([usage.map((one) => one.key), await usedTimes()]).toEqual([['a', 'b'], sent]);
  for (const one of usage) expect(one.lastUsed.getTime()).toBeGreaterThan(one.firstUsed.getTime());
});

test('keeps the last keys when all files are gone, and takes a file only once it stands still', async () => {
  await writeFile(file('only'), 'one');
  const secrets = [{ name: 'only', secret_file: file('only'), hook_ids: ['h'] }];
  const keys = openSigningKeys({ secrets, allowUnsigned: false, log: silent, intervalMs: 20 });
  const current = () => keys.current().map((key) => key.secret.toString());
  await writeFile(file('only'), '');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(current()).toEqual(['one']);
  await writeFile(file('only'), 'two\r\n');
  await until('the new secret is read', () => current()[0] === 'two');
  expect(keys.current()[0]?.hookIds).toEqual(new Set(['h']));
  keys.close();
});

test('refuses to start without a secret, or with one that is empty or cannot be read', async () => {
  const open = (secrets: Parameters<typeof openSigningKeys>[0]['secrets'], allowUnsigned = false) =>
    openSigningKeys({ secrets, allowUnsigned, log: silent }).close();
  expect(() => open([])).toThrow('No signing secret is configured for the webhook receiver.');
  expect(() => open([{ name: 'gone', secret_file: file('gone') }])).toThrow(/"gone" is empty or its file/);
  await writeFile(file('empty'), '\n');
  expect(() => open([{ name: 'empty', secret_file: file('empty') }])).toThrow(/"empty" is empty or its file/);
  expect(() => open([{ name: 'gone', secret_file: file('gone') }], true)).toThrow();
});

test('warns when unsigned deliveries are taken', async () => {
  const started = await database.receive({ config: { secrets: [], allow_unsigned: true } });
  expect(started.logged.join()).toContain('warn webhook.allow_unsigned is set, so anyone can send');
  expect(started.receiver.status()).toMatchObject({ allowUnsigned: true, keys: [] });
  expect((await sendWebhook({ url: started.url, body: '{}' })).delivered).toBe(true);
});
