/** Next steps of errors without a hint, for the command and for the page of errors; meanings for messages from elsewhere. */
interface ErrorNote {
  readonly means?: string;
  readonly todo: string;
}

const byItself = 'Do nothing; callsync retries in a new job.';

export const errorNotes: Readonly<Record<string, ErrorNote>> = {
  BIGQUERY_BUSY: {
    means: 'BigQuery has too many waiting statements on a table, or a rate limit was reached.',
    todo: `${byItself} If it persists for hours, check whether other programs change the same tables, and raise commit_interval_s.`,
  },
  BIGQUERY_CONFLICT: {
    means: 'Another statement changed the same rows at the same time.',
    todo: `${byItself} If it persists, find the program that writes to the tables of callsync, and stop it.`,
  },
  BIGQUERY_DUPLICATE: {
    means: 'BigQuery already has a job with this id, because the answer to the first submission was lost.',
    todo: 'Do nothing; callsync uses the result of the earlier job.',
  },
  BIGQUERY_STREAMING_BUFFER: {
    means: 'Rows that were streamed into a table within the last half hour cannot be changed yet.',
    todo: 'Stop the program that streams rows into the tables of callsync; callsync itself never streams.',
  },
  BIGQUERY_UNAVAILABLE: {
    means: 'BigQuery answered 5xx, or a fault of BigQuery ended the job.',
    todo: `${byItself} If it persists, see https://status.cloud.google.com.`,
  },
  BIGQUERY_UNREACHABLE: {
    means: 'The connection to BigQuery broke, or no answer came in time.',
    todo: 'Check DNS, proxy and firewall between the worker and bigquery.googleapis.com. callsync looks for the job before it sends it again.',
  },
  DATABASE_ERROR: {
    means: 'PostgreSQL refused a statement with the SQLSTATE of the message.',
    todo: 'callsync retries class 53 (lack of disk, memory or connections), 25006 (standby) and 57P0x (server stops). For any other SQLSTATE, read the log of the server at that time.',
  },
  SEGMENT_GONE: {
    means: 'Another process has drained a part of the spool first.',
    todo: 'Do nothing; its deliveries are in the inbox.',
  },
  SIMULATOR_FOREIGN_ORIGIN: {
    means: 'A web page from another site called the control address of the simulator.',
    todo: 'Call it by its own address, without a browser.',
  },
  SIMULATOR_METHOD_UNKNOWN: {
    means: 'The simulator has no control method of that name.',
    todo: 'Use a method of src/simulator/control/control.ts.',
  },
  SIMULATOR_REQUEST_INVALID: {
    means: 'The simulator cannot read the body of a request to the control address.',
    todo: 'Send the arguments of the method as a JSON array.',
  },
  SIMULATOR_TOKEN_WRONG: {
    means: 'The control token is missing or from an earlier run.',
    todo: 'Send the token that callsync simulate printed at its start, as Authorization: Bearer.',
  },
  USAGE_INIT: {
    means: 'callsync init has no terminal for its questions, an option is missing, or the file exists already.',
    todo: 'Give the option in the message, or name another file with --config.',
  },
  BIGQUERY_LEASE_LOST: {
    todo: 'If it happens once or twice, do nothing; callsync plans the load again. If it persists, look for a worker that hangs (debugger, suspended machine).',
  },
  BIGQUERY_STAGING_LOST: {
    todo: 'Raise staging_expiration_hours of the warehouse, and check whether somebody deletes tables of its dataset.',
  },
  GO_LIVE_RECEIVER: {
    todo: 'Correct the fault after the colon, then run the same command again. It continues with this step.',
  },
  INBOX_UNREACHABLE: {
    todo: 'Run callsync doctor to find out why the store does not answer. Deliveries go to the spool meanwhile.',
  },
  LEDGER_RESTORED: {
    todo: 'Do nothing. callsync status shows the new epoch; docs/guides/backup-restore.md describes the restore.',
  },
  LIST_SHAPE: {
    means: 'An answer of the list has no records or no total where the configuration says they are.',
    todo: 'Run callsync probe, and compare source.list.records and source.list.total_path with an answer of the service.',
  },
  NOT_DURABLE: {
    todo: 'Run callsync doctor to find out why neither store nor spool stored the delivery. The service sends it once more, and the poll brings the call.',
  },
  PRESET_INVALID: {
    todo: 'Write sections of the configuration, as in the output of callsync presets show activate.',
  },
  QUERY_REFUSED: {
    todo: 'Correct the query. docs/reference/tables.md and docs/reference/marts.md list the columns.',
  },
  REDIRECT_LOOP: {
    todo: 'Correct source.base_url or source.auth_url, because the address redirects to itself.',
  },
  SERVICE_REFUSED: {
    todo: 'Run callsync probe, and compare its findings with source.list.',
  },
  SERVICE_UNAVAILABLE: {
    todo: 'callsync reads the window again. If the error persists, ask the account manager.',
  },
  SERVICE_UNREACHABLE: {
    todo: 'Check source.base_url, and DNS, proxy and firewall of the worker.',
  },
  SIMULATOR_CALL_UNKNOWN: {
    todo: 'Name a call of this run of the simulator; its truth lists all calls.',
  },
  SIMULATOR_GONE: {
    todo: 'Start the simulator again; its log says why it ended.',
  },
  SIMULATOR_OPTION_FIXED: {
    todo: 'Give this option to callsync simulate.',
  },
  SIMULATOR_REFUSED: {
    todo: 'Correct the request to the control address, for the reason in the message.',
  },
  SIMULATOR_START: {
    todo: 'Read its standard error. The usual reason is a busy port.',
  },
  SPOOL_FAILED: {
    todo: 'Make the folder webhook.spool.dir writable.',
  },
  SPOOL_FULL: {
    todo: 'Run callsync doctor, and repair the store; the spool then empties itself. For more room, raise webhook.spool.max_bytes.',
  },
  STORE_SLOW: {
    todo: 'Look for the cause in pg_stat_activity, and check the disk. Deliveries go to the spool meanwhile.',
  },
  STREAM_REFUSED: {
    todo: 'Check source.websocket.url, the age of the token, and whether this address may open the stream.',
  },
  STREAM_UNAVAILABLE: {
    todo: 'callsync retries, at growing intervals. If the error persists, check source.websocket.url and the firewall.',
  },
  TOMBSTONE_KEY: {
    means: 'The tombstone key is missing, is too short, or is not the key of this store.',
    todo: 'Copy the key file from a host whose workers run. On a first installation, write the output of openssl rand -hex 32 into it.',
  },
  TOKEN_UNAVAILABLE: {
    todo: 'Check source.auth_url and source.realm; if the endpoint is down, callsync retries.',
  },
  USAGE_ERASE: {
    todo: 'Give --key only with --by metadata. Write the key as calls have it, and telephone numbers in full.',
  },
  USAGE_KEY: {
    todo: 'Name a key that callsync webhook keys lists.',
  },
  USAGE_VALUES: {
    todo: 'Write one value a line into --file or to standard input, never into the arguments.',
  },
  WAKE_LATE: {
    todo: 'The sweep merges the deliveries within sync.inbox_sweep. If the error persists, run callsync doctor to see whether Temporal answers.',
  },
};
