/** Roles that the owner of a database makes for one purpose, each with fewer rights than the owner. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { CallsyncError, terminal } from '../lib/errors.ts';
import { scramVerifier } from '../lib/keyed-hash.ts';
import { type ConnectionUrl, lockName, openDatabase, type Queryable, quoteName, readUrl } from './database.ts';

/**
 * URL of the role `OWNER_callsync_PURPOSE`. All processes of an owner with a password derive the same password for the
 * role; nobody can derive the owner's password from it.
 */
export const ownRoleUrl = (owner: ConnectionUrl, purpose: string): string => {
  const url = readUrl(owner);
  const name = nameWithin(decodeURIComponent(url.username), `_callsync_${purpose}`);
  const password =
    url.password === ''
      ? randomBytes(32).toString('hex')
      : createHmac('sha256', url.password).update(name).digest('hex');
  [url.username, url.password] = [encodeURIComponent(name), password];
  return url.href;
};

/** PostgreSQL cuts names at 63 bytes, and would cut those of all purposes alike. */
const nameWithin = (owner: string, suffix: string): string => {
  if (Buffer.byteLength(owner + suffix) <= 63) return owner + suffix;
  const end = `_${createHash('sha256').update(owner).digest('hex').slice(0, 8)}${suffix}`;
  const kept = Buffer.from(owner).subarray(0, 63 - end.length);
  return kept.toString().replace(/\ufffd+$/, '') + end;
};

const missing = ['DATABASE_CREDENTIALS', 'DATABASE_PERMISSION', 'DATABASE_POOLING'];

/**
 * Does the work. If the role, its password or a right of it is missing, makes it and does the work again. A table may be
 * new, for instance, or the owner's password may have changed.
 * @param make by `grantOwnRole`; undefined where somebody else made the role.
 */
export const underOwnRole = <T>(work: () => Promise<T>, make: (() => Promise<void>) | undefined): Promise<T> =>
  work().catch(async (error: unknown) => {
    if (make === undefined || !(error instanceof CallsyncError && missing.includes(error.code))) throw error;
    await make();
    return await work();
  });

/** The comment of roles that callsync made. */
const mark = 'made by callsync';

const makeOwnRole = async (tx: Queryable, roleUrl: string): Promise<string> => {
  const { username, password } = new URL(roleUrl);
  const name = decodeURIComponent(username);
  const role = quoteName(name);
  await lockName(tx, name);
  const sql = `SELECT shobj_description(oid, 'pg_authid') AS comment FROM pg_roles WHERE rolname = $1`;
  const [present] = await tx.query<{ comment: string | null }>(sql, [name]);
  if (present !== undefined && present.comment !== mark)
    throw terminal(
      'DATABASE_ROLE',
      `There is a role ${name} that callsync did not make, so callsync does not change it.`,
    );
  const verb = present === undefined ? 'CREATE' : 'ALTER';
  await tx.query(`${verb} ROLE ${role} LOGIN PASSWORD '${scramVerifier(password)}'`);
  await tx.query(`COMMENT ON ROLE ${role} IS '${mark}'`);
  return role;
};

/**
 * Makes the role of such a URL, or sets its password, and gives it rights in the same transaction of the owner.
 * @param owner the connection of the owner. @param grant gets the name of the role, quoted for SQL.
 * @throws CallsyncError DATABASE_ROLE where somebody else made a role of this name
 */
export const grantOwnRole = async (
  owner: Omit<Parameters<typeof openDatabase>[0], 'max'>,
  roleUrl: string,
  grant: (tx: Queryable, role: string) => Promise<unknown>,
): Promise<void> => {
  const database = openDatabase({ ...owner, max: 1 });
  const making = database.transaction(async (tx) => grant(tx, await makeOwnRole(tx, roleUrl)));
  await making.finally(() => database.close());
};
