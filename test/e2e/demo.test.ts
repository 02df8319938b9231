/** The demo command as a user runs it, and its status page in a real browser while it stays up. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { overhang, pictures, usePage, violations } from '../operations/support/browser.ts';
import { useFolder } from '../support/folder.ts';
import { listen } from '../support/listen.ts';
import { takePorts } from '../support/listening.ts';
import { useOpened } from '../support/opened.ts';
import { type Running, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

/** Pictures show more than a test needs. */
const calls = pictures === undefined ? '150' : '1000';
const folder = useFolder('demo');

/** A demo in the folder ends with this code before anything is started, and says why. */
const expectRefusal = async (code: number, said: RegExp, ...args: readonly string[]): Promise<void> => {
  const run = startProgram(['demo', '--exit', '--data-dir', folder, ...args]);
  expect({ code: await run.ended, said: run.stderr() }).toEqual({ code, said: expect.stringMatching(said) });
};

test('--break without an earlier demo is refused, and names the command that makes one', () =>
  expectRefusal(2, /^callsync: USAGE_DEMO: There is no demo [\s\S]*callsync demo --exit --data-dir/, '--break'));

test('ends with the truth intact and every settled day proven', async () => {
  const first = startProgram(['demo', '--exit', '--json', '--calls', calls, '--data-dir', folder]);
  expect(await first.ended, first.stderr()).toBe(0);
  const result = JSON.parse(first.stdout().trim().split('\n').at(-1) ?? '');
  expect(result.truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
  expect(result.truth.calls).toBeGreaterThan(130);
  expect([result.rows.calls, result.rows.verdicts >= result.proof.newest.length]).toEqual([result.calls, true]);
  expect(result.proof).toMatchObject({ warehouse: 'postgres', level: 'rows', days: result.proof.proven });
  expect(result.proof.days).toBeGreaterThanOrEqual(29);
  expect(result.proof.calls).toBeGreaterThan(100);
  expect(result.rows.words).toBeGreaterThan(1_000);
  expect(Object.keys(result.seconds)).toEqual(expect.arrayContaining(['start', 'backfill', 'live', 'check', 'total']));
  expect(first.stderr()).not.toMatch(/\n\s+at |continues the earlier/);
});

const patience = { timeout: 120_000, interval: 200 };
/** As a backfill of these days is named. */
const backfill = '1975-01-01_2024-12-31';
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

describe('a second start finds its data again, heals the rows that --break alters, stays up, and', () => {
  let second: Running;
  let store: pg.Pool;
  let operations = '';
  /** Somebody who may act on the page. */
  const actor = { username: 'demo', password: '' };
  const { held, text } = usePage();
  let page: Page;
  const query = async (sql: string, values: readonly unknown[] = []) => (await store.query(sql, [...values])).rows;
  // Those that the demo wishes for.
  useOpened(async () => takePorts(8780, 9464));
  beforeAll(async () => {
    second = startProgram(['demo', '--json', '--break', '--calls', calls, '--data-dir', folder]);
    const failed = second.ended.then((code) => {
      throw new Error(`the demo ended with ${code}: ${second.stderr()}`);
    });
    await Promise.race([until('the summary', async () => /password in \S+\)/.test(second.stderr()), 550_000), failed]);
    failed.catch(() => undefined);
    // Standard output has the result alone, once it ends.
    expect(second.stdout()).toBe('');
    const said = second.stderr();
    expect(said).toContain(`continues the earlier one in ${join(folder, 'demo')}.`);
    expect(said).toMatch(/over \d+ calls: lost 0, duplicated 0, stale 0, mismatched 0/);
    const [, address = '', file = ''] = /Status page: (\S+) .*password in (\S+)\)/.exec(said) ?? [];
    expect(address).not.toMatch(/:9464/);
    expect(parse(readFileSync(join(folder, 'demo/callsync.yaml'), 'utf8'))).toMatchObject({
      operations: { port: Number(new URL(address).port) },
      webhook: { port: expect.not.toBeOneOf([0, 8780]) },
    });
    const [, secretFile = '', host, port, user, database] =
      /PGPASSWORD=\$\(cat '([^']+)'\) psql -h (\S+) -p (\d+) -U (\S+) (\S+)/.exec(said) ?? [];
    operations = address;
    actor.password = readFileSync(file, 'utf8').trim();
    ({ page } = held);
    await page.authenticate(actor);
    const password = readFileSync(secretFile, 'utf8').trim();
    const options = '-c search_path=callsync';
    store = new pg.Pool({ host, port: Number(port), user, password, database, max: 1, options });
  });
  afterAll(async () => {
    await store?.end();
    second?.child.kill('SIGINT');
    // Ctrl-C finishes what is under way and keeps the data.
    expect(await second?.ended).toBe(0);
    const { truth, proof, broken } = JSON.parse(second.stdout());
    expect(truth).toMatchObject({ lost: 0 });
    expect(broken).toEqual({ altered: 20, deleted: 5, found: 25, healed: 25 });
    expect(proof.proven).toBe(proof.days);
  });

  test('refuses a third one in its folder before anything is started', () =>
    expectRefusal(6, /^callsync: DEMO_RUNS: A demo already runs in the folder \S+\.\n {2}End it, or .*--data-dir/));

  /** Tabs until an element has the focus, then presses Enter: no mouse is used. */
  const reach = async (selector: string): Promise<void> => {
    await page.focus('body');
    for (let tabs = 0; tabs < 150; tabs += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`)) return;
    }
    throw new Error(`not reached by keyboard: ${selector}`);
  };
  const press = async (selector: string): Promise<void> => {
    await reach(selector);
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  };

  test('follows what happens without being loaded again', async () => {
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.goto(operations);
    await page.evaluate('window.kept = true');
    await expect.poll(() => text('#live'), patience).toMatch(/^Live/);
    const before = await text('#path');
    await expect.poll(() => text('#path'), patience).not.toBe(before);
    // No queue is shown that is empty.
    await expect.poll(() => text('#waiting'), patience).not.toMatch(/Quarantine|Spool/);
    // A broken delivery, as the receiver keeps it: the merge of the inbox puts it into quarantine.
    await query(`INSERT INTO inbox (received_at, body, body_hash) VALUES (now(), 'x', sha256('x'))`);
    await expect.poll(() => text('#waiting'), patience).toMatch(/Quarantine1[\d.]+ /);
    expect(await text('#headline')).toMatch(/Attention.*quarantine/);
    expect(await page.evaluate('window.kept')).toBe(true);
    expect(errors).toEqual([]);
  });

  test('pauses and resumes a backfill by keyboard, and tells who did it', async () => {
    const run = async (...args: readonly string[]): Promise<void> => {
      const { ended, stderr } = startProgram([...args, '--config', join(folder, 'demo/callsync.yaml')]);
      expect(await ended, stderr()).toBe(0);
    };
    const body = JSON.stringify({ unique_id: 'replayed-1', timestamp: new Date().toISOString() });
    await query(`UPDATE quarantine SET body = $1 WHERE origin LIKE 'inbox:%'`, [body]);
    await run('quarantine', 'replay', '--all');
    expect(await query(`SELECT call_id FROM ledger WHERE call_id = 'replayed-1'`)).toHaveLength(1);
    // Fifty years of nothing: at the pace that the service allows, their reading takes minutes.
    await run('backfill', '--from', '1975-01-01', '--to', '2024-12-31', '--no-wait');
    await page.goto(operations);
    await expect.poll(() => page.$(`button[aria-label="Pause ${backfill}"]`), patience).not.toBeNull();
    await press(`button[aria-label="Pause ${backfill}"]`);
    await expect.poll(() => page.$(`button[aria-label="Resume ${backfill}"]`), patience).not.toBeNull();
    await press(`button[aria-label="Resume ${backfill}"]`);
    await expect.poll(() => page.$(`button[aria-label="Pause ${backfill}"]`), patience).not.toBeNull();
    const { username } = actor;
    await expect
      .poll(() => text('#events'), patience)
      .toMatch(new RegExp(`Resumed ${backfill} by ${username}[\\s\\S]*Paused ${backfill} by ${username}`));
  });

  const forms = [
    ['narrow', 320, 800, 'light'],
    ['narrow-dark', 320, 800, 'dark'],
    ['light', 1_280, 1_150, 'light'],
    ['dark', 1_280, 1_150, 'dark'],
  ] as const;
  const look = async (width: number, height: number, value: string): Promise<void> => {
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
    await page.goto(operations);
  };
  const takePictures = async (state: string): Promise<void> => {
    mkdirSync(pictures ?? '', { recursive: true });
    for (const [name, width, height, scheme] of forms) {
      if (name === 'narrow-dark') continue;
      await look(width, height, scheme);
      const last = width < 400 ? '#figures' : '#coverage';
      const end = await page.$eval(last, (section) => section.getBoundingClientRect().bottom);
      const clip = { x: 0, y: 0, width, height: Math.ceil(end) + 16 };
      await page.screenshot({ path: join(pictures ?? '', `status-${state}-${name}.png`), clip });
    }
  };

  test('fits 320 pixels and a desktop, in light and in dark, and axe finds nothing', async () => {
    for (const [name, width, height, scheme] of forms) {
      await look(width, height, scheme);
      expect(await overhang(page), name).toBeLessThanOrEqual(0);
      expect(await violations(page), name).toEqual([]);
    }
    await page.goto(`${operations}/verdicts?warehouse=postgres&day=${new Date().toISOString().slice(0, 10)}`);
    expect(await violations(page)).toEqual([]);
  });

  test('lets a page of another origin do nothing', async () => {
    const stranger = await listen((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<form method="post" action="${operations}/actions/pause"><input name="name" value="${backfill}"></form>
        <iframe src="${operations}"></iframe>`);
    });
    const other = await held.browser.newPage();
    onTestFinished(async () => {
      await other.close();
      await stranger.close();
    });
    // The browser has been told the token, and would send it along.
    await other.authenticate(actor);
    await other.goto(stranger.url.replace('127.0.0.1', 'localhost'));
    const read = await other.evaluate(`fetch('${operations}/').then(() => 'read', () => 'refused')`);
    const acted = await other.evaluate(
      `fetch('${operations}/actions/pause', { method: 'POST', mode: 'no-cors', body: 'name=${backfill}' }).then(() => 'sent', () => 'refused')`,
    );
    expect([read, acted]).toEqual(['refused', 'refused']);
    const submitting = other.evaluate(`document.querySelector('form').submit()`);
    const [answer] = await Promise.all([other.waitForNavigation(), submitting]);
    expect(answer?.status()).toBe(403);
    expect(other.frames().some((frame) => frame.url() === `${operations}/`)).toBe(false);
    expect(await query('SELECT FROM events WHERE what = $1', [`Paused ${backfill}`])).toHaveLength(1);
  });

  test.runIf(pictures !== undefined)('takes pictures of the page on time, behind and broken', async () => {
    const range = ['--from', daysAgo(40), '--to', daysAgo(0.5), '--force'];
    expect(await startProgram(['reconcile', ...range, '--config', join(folder, 'demo/callsync.yaml')]).ended).toBe(0);
    await page.goto(operations);
    await expect.poll(() => text('#headline'), patience).toMatch(/^On time/);
    await takePictures('on-time');
    const line = `ps --ppid ${second.child.pid} -o pid=,args= | grep simulator | awk '{print $1}' | xargs kill`;
    await promisify(execFile)('bash', ['-c', line]);
    const failed = async () => await query('SELECT FROM watermarks WHERE last_error IS NOT NULL');
    await expect.poll(failed, patience).not.toEqual([]);
    for (const [state, word, age] of [
      ['behind', /^Attention/, '2 minutes'],
      ['broken', /^Action required/, '20 minutes'],
    ] as const) {
      await query(`UPDATE watermarks SET (seen_to, watermark) = (now() - $1::interval, now() - $1::interval)`, [age]);
      await page.goto(operations);
      await expect.poll(() => text('#headline'), patience).toMatch(word);
      await takePictures(state);
    }
  });
});
