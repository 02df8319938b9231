import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { openChannels } from '../../health/notifications/channels.ts';
import { terminal } from '../../lib/errors.ts';
import { type CommonOptions, print, withCommonOptions, withServices } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

const testChannels = (options: CommonOptions): Promise<void> =>
  withServices(options, async (services) => {
    const channels = openChannels(services.config.notifications);
    if (channels.size === 0) {
      throw terminal('CONFIG_INVALID', 'No channel is configured.', { hint: 'Add one to notifications.channels.' });
    }
    for (const { send } of channels.values()) {
      await send({
        id: randomUUID(),
        condition: 'test',
        subject: '',
        state: 'firing',
        summary: 'This is a test of the notifications of callsync.',
        at: Date.now(),
      });
    }
    const names = [...channels.keys()];
    print(options, { sent: names }, `sent to ${names.join(', ')}`);
  });

export const addNotify = (command: Command): void => {
  const notify = command.addHelpText('after', '\nExamples:\n  callsync notify test');
  withExamples(withCommonOptions(notify.command('test')), ['callsync notify test'])
    .description('send a message to every configured channel')
    .action(testChannels);
};
