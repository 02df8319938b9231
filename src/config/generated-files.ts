/** Everything in the repository that derives from the configuration's schema, by path. */
import { renderErSvg } from '../marts/er-diagram.ts';
import { renderDbtFiles } from '../marts/render-dbt.ts';
import { renderMartReference } from '../marts/render-reference.ts';
import { renderContract } from './contract.ts';
import { renderDictionary } from './dictionary.ts';
import { renderConfigExample } from './example.ts';
import { renderPrivacyPage } from './privacy-page.ts';
import { renderConfigReference } from './reference.ts';
import { configJsonSchema } from './schema-node.ts';

/** Every generated file: its path in the repository → its content. */
export const renderGeneratedFiles = (): Readonly<Record<string, string>> => {
  return {
    'callsync.example.yaml': renderConfigExample(),
    'docs/config.md': renderConfigReference(),
    'docs/privacy.md': renderPrivacyPage(),
    'docs/tables.md': renderDictionary(),
    'docs/datacontract.yaml': renderContract(),
    'docs/marts.md': renderMartReference(),
    'docs/pictures/marts.svg': renderErSvg(),
    ...renderDbtFiles(),
    'docs/callsync.schema.json': `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
  };
};
