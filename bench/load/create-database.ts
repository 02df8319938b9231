import pg from 'pg';

/** A new database on a server, dropped by `drop`. */
export const createDatabase = async (
  serverUrl: string,
  name: string,
): Promise<{ url: string; drop: () => Promise<void> }> => {
  const run = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await run(`CREATE DATABASE ${name}`);
  // Dirty pages of one contender must not be written in the time of the other.
  await run('CHECKPOINT');
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      await run(`DROP DATABASE ${name} WITH (FORCE)`);
      await run('CHECKPOINT');
    },
  };
};
