/** Everything in the repository that is written from the source, by path. */
import { configJsonSchema } from '../src/config/schema-node.ts';
import { renderAlertRules } from './alert-rules.ts';
import { renderCliPage, renderExitCodesPage } from './cli-page.ts';
import { renderConfigExample, renderConfigReference } from './config-pages.ts';
import { renderContract } from './contract.ts';
import { renderCookbookPage } from './cookbook-page.ts';
import { renderDbtFiles } from './dbt-package.ts';
import { renderDbtSeeds } from './dbt-seeds.ts';
import { renderDictionary } from './dictionary.ts';
import { renderTroubleshooting } from './error-codes.ts';
import { renderInventoryPage } from './inventory-page.ts';
import { renderMartsPage } from './marts-page.ts';
import { renderMetricsPage } from './metrics-page.ts';
import { renderPageParts } from './page-parts.ts';
import { renderStatements } from './statements.ts';
import { renderSupersetFiles } from './superset.ts';

/** Every generated file: its path in the repository → its content. */
export const renderGeneratedFiles = async (root: string): Promise<Readonly<Record<string, string>>> => ({
  'callsync.example.yaml': renderConfigExample(),
  'docs/reference/config.md': renderConfigReference(),
  'docs/reference/cli.md': await renderCliPage(),
  'docs/reference/exit-codes.md': renderExitCodesPage(),
  'docs/reference/data-inventory.md': renderInventoryPage(),
  'docs/reference/metrics.md': renderMetricsPage(),
  'docs/reference/tables.md': renderDictionary(),
  'docs/datacontract.yaml': renderContract(),
  'docs/reference/marts.md': renderMartsPage(),
  ...renderDbtFiles(),
  'docs/callsync.schema.json': `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
  ...renderStatements(),
  ...renderDbtSeeds(),
  ...renderSupersetFiles(),
  'deploy/monitoring/callsync.rules.yaml': renderAlertRules(),
  'docs/reference/cookbook.md': renderCookbookPage(root),
  'docs/reference/errors.md': renderTroubleshooting(root),
  ...renderPageParts(root),
});
