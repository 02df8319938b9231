/**
 * The steps of a user with an undocumented list: `callsync probe --write`, then a worker and a backfill with the
 * written configuration. Nothing but the credentials and the version is told beforehand.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { ListConfig } from '../../schemas/config/list.ts';
import { sourceConfigSchema } from '../../schemas/config/source.ts';
import { defaultAxis } from '../../src/source/list/list-query.ts';
import { applyPreset } from '../../src/source/presets/presets.ts';
import { type Installation, install } from '../support/installation.ts';
import { startProgram } from '../support/program.ts';

const none = { erased: 0, lost: 0, duplicated: 0, stale: 0, mismatched: 0 };

/** More than the cap of 1,000 where there is one; elsewhere more than two pages, and no round number. */
const callsOf = (dialect: string): number => (['silent_cap', 'page_capped'].includes(dialect) ? 1_264 : 463);

const versions: Record<string, object> = {
  version_header: { version: { by: 'header', name: 'X-Api-Version', value: '3' } },
  version_query: { version: { by: 'query', name: 'version', value: '3' } },
};

const openSite = (dialect: string): Promise<Installation> => {
  const [from, to] = [20, 1].map((days) => new Date(Date.now() - days * 86_400_000).toISOString());
  const calls = { count: callsOf(dialect), from, to, utterances: 1, words: 3, tags: 1, otherShare: 0, lateShare: 0 };
  return install({
    simulator: { dialect, calls },
    source: { list: undefined, limits: { requests: 1_000, per_s: 1 }, ...versions[dialect] },
  });
};

/** The list as the worker will read it. */
const writtenList = async (site: Installation): Promise<ListConfig> => {
  const { source } = await applyPreset(parse(await readFile(site.configPath, 'utf8')) as { source: object });
  return sourceConfigSchema.parse(source).list;
};

/** Nothing can show that a list without window parameters has no cap: it is read, and the user has to say what it can give. */
const problemsOf = ({ cursor_fields: fields }: ListConfig): number => (fields.length === 0 ? 1 : 0);

/** Runs `callsync`, which must end with this code; returns what it printed. */
const run = async (code: number, ...args: readonly string[]): Promise<string> => {
  const running = startProgram(args);
  expect(await running.ended, running.stderr()).toBe(code);
  return running.stdout();
};

const incomplete = '1 window could not be shown to be complete; callsync status names them';

export const describeProbeBackfill = (dialects: readonly string[]): void => {
  describe('probe, then backfill with what it wrote', { concurrent: true }, () => {
    // The hook of the test itself: the common one does not know which of the concurrent tests it is for.
    test.for(dialects)('is complete for dialect %s', async (dialect, { onTestFinished }) => {
      const site = await openSite(dialect);
      onTestFinished(site.dispose);
      await run(0, 'probe', '--write', '--config', site.configPath);
      const list = await writtenList(site);
      await site.startWorker();
      const { result } = await site.backfill('probed', { axis: defaultAxis(list).name });
      const calls = callsOf(dialect);
      const { totals } = await result;
      expect(totals).toMatchObject({ calls, problems: problemsOf(list) });
      // If a window was not shown to be complete, the command ends with 5 and names the window.
      if (problemsOf(list) > 0)
        expect(await run(5, 'backfill', 'watch', 'probed', '--config', site.configPath)).toContain(incomplete);
      // Without window parameters every reader would read the whole list: there is only one.
      if (list.cursor_fields.length === 0) expect(totals.windows).toBe(1);
      expect(await site.checkTruth()).toEqual({ calls, ...none });
    });
  });
};
