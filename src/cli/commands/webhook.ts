import { withStore } from '../../app/services.ts';
import { listKeyUsage } from '../../store/delivery/delivery-statistics.ts';
import { group, leaf } from '../shell/define.ts';

export default group({
  commands: {
    keys: leaf({
      does: 'list signing keys with their deliveries and last use, to retire unused ones',
      examples: ['callsync webhook keys', 'callsync webhook keys --json'],
      remarks: 'A row without a key counts unsigned deliveries.',
      within: withStore,
      run: async (_options, store, { config }) => {
        const used = await listKeyUsage(store);
        const configured = config.webhook.secrets.map(({ name }) => name);
        const unused = configured.filter((name) => !used.some(({ key }) => key === name));
        return [
          [
            ...used.map(({ key, ...use }) => ({ key, configured: key !== null && configured.includes(key), ...use })),
            ...unused.map((key) => ({ key, configured: true, deliveries: 0, firstUsed: null, lastUsed: null })),
          ],
        ];
      },
    }),
  },
});
