import { readShipped } from '../../lib/find-built.ts';
import { kinds } from '../../warehouse/kinds.ts';
import type { Statement } from '../../warehouse/warehouse.ts';
import { choice, leaf } from '../shell/define.ts';

export default leaf({
  shared: 'json',
  options: {
    dialect: choice(
      '--dialect <dialect>',
      'dialect of the SQL',
      kinds.map(({ type }) => type),
      'postgres',
    ),
  },
  examples: ['callsync sql --dialect bigquery > callsync.sql'],
  run: (options) => {
    // Generated when callsync is built, because the statements of a kind are the same everywhere.
    const statements = JSON.parse(readShipped(`docs/reference/sql/${options.dialect}.json`)) as readonly Statement[];
    const text = statements.map(({ name, sql }) => `-- ${name}\n${sql.trim().replace(/;$/, '')};`);
    return [statements, text.join('\n\n')];
  },
});
