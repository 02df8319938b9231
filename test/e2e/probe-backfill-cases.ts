/**
 * The steps of a user with an undocumented list: `callsync probe --write`, then a worker and a backfill with the
 * written configuration. Nothing but the credentials and the version is told beforehand.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { ListConfig } from '../../schemas/config/list.ts';
import { sourceConfigSchema } from '../../schemas/config/source.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { defaultAxis } from '../../src/source/list/list-query.ts';
import { applyPreset } from '../../src/source/presets/presets.ts';
import { type CliFolder, openCliFolder } from '../support/cli.ts';
import { type Installation, install } from '../support/installation.ts';

const day = 86_400_000;
const none = { erased: 0, lost: 0, duplicated: 0, stale: 0, mismatched: 0 };

/** More than the cap of 1,000 where there is one; elsewhere more than two pages, and no round number. */
const capped = new Set(['silent_cap', 'page_capped']);
const callsOf = (dialect: string): number => (capped.has(dialect) ? 1_264 : 463);

const versions: Record<string, object> = {
  version_header: { version: { by: 'header', name: 'X-Api-Version', value: '3' } },
  version_query: { version: { by: 'query', name: 'version', value: '3' } },
};

const simulatorOptions = (dialect: string): SimulatorOptions => ({
  dialect,
  calls: {
    count: callsOf(dialect),
    from: new Date(Date.now() - 20 * day).toISOString(),
    to: new Date(Date.now() - day).toISOString(),
    utterances: 1,
    words: 3,
    tags: 1,
    otherShare: 0,
    lateShare: 0,
  },
  rateLimit: { requests: 0 },
});

const openSite = (dialect: string): Promise<Installation> =>
  install({
    simulator: simulatorOptions(dialect),
    source: { list: undefined, limits: { requests: 1_000, per_s: 1 }, ...versions[dialect] },
  });

/** The list as the worker will read it. */
const writtenList = async (site: Installation): Promise<ListConfig> => {
  const { source } = await applyPreset(parse(await readFile(site.configPath, 'utf8')) as { source: object });
  return sourceConfigSchema.parse(source).list;
};

/** Nothing can show that a list without window parameters has no cap: it is read, and the user has to say what it can give. */
const problemsOf = ({ cursor_fields: fields }: ListConfig): number => (fields.length === 0 ? 1 : 0);

const probe = async (site: Installation): Promise<string> => {
  const folder: CliFolder = await openCliFolder();
  try {
    const { code, stdout, stderr } = await folder.run(['probe', '--write', '--config', site.configPath]);
    expect(code, stderr).toBe(0);
    return stdout;
  } finally {
    await folder.remove();
  }
};

/** If a window was not shown to be complete, the command ends with 5 and names the window. */
const expectIncomplete = async (site: Installation, backfill: string): Promise<void> => {
  const folder = await openCliFolder();
  try {
    const { code, stdout, stderr } = await folder.run(['backfill', 'watch', backfill, '--config', site.configPath]);
    expect(code, stderr).toBe(5);
    expect(stdout).toContain('1 window could not be shown to be complete; callsync status names them');
  } finally {
    await folder.remove();
  }
};

export const describeProbeBackfill = (dialects: readonly string[]): void => {
  describe('probe, then backfill with what it wrote', { concurrent: true }, () => {
    test.each(dialects)('is complete for dialect %s', async (dialect) => {
      const site = await openSite(dialect);
      onTestFinished(() => site.dispose());
      await probe(site);
      const list = await writtenList(site);
      await site.startWorker();
      const { result } = await site.backfill('probed', { axis: defaultAxis(list).name });
      const calls = callsOf(dialect);
      const { totals } = await result;
      expect(totals).toMatchObject({ calls, problems: problemsOf(list) });
      if (problemsOf(list) > 0) await expectIncomplete(site, 'probed');
      // Without window parameters every reader would read the whole list: there is only one.
      if (list.cursor_fields.length === 0) expect(totals.windows).toBe(1);
      expect(await site.checkTruth()).toEqual({ calls, ...none });
    });
  });
};
