import { resolve } from 'node:path';
import type { Command } from 'commander';
import { countOf } from '../../count-of.ts';
import type { Database } from '../../postgres/database.ts';
import { openSecret } from '../../secret.ts';
import { backUpStore } from '../../store/backup/back-up-store.ts';
import { restoreStore } from '../../store/backup/restore-store.ts';
import { receiverGrants, setUpReceiverRole } from '../../store/delivery/receiver-role.ts';
import { openStoreAsItIs } from '../../store/store.ts';
import { type CommonOptions, print, withCommonOptions, withServices, withStore } from '../command.ts';
import { openStoreServer } from '../services/open-store.ts';
import type { Services } from '../services/services.ts';
import { readVersion } from '../version.ts';

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

const withUnmigratedStore = (options: CommonOptions, work: (store: Database, services: Services) => Promise<void>) =>
  withServices(options, async (services) => {
    const store = openStoreAsItIs(await openStoreServer(services));
    services.defer(() => store.close());
    await work(store, services);
  });

const backUp = (folder: string, options: CommonOptions): Promise<void> =>
  withUnmigratedStore(options, async (store, services) => {
    const { tables, migrations, made_at } = await backUpStore(store, {
      folder: resolve(folder),
      version: readVersion(),
      onTable: ({ name, rows }) => services.say(`${name}: ${countOf(rows, 'row')}`),
    });
    const rows = Object.fromEntries(tables.map((one) => [one.name, one.rows]));
    const result = { folder: resolve(folder), made_at, migrations: migrations.length, rows };
    print(options, result, `${countOf(rows.ledger ?? 0, 'call')} in ${folder}, as of ${made_at}.`);
  });

interface RestoreOptions extends CommonOptions {
  readonly replace?: boolean;
}

const restore = (folder: string, options: RestoreOptions): Promise<void> =>
  withUnmigratedStore(options, async (store, services) => {
    const { rows, migrated, receivers } = await restoreStore(store, {
      folder: resolve(folder),
      replace: options.replace === true,
      onTable: (name) => services.say(`${name} …`),
    });
    const newer = migrated.length === 0 ? '' : ` Newer migrations applied: ${migrated.length}.`;
    print(
      options,
      { rows, migrated, receivers },
      `Restored: ${countOf(rows.ledger ?? 0, 'call')}.${newer} Workers notice it and issue a new epoch: callsync status.`,
    );
  });

export const addStore = (command: Command): void => {
  const store = command.addHelpText(
    'after',
    '\nExamples:\n  callsync store grants\n  callsync store backup /backups/monday\n  callsync store restore /backups/monday --replace',
  );
  withCommonOptions(store.command('backup'))
    .description('write the whole store to files, as of one moment, while others use it')
    .argument('<folder>', 'where the files go; must not exist, and appears when they are complete')
    .addHelpText(
      'after',
      `
Examples:
  callsync store backup /backups/monday
  callsync store backup "/backups/$(date -u +%F)" --json

The files hold call data: encrypt where they are kept. Key of tombstones and erasure log are not among them, and belong
elsewhere (docs/operations.md). The store is not migrated, so that the backup before an upgrade is of the old version.`,
    )
    .action(backUp);
  withCommonOptions(store.command('restore'))
    .description('put a backup in the place of the store, in one transaction; an older one is migrated')
    .argument('<folder>', 'what callsync store backup has written')
    .option('--replace', 'also where the store that is there holds calls: they are gone')
    .addHelpText(
      'after',
      `
Examples:
  callsync store restore /backups/monday
  callsync store restore /backups/monday --replace

The files are checked first. What the warehouses have been sent since the backup is found by the workers, which issue a
new epoch; docs/operations.md says what happens then. To go back to an older version, restore with that version.`,
    )
    .action(restore);
  withCommonOptions(store.command('grants'))
    .description('the rights of a receiver that can add deliveries and read no call, as SQL')
    .option('--role <name>', 'the role that receivers connect as', 'callsync_receiver')
    .option('--apply', 'migrate the store and give the rights, instead of printing them')
    .option('--password-file <file>', 'with --apply: make the role, or change its password')
    .addHelpText(
      'after',
      `
Examples:
  callsync store grants --role callsync_receiver | psql
  callsync store grants --apply --password-file /run/secrets/receiver_password

Run it with the URL of the owner; a receiver then has a store.url with this role, and needs no client secret.`,
    )
    .action(grants);
};
