import { kinds } from '../../warehouse/kinds.ts';
import { leaf, option } from '../shell/define.ts';
import { print } from '../shell/output.ts';

export default leaf({
  shared: 'json',
  options: {
    dialect: option('--dialect <dialect>', 'dialect of the SQL', {
      choices: kinds.map(({ type }) => type),
      standard: 'postgres',
    }),
  },
  examples: ['callsync sql --dialect bigquery > callsync.sql'],
  run: (options) => {
    const statements = kinds.find(({ type }) => type === options.dialect)?.statements() ?? [];
    const text = statements.map(({ name, sql }) => `-- ${name}\n${sql.trim().replace(/;$/, '')};`);
    print(options, statements, text.join('\n\n'));
  },
});
