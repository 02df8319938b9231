import { withStore } from '../../app/services.ts';
import { listAgents } from '../../store/delivery/delivery-statistics.ts';
import { clearDrift, listDrift } from '../../store/status/drift.ts';
import { flag, leaf } from '../shell/define.ts';
import { renderTable } from '../shell/output.ts';

export default leaf({
  options: { clear: flag('--clear', 'delete the entries after showing them') },
  examples: ['callsync schema', 'callsync schema --clear'],
  remarks:
    'A field is new, has vanished, comes empty (uncarried), has another type, or is named twice in a record (repeated).',
  within: withStore,
  run: async (options, store, { say }) => {
    const [drift, agents] = [await listDrift(store), await listAgents(store)];
    if (options.clear) say(`${await clearDrift(store)} entries deleted.`);
    const fields = drift.length === 0 ? 'Records look as in the documented interface.' : renderTable(drift);
    return [{ drift, agents }, `Fields\n${fields}\n\nSending agents\n${renderTable(agents)}`];
  },
});
