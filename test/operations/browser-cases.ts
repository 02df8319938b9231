/** The status page in a real browser: it follows what happens, is worked by keyboard, fits, and obeys only its own forms. */
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, overhang, seriousFindings } from './support/browser.ts';
import type { Site } from './support/site.ts';

const patience = { timeout: 30_000, interval: 200 };
const pictures = process.env.CALLSYNC_SCREENSHOTS;

export const testInBrowser = (site: () => Site): void => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
    page = await browser.newPage();
    await page.authenticate({ username: 'ann', password: 'act' });
  });
  afterAll(() => browser?.close());

  const text = async (selector: string): Promise<string> =>
    (await page.$eval(selector, (element) => element.textContent)) ?? '';
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
    const before = await text('#warehouses');
    await expect.poll(() => text('#warehouses'), patience).not.toBe(before);
    await site().store.query(
      `INSERT INTO quarantine (source, origin, reason, body, received_at, body_hash)
       VALUES ('poll', 'test', 'not JSON', 'x', now() - interval '1 hour', 'x')`,
    );
    await expect.poll(() => text('#waiting'), patience).toMatch(/Quarantine1\d* /);
    expect(await page.evaluate('window.kept')).toBe(true);
    expect(errors).toEqual([]);
  });

  test('pauses and resumes a backfill and replays a record by keyboard, and tells who did it', async () => {
    const body = JSON.stringify({ unique_id: 'replayed-1', timestamp: new Date().toISOString() });
    await site().store.query(`UPDATE quarantine SET body = $1`, [body]);
    site().gate.shut();
    await site().backfill('by-hand', { direction: 'oldest_first', force: true });
    await page.goto(site().operations);
    await expect.poll(() => page.$('button[aria-label="Pause by-hand"]'), patience).not.toBeNull();
    await press('button[aria-label="Pause by-hand"]');
    await expect.poll(() => page.$('button[aria-label="Resume by-hand"]'), patience).not.toBeNull();
    await press('button[aria-label="Resume by-hand"]');
    await expect.poll(() => page.$('button[aria-label="Pause by-hand"]'), patience).not.toBeNull();
    site().gate.open();
    await press('form[action="/actions/replay"] button');
    await expect
      .poll(() => text('#events'), patience)
      .toMatch(/Replayed 1 quarantined records, 0 still refused by ann/);
    expect(await text('#events')).toMatch(/Resumed by-hand by ann[\s\S]*Paused by-hand by ann/);
    const { rows } = await site().store.pool.query(`SELECT count(*) AS n FROM ledger WHERE call_id = 'replayed-1'`);
    expect(rows[0].n).toBe(1);
  });

  test('fits 320 pixels and a desktop, in light and in dark, without a serious finding', async () => {
    if (pictures !== undefined) mkdirSync(pictures, { recursive: true });
    for (const [name, width, height] of [
      ['narrow', 320, 800],
      ['desktop', 1_280, 900],
    ] as const) {
      for (const scheme of ['light', 'dark'] as const) {
        await page.setViewport({ width, height });
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        await page.goto(site().operations);
        expect(await overhang(page), `${name} ${scheme}`).toBeLessThanOrEqual(0);
        expect(await seriousFindings(page), `${name} ${scheme}`).toEqual([]);
        if (pictures !== undefined) await page.screenshot({ path: join(pictures, `status-${name}-${scheme}.png`) });
      }
    }
    await page.goto(`${site().operations}/verdicts?warehouse=postgres&day=${new Date().toISOString().slice(0, 10)}`);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('lets a page of another origin do nothing', async () => {
    const stranger = createServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<form method="post" action="${site().operations}/actions/pause"><input name="name" value="by-hand"></form>
        <iframe src="${site().operations}"></iframe>`);
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const other = await browser.newPage();
    try {
      // The browser has been told the token, and would send it along.
      await other.authenticate({ username: 'ann', password: 'act' });
      await other.goto(`http://localhost:${(stranger.address() as AddressInfo).port}/`);
      const read = await other.evaluate(`fetch('${site().operations}/').then(() => 'read', () => 'refused')`);
      const acted = await other.evaluate(
        `fetch('${site().operations}/actions/pause', { method: 'POST', mode: 'no-cors', body: 'name=by-hand' }).then(() => 'sent', () => 'refused')`,
      );
      expect([read, acted]).toEqual(['refused', 'refused']);
      const [answer] = await Promise.all([
        other.waitForNavigation(),
        other.evaluate(`document.querySelector('form').submit()`),
      ]);
      expect(answer?.status()).toBe(403);
      expect(other.frames().some((frame) => frame.url() === `${site().operations}/`)).toBe(false);
      const { rows } = await site().store.pool.query(`SELECT count(*) AS n FROM events WHERE what = 'Paused by-hand'`);
      expect(rows[0].n).toBe(1);
    } finally {
      await other.close();
      stranger.close();
    }
  });
};
