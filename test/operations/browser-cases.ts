/** The status page in a real browser: it follows what happens, is worked by keyboard, fits, and obeys only its own forms. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'puppeteer-core';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { listen } from '../support/listen.ts';
import { overhang, usePage, violations } from './support/browser.ts';

/** A running installation with a status page. */
export interface LookedAt {
  /** Of the operations port. */
  readonly operations: string;
  /** Of somebody who may act on the page. */
  readonly actor: { readonly username: string; readonly password: string };
  /** Ends the simulated service. */
  stopService(): Promise<unknown>;
  /** Compares all days again: days that were healed are then proven. */
  proveAgain(): Promise<unknown>;
  /** The last lines of the demo before it stays up. */
  said(): string;
  /** Asks its store. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
}

const patience = { timeout: 120_000, interval: 200 };
/** Folder for the pictures of the docs; without it none are taken. */
export const pictures = process.env.CALLSYNC_SCREENSHOTS;
/** As the page names a backfill of these days. */
const backfill = '1975-01-01_2024-12-31';

export const testInBrowser = (site: () => LookedAt): void => {
  const { held, text } = usePage();
  let page: Page;
  beforeAll(async () => {
    page = held.page;
    await page.authenticate(site().actor);
  });
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
    await page.goto(site().operations);
    await page.evaluate('window.kept = true');
    await expect.poll(() => text('#live'), patience).toMatch(/^Live/);
    const before = await text('#path');
    await expect.poll(() => text('#path'), patience).not.toBe(before);
    // No queue is shown that is empty.
    await expect.poll(() => text('#waiting'), patience).not.toMatch(/Quarantine|Spool/);
    // A broken delivery, as the receiver keeps it: the merge of the inbox puts it into quarantine.
    await site().query(`INSERT INTO inbox (received_at, body, body_hash) VALUES (now(), 'x', sha256('x'))`);
    await expect.poll(() => text('#waiting'), patience).toMatch(/Quarantine1[\d.]+ /);
    expect(await text('#headline')).toMatch(/Attention.*quarantine/);
    expect(await page.evaluate('window.kept')).toBe(true);
    expect(errors).toEqual([]);
  });

  test('starts, pauses and resumes a backfill and replays a record by keyboard, and tells who did it', async () => {
    const body = JSON.stringify({ unique_id: 'replayed-1', timestamp: new Date().toISOString() });
    await site().query(`UPDATE quarantine SET body = $1 WHERE origin LIKE 'inbox:%'`, [body]);
    await page.goto(site().operations);
    await reach('#actions summary');
    await page.keyboard.press('Enter');
    // Fifty years of nothing: at the pace that the service allows, their reading takes minutes.
    for (const [name, typed] of [
      ['from', '01011975'],
      ['to', '12312024'],
    ] as const) {
      await reach(`form[action="/actions/backfill"] input[name="${name}"]`);
      await page.keyboard.type(typed);
    }
    await press('form[action="/actions/backfill"] button');
    await expect.poll(() => page.$(`button[aria-label="Pause ${backfill}"]`), patience).not.toBeNull();
    await press(`button[aria-label="Pause ${backfill}"]`);
    await expect.poll(() => page.$(`button[aria-label="Resume ${backfill}"]`), patience).not.toBeNull();
    await press(`button[aria-label="Resume ${backfill}"]`);
    await expect.poll(() => page.$(`button[aria-label="Pause ${backfill}"]`), patience).not.toBeNull();
    await reach('#actions summary');
    await page.keyboard.press('Enter');
    await press('form[action="/actions/replay"] button');
    const { username } = site().actor;
    await expect
      .poll(() => text('#events'), patience)
      .toMatch(new RegExp(`Replayed 1 quarantined records, 0 still refused by ${username}`));
    expect(await text('#events')).toMatch(
      new RegExp(`Resumed ${backfill} by ${username}[\\s\\S]*Paused ${backfill} by ${username}[\\s\\S]*Started`),
    );
    expect(await site().query(`SELECT call_id FROM ledger WHERE call_id = 'replayed-1'`)).toHaveLength(1);
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
    await page.goto(site().operations);
  };
  const takePictures = async (state: string): Promise<void> => {
    mkdirSync(pictures ?? '', { recursive: true });
    for (const [name, width, height, scheme] of forms) {
      if (name === 'narrow-dark') continue;
      await look(width, height, scheme);
      const end = await page.$eval(
        width < 400 ? '#figures' : '#coverage',
        (section) => section.getBoundingClientRect().bottom,
      );
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
    await page.goto(`${site().operations}/verdicts?warehouse=postgres&day=${new Date().toISOString().slice(0, 10)}`);
    expect(await violations(page)).toEqual([]);
  });

  test('lets a page of another origin do nothing', async () => {
    const stranger = await listen((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<form method="post" action="${site().operations}/actions/pause"><input name="name" value="${backfill}"></form>
        <iframe src="${site().operations}"></iframe>`);
    });
    const other = await held.browser.newPage();
    onTestFinished(async () => {
      await other.close();
      await stranger.close();
    });
    // The browser has been told the token, and would send it along.
    await other.authenticate(site().actor);
    await other.goto(stranger.url.replace('127.0.0.1', 'localhost'));
    const read = await other.evaluate(`fetch('${site().operations}/').then(() => 'read', () => 'refused')`);
    const acted = await other.evaluate(
      `fetch('${site().operations}/actions/pause', { method: 'POST', mode: 'no-cors', body: 'name=${backfill}' }).then(() => 'sent', () => 'refused')`,
    );
    expect([read, acted]).toEqual(['refused', 'refused']);
    const [answer] = await Promise.all([
      other.waitForNavigation(),
      other.evaluate(`document.querySelector('form').submit()`),
    ]);
    expect(answer?.status()).toBe(403);
    expect(other.frames().some((frame) => frame.url() === `${site().operations}/`)).toBe(false);
    expect(await site().query('SELECT FROM events WHERE what = $1', [`Paused ${backfill}`])).toHaveLength(1);
  });

  test.runIf(pictures !== undefined)('takes pictures of the page on time, behind and broken', async () => {
    await site().proveAgain();
    await page.goto(site().operations);
    await expect.poll(() => text('#headline'), patience).toMatch(/^On time/);
    await takePictures('on-time');
    await site().stopService();
    const failed = async () => await site().query('SELECT FROM watermarks WHERE last_error IS NOT NULL');
    await expect.poll(failed, patience).not.toEqual([]);
    for (const [state, word, age] of [
      ['behind', /^Attention/, '2 minutes'],
      ['broken', /^Action required/, '20 minutes'],
    ] as const) {
      await site().query(`UPDATE watermarks SET (seen_to, watermark) = (now() - $1::interval, now() - $1::interval)`, [
        age,
      ]);
      await page.goto(site().operations);
      await expect.poll(() => text('#headline'), patience).toMatch(word);
      await takePictures(state);
    }
    // The page's security policy would refuse the style.
    await page.goto('about:blank');
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    await page.setViewport({ width: 860, height: 200 });
    await page.setContent(
      `<pre style="font: 14px/1.4 monospace; padding: 8px; white-space: pre-wrap; overflow-wrap: anywhere"></pre>`,
    );
    await page.$eval(
      'pre',
      (element, said) => {
        element.textContent = said;
      },
      site().said(),
    );
    await (await page.$('pre'))?.screenshot({ path: join(pictures ?? '', 'demo.png') as `${string}.png` });
  });
};
