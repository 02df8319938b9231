/** Settings of every session of callsync: they replace settings of the server, the database, the role and the pooler. */

/**
 * Settings that change values, rows or promises, with the only value for which callsync is right. Not here: settings of plans and
 * memory, and `default_transaction_read_only`, by which operators protect a full server.
 */
export const fixedSettings = {
  // The texts of values: the driver reads them, and digests hash some of them.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  // The meaning of statements.
  default_transaction_isolation: 'read committed',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  gin_fuzzy_search_limit: '0',
  session_replication_role: 'origin',
  // A policy that hides rows is an error: without them, exports and comparisons would be wrong in silence.
  row_security: 'off',
  // The receiver answers for durable deliveries. Only `off` breaks that: other values choose among servers.
  synchronous_commit: 'on',
  // Idle connections hold session locks and listen for deliveries. PostgreSQL 17 and later have the last one.
  lock_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
};

/**
 * Sets only what differs, by a statement: poolers refuse or ignore parameters of the start. Parameter: `fixedSettings` and those of one
 * connection. Gives the id of the server process, and the encoding of the database.
 */
export const sessionSql = `SELECT pg_backend_pid() AS pid, current_setting('server_encoding') AS encoding, count(set_config(key, value, false))
  FROM json_each_text($1)
 WHERE current_setting(key, true) <> value AND (key <> 'synchronous_commit' OR current_setting(key) = 'off')`;
