/**
 * Faults of a running installation: page, `doctor` and `status` name each within a minute, and no longer within a minute
 * after its end. The test moves times of the store back instead of waiting; with CALLSYNC_REAL_TIME=1 it waits.
 */
import type { Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliFolder, openCliFolder } from '../support/cli.ts';
import { endProcess } from '../support/installation.ts';
import { usePage } from './support/browser.ts';
import type { Site } from './support/site.ts';

const limitMs = 60_000;
const isRealTime = process.env.CALLSYNC_REAL_TIME === '1';

let cli: CliFolder;
const run = async ({ configPath }: Site, args: readonly string[]): Promise<unknown> =>
  JSON.parse((await cli.run([...args, '--json', '--config', configPath])).stdout);

/** An outage of the list, as headline and commands name it. */
const words = /New calls have not been read for/;
const command = 'callsync doctor';

export const testFaults = (site: () => Site): void => {
  const { held, text } = usePage();
  let page: Page;
  beforeAll(async () => {
    cli = await openCliFolder();
    page = held.page;
  });
  afterAll(() => cli?.remove());

  // Without the real time, a busy machine may take longer for commands and page.
  const poll = { timeout: isRealTime ? limitMs : 5 * limitMs, interval: 500 };
  /** Seconds until it passes. */
  const timed = async (look: () => Promise<void>): Promise<string> => {
    const startedAt = performance.now();
    await look();
    return `${Math.round((performance.now() - startedAt) / 1000)} s`;
  };
  const askCommands = async (): Promise<{ readonly status: string; readonly doctor: string }> => {
    const { wrong } = (await run(site(), ['status'])) as { wrong: { summary: string; command: string }[] };
    const { findings } = (await run(site(), ['doctor'])) as {
      findings: { check: string; message: string; hint?: string }[];
    };
    return {
      status: wrong.map(({ summary, command }) => `${summary} ${command}`).join('\n'),
      doctor: findings
        .filter(({ check }) => check === 'health')
        .map(({ message, hint }) => `${message} ${hint}`)
        .join('\n'),
    };
  };

  test('the list is dead', async () => {
    await page.goto(site().operations());
    await expect.poll(() => text('#headline'), poll).not.toMatch(words);
    await site().control.configure({ faults: { rates: { unavailable_503: 1 } } });
    if (!isRealTime) await site().store.pool.query(`UPDATE watermarks SET seen_to = seen_to - interval '1 minute'`);
    const named = await timed(() => expect.poll(() => text('#headline'), poll).toMatch(words));
    expect(await text('#headline')).toContain(command);
    expect(await text('#headline')).toMatch(/Since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    const told = await askCommands();
    for (const said of [told.status, told.doctor]) expect(said).toMatch(words);
    expect(told.status).toContain(command);
    expect(told.doctor).toContain('See the other findings.');
    const timeline = () => text('#events');
    await expect.poll(timeline, poll).toMatch(words);
    await expect.poll(timeline, poll).toMatch(/error Reading new calls failed \(SERVICE_UNAVAILABLE\)/);
    await site().control.configure({ faults: { rates: {} } });
    const cleared = await timed(() => expect.poll(() => text('#headline'), poll).not.toMatch(words));
    const after = await askCommands();
    for (const said of [after.status, after.doctor]) expect(said).not.toMatch(words);
    await expect.poll(timeline, poll).toMatch(/recovery/);
    if (isRealTime) console.log(`named after ${named}, gone ${cleared} after its end`);
  });

  test('the worker is killed, and nothing runs at all', async () => {
    await page.goto(site().operations());
    await endProcess(site().process(), 'SIGKILL');
    const named = await timed(() => expect.poll(() => text('#headline'), poll).toMatch(/Attention.*does not answer/));
    if (isRealTime)
      await expect.poll(async () => (await askCommands()).status, { ...poll, interval: 5_000 }).toMatch(/No worker/);
    else await site().store.pool.query(`UPDATE meta SET updated_at = now() - interval '1 minute' WHERE key = 'worker'`);
    const told = await askCommands();
    for (const said of [told.status, told.doctor]) {
      expect(said).toMatch(/No worker has run for/);
      expect(said).toContain('callsync worker');
    }
    await site().start();
    await page.goto(site().operations());
    const cleared = await timed(() => expect.poll(() => text('#headline'), poll).toMatch(/^On time/));
    await expect.poll(() => text('#events'), poll).toMatch(/recovery.*worker gone[\s\S]*outage.*No worker has run/);
    expect((await askCommands()).status).not.toMatch(/No worker/);
    if (isRealTime) console.log(`killed: the open page says so after ${named}; gone ${cleared} after its start`);
  });
};
