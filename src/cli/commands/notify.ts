import { randomUUID } from 'node:crypto';
import { withServices } from '../../app/services.ts';
import { openChannels } from '../../health/notifications/channels.ts';
import { terminal } from '../../lib/errors.ts';
import { leaf } from '../shell/define.ts';

const summary = 'This is a test of the notifications of callsync.';

export default leaf({
  examples: ['callsync notify'],
  within: withServices,
  run: async (_options, services) => {
    const channels = openChannels(services.config.notifications);
    if (channels.size === 0)
      throw terminal('CONFIG_INVALID', 'No channel is configured.', {
        hint: 'Add one to notifications.channels, then run callsync config check.',
      });
    for (const { send } of channels.values())
      await send({ id: randomUUID(), condition: 'test', subject: '', state: 'firing', summary, at: Date.now() });
    const names = [...channels.keys()];
    return [{ sent: names }, `sent to ${names.join(', ')}`];
  },
});
