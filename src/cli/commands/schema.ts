import type { Command } from 'commander';
import { countOf } from '../../lib/count-of.ts';
import { listAgents } from '../../store/delivery/agents.ts';
import { clearDrift, listDrift, type RecordedDrift } from '../../store/status/drift.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

const kinds = {
  new: 'new field',
  vanished: 'vanished',
  uncarried: 'comes empty',
  type: 'other type',
  repeated: 'named twice',
} as const;

export const describeDrift = ({ source, field, kind, detail, seen, firstSeen, lastSeen }: RecordedDrift): string =>
  `${source}: ${field} (${kinds[kind]}): ${detail}; in ${countOf(seen, 'record')} since ${firstSeen.toISOString()}, last ${lastSeen.toISOString()}`;

const drift = (options: CommonOptions & { clear?: boolean }): Promise<void> =>
  withStore(options, async (store, services) => {
    const [found, agents] = [await listDrift(store), await listAgents(store)];
    const lines = [
      ...found.map(describeDrift),
      ...agents.map(
        ({ agent, deliveries, firstSeen, lastSeen, isNew }) =>
          `agent ${agent ?? '(none)'}${isNew ? ' (NEW)' : ''}: ${deliveries} deliveries, ${firstSeen.toISOString()} … ${lastSeen.toISOString()}`,
      ),
    ];
    print(
      options,
      { drift: found, agents },
      lines.length === 0 ? 'Records look as the interface shows them.' : lines.join('\n'),
    );
    if (options.clear) services.say(`${await clearDrift(store)} entries forgotten.`);
  });

export const addSchema = (command: Command): void => {
  const schema = command.addHelpText('after', '\nExamples:\n  callsync schema drift\n  callsync schema drift --clear');
  withExamples(withCommonOptions(schema.command('drift')), ['callsync schema drift', 'callsync schema drift --clear'])
    .description('new, vanished and oddly typed fields per source, and versions of the delivering agent')
    .option('--clear', 'forget the entries after showing them')
    .action(drift);
};
