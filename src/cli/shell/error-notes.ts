import type { ErrorCode } from '../../lib/error-codes.ts';

/** Next steps of errors without a hint, for the command and for the page of errors. */
const byItself = 'Do nothing; callsync retries in a new job.';

export const nextSteps: Readonly<Partial<Record<ErrorCode, string>>> = {
  BIGQUERY_BUSY: `${byItself} If it persists for hours, check whether other programs change the same tables, and raise commit_interval_s.`,
  BIGQUERY_CONFLICT: `${byItself} If it persists, find the program that writes to the tables of callsync, and stop it.`,
  BIGQUERY_DUPLICATE: 'Do nothing; callsync uses the result of the earlier job.',
  BIGQUERY_STREAMING_BUFFER:
    'Stop the program that streams rows into the tables of callsync; callsync itself never streams.',
  BIGQUERY_UNAVAILABLE: `${byItself} If it persists, see https://status.cloud.google.com.`,
  BIGQUERY_UNREACHABLE:
    'Check DNS, proxy and firewall between the worker and bigquery.googleapis.com. callsync looks for the job before it sends it again.',
  SEGMENT_GONE: 'Do nothing; its deliveries are in the inbox.',
  SIMULATOR_FOREIGN_ORIGIN: 'Call it by its own address, without a browser.',
  SIMULATOR_METHOD_UNKNOWN: 'Use a method of src/simulator/control/local-control.ts.',
  SIMULATOR_REQUEST_INVALID: 'Send the arguments of the method as a JSON array.',
  SIMULATOR_TOKEN_WRONG: 'Send the token that callsync simulate printed at its start, as Authorization: Bearer.',
  USAGE_INIT: 'Give the option in the message, or name another file with --config.',
  BIGQUERY_LEASE_LOST:
    'If it happens once or twice, do nothing; callsync plans the load again. If it persists, look for a worker that hangs (debugger, suspended machine).',
  BIGQUERY_STAGING_LOST:
    'Raise staging_expiration_hours of the warehouse, and check whether somebody deletes tables of its dataset.',
  GO_LIVE_RECEIVER: 'Correct the fault after the colon, then run the same command again; it continues with this step.',
  IMPORT_ENCODING: 'Convert the file into lines of JSON in UTF-8, plain or gzip, then run the command again.',
  INBOX_UNREACHABLE:
    'Run callsync doctor, look for the cause in pg_stat_activity, and check the disk. Deliveries go to the spool meanwhile.',
  LEDGER_RESTORED:
    'Do nothing. callsync status shows the new epoch; docs/guides/backup-restore.md describes the restore.',
  WAREHOUSE_RESTORED: 'Do nothing. callsync sends the lost calls again.',
  LIST_SHAPE:
    'Run callsync probe, and compare source.list.records and source.list.total_path with an answer of the service.',
  NOT_DURABLE:
    'Run callsync doctor to find out why neither store nor spool stored the delivery. The service sends it once more, and the poll brings the call.',
  PRESET_INVALID:
    'Write sections of the configuration, as the preset activate, whose file docs/guides/connect-your-service.md names.',
  QUERY_REFUSED: 'Correct the query. docs/reference/tables.md and docs/reference/marts.md list the columns.',
  REDIRECT_LOOP: 'Correct source.base_url or source.auth_url, because the address redirects to itself.',
  SERVICE_OVERLOADED:
    'callsync slows down by itself. If the error persists, lower source.limits.requests, or ask the operator.',
  SERVICE_RATE_LIMIT:
    'callsync slows down by itself. If the error persists, lower source.limits.requests, or ask the operator.',
  SERVICE_REFUSED: 'Run callsync probe, and compare its findings with source.list.',
  SERVICE_UNAVAILABLE:
    'Workers read the window again; repeat a single command later. If the error persists, ask the account manager.',
  SERVICE_UNTRUSTED:
    'Check the address and the clock of this machine. For a private certificate authority, set NODE_EXTRA_CA_CERTS.',
  SERVICE_UNREACHABLE: 'Check source.base_url, and DNS, proxy and firewall of the worker.',
  PROOF_KEY:
    'Give store.proof_key_file the file of a host whose workers run, and store.former_proof_key_files the old one.',
  SIMULATOR_CALL_UNKNOWN: 'Name a call of this run of the simulator; its truth lists all calls.',
  SIMULATOR_GONE: 'Start the simulator again; its log says why it ended.',
  SIMULATOR_OPTION_FIXED: 'Give this option to callsync simulate.',
  SIMULATOR_REFUSED: 'Correct the request to the control address, for the reason in the message.',
  SIMULATOR_START: 'Read its standard error. The usual reason is a busy port.',
  SPOOL_FAILED: 'Make the folder webhook.spool.dir writable.',
  SPOOL_FULL:
    'Run callsync doctor, and repair the store; the spool then empties itself. For more room, raise webhook.spool.max_bytes.',
  STREAM_REFUSED: 'Check source.websocket.url, the age of the token, and whether this address may open the stream.',
  STREAM_UNAVAILABLE:
    'callsync retries, at growing intervals. If the error persists, check source.websocket.url and the firewall.',
  TOMBSTONE_KEY:
    'Copy the key file from a host whose workers run. On a first installation, write the output of openssl rand -hex 32 into it.',
  TOKEN_REJECTED:
    'Check source.auth_scheme and source.version, and ask the account manager whether these credentials may use the call API.',
  TOKEN_UNAVAILABLE: 'Check source.auth_url and source.realm; if the endpoint is down, callsync retries.',
  USAGE_ERASE: 'Give --key only with --by metadata. Write the key as calls have it, and telephone numbers in full.',
  USAGE_RECEIPT:
    'Give a file of callsync report, or the output of callsync erase --json; and the output of callsync privacy public-key.',
  USAGE_VALUES: 'Write one value a line into --file or to standard input, never into the arguments.',
  WAKE_LATE:
    'The sweep merges the deliveries within sync.inbox_sweep. If the error persists, run callsync doctor to see whether Temporal answers.',
};
