import { withReceiverServices, withStore } from '../../app/services.ts';
import { openSecret } from '../../lib/secret.ts';
import { receiverGrants, setUpReceiverRole } from '../../store/delivery/inbox-writer.ts';
import { flag, leaf, option } from '../shell/define.ts';

export default leaf({
  options: {
    role: option('--role <name>', 'role of receivers', 'callsync_receiver'),
    apply: flag('--apply', 'migrate the store and grant the rights, instead of printing them'),
    passwordFile: option('--password-file <file>', 'with --apply: create the role, or change its password'),
  },
  examples: [
    'callsync store --role callsync_receiver | psql',
    'callsync store --apply --password-file /run/secrets/receiver_password',
  ],
  remarks:
    'Run the command with the URL of the owner of the store. Then put the role into the store.url of receivers; receivers need no client secret.',
  run: async (options) => {
    const { role, passwordFile } = options;
    if (options.apply !== true) {
      const schema = await withReceiverServices(options, async ({ config }) => config.store.schema);
      const statements = receiverGrants(schema, role);
      return [{ role, statements }, `${statements.join(';\n')};`];
    }
    const password = openSecret({ key: 'password', file: passwordFile })?.read();
    return await withStore(options, async (store) => {
      await setUpReceiverRole(store, role, password);
      return [{ role, applied: true }, `${role} may add deliveries, and nothing else.`];
    });
  },
});
