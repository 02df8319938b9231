/** Next steps for codes whose errors have no hint, and meanings for messages from elsewhere. */
export interface ErrorNote {
  readonly means?: string;
  readonly todo: string;
}

const byItself = 'Nothing: callsync retries in a new job.';

export const errorNotes: Readonly<Record<string, ErrorNote>> = {
  BIGQUERY_BUSY: {
    means: 'BigQuery has too much to do at once: too many statements wait for a table, or a rate limit was reached.',
    todo: `${byItself} If it persists for hours, check whether other programs change the same tables, and raise commit_interval_s.`,
  },
  BIGQUERY_CONFLICT: {
    means: 'Another statement changed the same rows at the same time.',
    todo: `${byItself} If it persists, find the program that writes to the tables of callsync, and stop it.`,
  },
  BIGQUERY_DUPLICATE: {
    means: 'A job of this id was there already: the answer to the first one was lost.',
    todo: 'Nothing: callsync uses the result of the earlier job.',
  },
  BIGQUERY_STREAMING_BUFFER: {
    means: 'Rows that were streamed into a table within the last half hour cannot be changed yet.',
    todo: 'Wait; callsync never streams. Find the program that streams rows into its tables, and stop it.',
  },
  BIGQUERY_UNAVAILABLE: {
    means: 'BigQuery had a fault of its own (5xx), or the job ended by one.',
    todo: `${byItself} If it persists, see https://status.cloud.google.com.`,
  },
  BIGQUERY_UNREACHABLE: {
    means: 'The connection to BigQuery broke, or no answer came in time.',
    todo: 'Check names, proxy and firewall between the worker and bigquery.googleapis.com. callsync looks for the job before it sends it again.',
  },
  DATABASE_ERROR: {
    means: 'PostgreSQL refused a statement with the SQLSTATE of the message.',
    todo: 'Class 53 is a lack of disk, memory or connections, 25006 a standby, and 57P0x a server that stops. callsync retries these. For any other, read the log of the server at that time, and report it.',
  },
  SEGMENT_GONE: {
    means: 'Another process has drained a part of the spool first.',
    todo: 'Nothing: its deliveries are in the inbox.',
  },
  SIMULATOR_FOREIGN_ORIGIN: {
    means: 'A web page from another site called the control address of the simulator.',
    todo: 'Call it by its own address, without a browser.',
  },
  SIMULATOR_METHOD_UNKNOWN: {
    means: 'The simulator has no control method of that name.',
    todo: 'Methods are those of src/simulator/control/control.ts.',
  },
  SIMULATOR_REQUEST_INVALID: {
    means: 'The body of a request to the control address cannot be read or taken.',
    todo: 'Send the arguments of the method as a JSON array.',
  },
  SIMULATOR_TOKEN_WRONG: {
    means: 'The control token is missing or from an earlier run.',
    todo: 'Send the token that callsync simulate printed at its start, as Authorization: Bearer.',
  },
  USAGE_INIT: {
    means: 'callsync init cannot ask, or an answer is missing, or the file is there already.',
    todo: 'Give the option that the message names, or another file with --config.',
  },
  BIGQUERY_LEASE_LOST: {
    todo: 'Nothing, if it happens once or twice: callsync plans the load again. If it persists, look for a worker that hangs (debugger, suspended machine).',
  },
  BIGQUERY_STAGING_LOST: {
    todo: 'See whether staging_expiration_hours of the warehouse is long enough, and whether somebody deletes tables of its dataset.',
  },
  GO_LIVE_RECEIVER: {
    todo: 'Correct the fault after the colon, then run the same command again: it continues with this step.',
  },
  INBOX_UNREACHABLE: {
    todo: 'Nothing for deliveries, because they go to the spool. callsync doctor says why the store does not answer.',
  },
  LEDGER_RESTORED: {
    todo: 'Nothing. callsync status shows the new epoch; docs/guides/backup-restore.md describes the restore.',
  },
  LIST_SHAPE: {
    means: 'An answer of the list has no records or no total where the configuration says they are.',
    todo: 'Run callsync probe, and compare source.list.records and source.list.total_path with an answer of the service.',
  },
  NOT_DURABLE: {
    todo: 'The service sends the delivery again once. callsync doctor says why neither store nor spool took it; the poll brings the call.',
  },
  PRESET_INVALID: {
    todo: 'Write the file as callsync presets show activate prints one: sections of the configuration, such as source.',
  },
  REDIRECT_LOOP: {
    todo: 'Correct source.base_url or source.auth_url: the address redirects to itself.',
  },
  SERVICE_REFUSED: {
    todo: 'Compare source.list with the interface of the service (callsync probe); the message has the status that it answers.',
  },
  SERVICE_UNAVAILABLE: {
    todo: 'Nothing, if it passes: the window is read again. Otherwise ask the account manager.',
  },
  SERVICE_UNREACHABLE: {
    todo: 'Check source.base_url, names, proxy and firewall of the worker.',
  },
  SIMULATOR_CALL_UNKNOWN: {
    todo: 'Name a call of this run of the simulator: its truth lists them.',
  },
  SIMULATOR_GONE: {
    todo: 'Start the simulator again; its log says why it ended.',
  },
  SIMULATOR_OPTION_FIXED: {
    todo: 'Give this option when the simulator is started.',
  },
  SIMULATOR_REFUSED: {
    todo: 'The message has the reason: correct the request to the control address.',
  },
  SIMULATOR_START: {
    todo: 'Read its standard error; the usual reason is a port in use.',
  },
  SPOOL_FAILED: {
    todo: 'Check that webhook.spool.dir is on a disk that can be written to.',
  },
  SPOOL_FULL: {
    todo: 'Make the store answer again: the spool then empties itself. More room: webhook.spool.max_bytes.',
  },
  STORE_SLOW: {
    todo: 'Deliveries go to the spool meanwhile. Find the cause in pg_stat_activity, and check the disk.',
  },
  STREAM_REFUSED: {
    todo: 'Check source.websocket.url, the age of the token, and whether this address may open the stream.',
  },
  STREAM_UNAVAILABLE: {
    todo: 'Wait: it is tried again, ever less often. Otherwise check source.websocket.url and the firewall.',
  },
  TOMBSTONE_KEY: {
    means: 'The key of tombstones is missing, is too short, or is not the one that the store is used with.',
    todo: 'Copy the key file from a host whose workers run. On a first installation, write the output of openssl rand -hex 32 into it.',
  },
  TOKEN_UNAVAILABLE: {
    todo: 'Check source.auth_url and source.realm; if the endpoint is down, callsync retries.',
  },
  USAGE_ERASE: {
    todo: 'Give --key with --by metadata, and not otherwise; write the key as calls have it, and whole telephone numbers.',
  },
  USAGE_KEY: {
    todo: 'Name one that callsync webhook keys lists.',
  },
  USAGE_VALUES: {
    todo: 'Write one value a line into --file or to standard input, never into the arguments.',
  },
  WAKE_LATE: {
    todo: 'Nothing: the sweep merges the deliveries within sync.inbox_sweep. If it persists, see whether Temporal answers (callsync doctor).',
  },
};
