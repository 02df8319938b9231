/** Writes the files that derive from the schemas; a test says when they are not current. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { renderGeneratedFiles } from '../src/config/generated-files.ts';
import { renderAlertRules } from './alert-rules.ts';
import { renderCookbookPage } from './cookbook-page.ts';
import { renderDbtSeeds } from './dbt-seeds.ts';
import { renderTroubleshooting } from './error-codes.ts';

// From dist/scripts when built.
const root = resolve(import.meta.dirname, '../..');
const files = {
  ...renderGeneratedFiles(),
  ...renderDbtSeeds(),
  'deploy/monitoring/callsync.rules.yaml': renderAlertRules(),
  'docs/cookbook.md': renderCookbookPage(root),
  'docs/troubleshooting.md': renderTroubleshooting(root),
};
for (const [name, text] of Object.entries(files)) {
  await mkdir(dirname(join(root, name)), { recursive: true });
  await writeFile(join(root, name), text);
}
