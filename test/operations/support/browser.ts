/** A real Chromium, from its npm package; the page of an operations port in it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import chromium from '@sparticuz/chromium';
import { type Browser, launch, type Page } from 'puppeteer-core';
import { useOpened } from '../../support/opened.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The package's own arguments let pages read other origins. */
const weakening = /^--(disable-web-security|disable-site-isolation-trials|allow-running-insecure-content)$/;

export const openBrowser = async (): Promise<Browser> =>
  await launch({
    args: chromium.args.filter((arg) => !weakening.test(arg)),
    executablePath: await chromium.executablePath(),
    headless: 'shell',
  });

/** Folder for the pictures of the docs; without it none are taken. */
export const pictures = process.env.CALLSYNC_SCREENSHOTS;

/** A page for the tests of a group, from `beforeAll` on, and the text of an element of it. */
export const usePage = () => {
  const open = async () => {
    const browser = await openBrowser();
    return { browser, page: await browser.newPage() };
  };
  const held = useOpened(open, ({ browser }) => browser.close());
  const text = async (selector: string) => (await held.page.$eval(selector, ({ textContent }) => textContent)) ?? '';
  return { held, text };
};

/** Findings of axe, as `rule: targets`. */
export const violations = async (page: Page): Promise<string[]> => {
  await page.evaluate(axe);
  return (await page.evaluate(`axe.run().then(({ violations }) => violations
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(', ')))`)) as string[];
};

/** How far the document is wider than the window. */
export const overhang = async (page: Page): Promise<number> =>
  (await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')) as number;
