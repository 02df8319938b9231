/**
 * What a user does with an undocumented list: `callsync probe --write`, then a worker and a backfill with the
 * configuration that it wrote. Nothing but the credentials and the version is told beforehand.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { ListConfig } from '../../schemas/config/list.ts';
import { sourceConfigSchema } from '../../schemas/config/source.ts';
import { defaultAxis } from '../../src/source/list/list-query.ts';
import { applyPreset } from '../../src/source/presets/presets.ts';
import { type CliFolder, openCliFolder } from '../support/cli.ts';
import { type Installation, install } from '../support/installation.ts';

const day = 86_400_000;

/** More than the cap of 1,000 where there is one; elsewhere more than two pages, and no round number. */
const capped = new Set(['silent_cap', 'page_capped']);
const callsOf = (dialect: string): number => (capped.has(dialect) ? 1_264 : 463);

const versions: Record<string, object> = {
  version_header: { version: { by: 'header', name: 'X-Api-Version', value: '3' } },
  version_query: { version: { by: 'query', name: 'version', value: '3' } },
};

/** What `npm test` shows; the others differ from one of these in a detail. */
export const someDialects: readonly string[] = [
  'activate',
  'bare_inclusive',
  'cursor_body',
  'cursor_header',
  'epoch_milliseconds',
  'half_open',
  'link',
  'nested_records',
  'no_parameters',
  'page_total',
  'silent_cap',
  'version_path',
];

const openSite = (dialect: string): Promise<Installation> =>
  install({
    simulator: {
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
    },
    source: { list: undefined, limits: { requests: 1_000, per_s: 1 }, ...versions[dialect] },
  });

/** The list as the worker will read it. */
const writtenList = async (site: Installation): Promise<ListConfig> => {
  const { source } = await applyPreset(parse(await readFile(site.configPath, 'utf8')) as { source: object });
  return sourceConfigSchema.parse(source).list;
};

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

export const describeProbeBackfill = (dialects: readonly string[]): void => {
  describe('probe, then backfill with what it wrote', { concurrent: true }, () => {
    test.each(dialects)(
      'is complete for dialect %s',
      async (dialect) => {
        const site = await openSite(dialect);
        try {
          await probe(site);
          const list = await writtenList(site);
          await site.startWorker();
          const { result } = await site.backfill('probed', { axis: defaultAxis(list).name });
          const calls = callsOf(dialect);
          const { totals } = await result;
          expect(totals).toMatchObject({ calls, problems: 0 });
          // Without window parameters every reader would read the whole list: there is only one.
          if (list.axes.length === 0) expect(totals.windows).toBe(1);
          expect(await site.checkTruth()).toEqual({ calls, lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
        } finally {
          await site.dispose();
        }
      },
      300_000,
    );
  });
};
