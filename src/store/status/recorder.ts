/** Records events under a role that can insert events and do nothing else. */
import { type ConnectionUrl, openDatabase } from '../../postgres/database.ts';
import { isRoleMissing, makeOwnRole, ownRoleUrl } from '../../postgres/own-role.ts';
import { storeSchema } from '../store.ts';
import { recordEvent } from './events.ts';

interface Recorder {
  /** @throws CallsyncError DATABASE_… */
  record(event: Parameters<typeof recordEvent>[1]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Nothing connects before the first event. Where the role is missing, the owner of the store makes it.
 * @param options.url of a role that somebody else made; then `owner` is not asked.
 */
export const openRecorder = (options: {
  readonly owner: () => ConnectionUrl;
  readonly url?: ConnectionUrl | undefined;
}): Recorder => {
  const common = { schema: storeSchema, purpose: 'operational store', application: 'callsync recorder' };
  const ownUrl = options.url === undefined ? ownRoleUrl(options.owner(), 'recorder') : undefined;
  const database = openDatabase({ ...common, url: ownUrl ?? (options.url as ConnectionUrl), max: 2 });
  const makeRole = async (roleUrl: string): Promise<void> => {
    const owner = openDatabase({ ...common, url: options.owner(), max: 1 });
    const grant = async (): Promise<void> =>
      await owner.transaction(async (tx) => {
        const role = await makeOwnRole(tx, roleUrl);
        await tx.query(`GRANT USAGE ON SCHEMA ${storeSchema} TO ${role}`);
        await tx.query(`GRANT INSERT (kind, what, actor) ON ${storeSchema}.events TO ${role}`);
      });
    await grant().finally(() => owner.close());
  };
  return {
    record: (event) =>
      recordEvent(database, event).catch(async (error: unknown) => {
        if (ownUrl === undefined || !isRoleMissing(error)) throw error;
        await makeRole(ownUrl);
        await recordEvent(database, event);
      }),
    close: () => database.close(),
  };
};
