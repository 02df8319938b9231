import { withStore } from '../../app/services.ts';
import { countOf } from '../../lib/count-of.ts';
import { listAgents } from '../../store/delivery/delivery-statistics.ts';
import { clearDrift, listDrift } from '../../store/status/drift.ts';
import { flag, leaf } from '../shell/define.ts';
import { print } from '../shell/output.ts';

const kinds = {
  new: 'new field',
  vanished: 'vanished',
  uncarried: 'comes empty',
  type: 'other type',
  repeated: 'named twice',
} as const;

export default leaf({
  options: { clear: flag('--clear', 'delete the entries after showing them') },
  examples: ['callsync schema', 'callsync schema --clear'],
  within: withStore,
  run: async (options, store, { say }) => {
    const [found, agents] = [await listDrift(store), await listAgents(store)];
    const lines = agents.map(
      ({ agent, deliveries, firstSeen, lastSeen, isNew }) =>
        `agent ${agent ?? '(none)'}${isNew ? ' (NEW)' : ''}: ${deliveries} deliveries, ${firstSeen.toISOString()} … ${lastSeen.toISOString()}`,
    );
    const drift = found.map(
      ({ source, field, kind, detail, seen, ...one }) =>
        `${source}: ${field} (${kinds[kind]}): ${detail}; in ${countOf(seen, 'record')} since ${one.firstSeen.toISOString()}, last ${one.lastSeen.toISOString()}`,
    );
    const text = [...drift, ...lines].join('\n');
    print(options, { drift: found, agents }, text || 'Records look as in the documented interface.');
    if (options.clear) say(`${await clearDrift(store)} entries deleted.`);
  },
});
