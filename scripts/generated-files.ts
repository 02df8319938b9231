/** Everything in the repository that is written from the source, by path. */
import { renderConfigExample, renderConfigReference } from '../src/config/pages.ts';
import { configJsonSchema } from '../src/config/schema-node.ts';
import { renderDbtFiles } from '../src/marts/render-dbt.ts';
import { renderMartReference } from '../src/marts/render-reference.ts';
import { renderAlertRules } from './alert-rules.ts';
import { renderContract } from './contract.ts';
import { renderCookbookPage } from './cookbook-page.ts';
import { renderDbtSeeds } from './dbt-seeds.ts';
import { renderDictionary } from './dictionary.ts';
import { renderTroubleshooting } from './error-codes.ts';
import { renderPrivacyPage } from './privacy-page.ts';

/** Every generated file: its path in the repository → its content. */
export const renderGeneratedFiles = (root: string): Readonly<Record<string, string>> => ({
  'callsync.example.yaml': renderConfigExample(),
  'docs/config.md': renderConfigReference(),
  'docs/privacy.md': renderPrivacyPage(root),
  'docs/tables.md': renderDictionary(),
  'docs/datacontract.yaml': renderContract(),
  'docs/marts.md': renderMartReference(),
  ...renderDbtFiles(),
  'docs/callsync.schema.json': `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
  ...renderDbtSeeds(),
  'deploy/monitoring/callsync.rules.yaml': renderAlertRules(),
  'docs/cookbook.md': renderCookbookPage(root),
  'docs/troubleshooting.md': renderTroubleshooting(root),
});
