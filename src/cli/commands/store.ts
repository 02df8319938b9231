import { openSecret } from '../../lib/secret.ts';
import { receiverGrants, setUpReceiverRole } from '../../store/delivery/inbox-writer.ts';
import { withStore } from '../parts/with-services.ts';
import { flag, group, leaf, option } from '../shell/define.ts';
import { print } from '../shell/output.ts';

export default group({
  examples: ['callsync store grants'],
  commands: {
    grants: leaf({
      does: 'print the rights of a receiver as SQL; it adds deliveries and reads no call',
      options: {
        role: option('--role <name>', 'the role that receivers connect as', { standard: 'callsync_receiver' }),
        schema: option('--schema <name>', 'without --apply: store.schema', { standard: 'callsync' }),
        apply: flag('--apply', 'migrate the store and give the rights, instead of printing them'),
        passwordFile: option('--password-file <file>', 'with --apply: make the role, or change its password'),
      },
      examples: [
        'callsync store grants --role callsync_receiver | psql',
        'callsync store grants --apply --password-file /run/secrets/receiver_password',
      ],
      remarks:
        'Run it with the URL of the owner; a receiver then has a store.url with this role, and needs no client secret.',
      run: async (options) => {
        const { role, passwordFile } = options;
        const statements = receiverGrants(options.schema, role);
        if (options.apply !== true) return print(options, { role, statements }, `${statements.join(';\n')};`);
        const password = openSecret({ key: 'password', file: passwordFile })?.read();
        await withStore(options, async (store) => {
          await setUpReceiverRole(store, role, password);
          print(options, { role, applied: true }, `${role} may add deliveries, and nothing else.`);
        });
      },
    }),
  },
});
