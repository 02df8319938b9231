import { openSecret } from '../../lib/secret.ts';
import { receiverGrants, setUpReceiverRole } from '../../store/delivery/receiver-role.ts';
import { withStore } from '../parts/with-services.ts';
import { type CommonOptions, group, leaf, option } from '../shell/define.ts';
import { print } from '../shell/output.ts';

interface GrantsOptions extends CommonOptions {
  readonly role: string;
  readonly apply?: boolean;
  readonly passwordFile?: string;
}

const grants = async (options: GrantsOptions): Promise<void> => {
  const { role, passwordFile } = options;
  const statements = receiverGrants(role);
  if (options.apply !== true) return print(options, { role, statements }, `${statements.join(';\n')};`);
  const password = openSecret({ key: 'password', file: passwordFile })?.read();
  await withStore(options, async (store) => {
    await setUpReceiverRole(store, role, password);
    print(options, { role, applied: true }, `${role} may add deliveries, and nothing else.`);
  });
};

export const command = group({
  examples: ['callsync store grants'],
  commands: {
    grants: leaf({
      does: 'the rights of a receiver that can add deliveries and read no call, as SQL',
      options: [
        option('--role <name>', 'the role that receivers connect as', { standard: 'callsync_receiver' }),
        option('--apply', 'migrate the store and give the rights, instead of printing them'),
        option('--password-file <file>', 'with --apply: make the role, or change its password'),
      ],
      examples: [
        'callsync store grants --role callsync_receiver | psql',
        'callsync store grants --apply --password-file /run/secrets/receiver_password',
      ],
      remarks:
        'Run it with the URL of the owner; a receiver then has a store.url with this role, and needs no client secret.',
      run: grants,
    }),
  },
});
