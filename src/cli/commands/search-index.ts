import type { Command } from 'commander';
import { countOf } from '../../lib/count-of.ts';
import type { SearchIndexStatus } from '../../warehouse/search.ts';
import { openWarehouse } from '../parts/open-warehouse.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

const describe = (name: string, { state, calls, pending, bytes }: SearchIndexStatus): string =>
  [
    `${name}: search index ${state}`,
    ...(calls === null ? [] : [countOf(calls, 'call')]),
    ...(pending === null || pending === 0 ? [] : [`${pending} not indexed yet`]),
    ...(bytes === null ? [] : [megabytes(bytes)]),
  ].join(', ');

const act = (action: 'create' | 'drop' | 'status') => (name: string | undefined, options: CommonOptions) =>
  withStore(options, async (store, services) => {
    const warehouse = openWarehouse(services, store, name);
    if (action === 'create') {
      await warehouse.migrate();
      await warehouse.search.create({
        onProgress: (indexed) => {
          if (indexed % 10_000 === 0) services.say(`${indexed} calls indexed …`);
        },
        onWait: () =>
          services.say(`Another command makes the search index of ${warehouse.name}: this one waits for its end.`),
      });
    }
    if (action === 'drop') await warehouse.search.drop();
    const status = await warehouse.search.status();
    print(options, { warehouse: warehouse.name, ...status }, describe(warehouse.name, status));
  });

export const addSearchIndex = (warehouse: Command): void => {
  const index = withExamples(warehouse.command('search-index').description('the index of callsync search'), [
    'callsync warehouse search-index create postgres',
    'callsync warehouse search-index status',
  ]);
  const commands = {
    create: 'make the index from the rows that are there, beside running loads; from then on it follows every load',
    drop: 'remove the index; nothing else changes',
    status: 'whether it is there, how many calls it has and how many are not indexed yet, and its size',
  } as const;
  for (const action of ['create', 'drop', 'status'] as const) {
    withExamples(withCommonOptions(index.command(`${action} [name]`)), [
      `callsync warehouse search-index ${action} postgres`,
    ])
      .description(commands[action])
      .action(act(action));
  }
};
