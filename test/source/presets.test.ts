import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceConfigSchema } from '../../schemas/config/source.ts';
import { webhookConfigSchema } from '../../schemas/config/webhook.ts';
import { applyPreset, listPresets, readPreset } from '../../src/source/presets/presets.ts';
import { useFolder } from '../support/folder.ts';

const base = { base_url: 'https://api.example.org', auth_url: 'https://id.example.org', realm: 'r', client_id: 'c' };

const folder = useFolder('preset');

test('presets are listed, described, and valid configuration', async () => {
  const presets = await listPresets();
  expect(presets.map(({ name }) => name)).toEqual(['activate', 'activate-v1']);
  for (const { config, description } of presets) {
    expect(description).not.toBe('');
    expect(sourceConfigSchema.safeParse({ ...base, ...(config.source as object) }).error).toBeUndefined();
    expect(webhookConfigSchema.safeParse(config.webhook).error).toBeUndefined();
  }
});

test('presets lie under what the user writes', async () => {
  const merged = await applyPreset({
    source: {
      ...base,
      list: { preset: 'activate', pagination: { style: 'offset', size: 50 }, exclude: ['tags'] },
      limits: { requests: 10 },
    },
    webhook: { header_prefix: 'X-Mine-' },
  });
  const source = sourceConfigSchema.parse(merged.source);
  const list = { records: 'data', exclude: ['tags'], axis: 'qualified' };
  expect(source).toMatchObject({ list, limits: { requests: 10, per_s: 10 } });
  expect(source.list.pagination).toEqual({ style: 'offset', offset_param: 'offset', size_param: 'limit', size: 50 });
  expect(merged.webhook).toEqual({ header_prefix: 'X-Mine-' });
});

test('presets give way to another style of paging as a whole', async () => {
  const list = { preset: 'activate', pagination: { style: 'page' } };
  const { pagination } = sourceConfigSchema.parse((await applyPreset({ source: { ...base, list } })).source).list;
  expect(pagination).toMatchObject({ style: 'page', page_param: 'page' });
});

test('presets can be a copy of the user’s own', async () => {
  const { file } = await readPreset('activate');
  const mine = (await readFile(file, 'utf8')).replace('max_results: 10000', 'max_results: 5000');
  await writeFile(join(folder, 'mine.yaml'), mine);
  const merged = await applyPreset({ source: { ...base, list: { preset: './mine.yaml' } } }, folder);
  expect(sourceConfigSchema.parse(merged.source).list.max_results).toBe(5_000);
  await expect(readPreset('nope')).rejects.toMatchObject({ code: 'PRESET_UNREADABLE' });
});
