/**
 * Every error code of callsync, by the exit of a command that ends with it. Behind the code: the next step, where no other
 * fact decides it. A code that is not here does not compile.
 */
const codes = {
  usage: `
    BIGQUERY_LOCATION CONFIG_INVALID CONFIG_MISSING CONFIG_SECRET DATABASE_URL_INVALID IMPORT_FILE_BROKEN QUERY_FAILED
    SIMULATOR_DIALECT_UNKNOWN USAGE_BACKFILL USAGE_DEMO USAGE_FILE USAGE_HOLD USAGE_QUARANTINE USAGE_RANGE
    USAGE_SEARCH USAGE_WAREHOUSE WEBHOOK_SECRET_EMPTY WEBHOOK_SECRET_MISSING
    AXIS_UNKNOWN: Correct source.list.cursor_fields; callsync probe finds them.
    CONFIG_CREDENTIALS: Get them from your account manager, and name their files in the configuration, as callsync config example shows.
    CONFIG_DATA_DIR: Set another folder in store.data_dir, or in --data-dir of the demo.
    CONFIG_FILES: Correct the paths, or let the user that runs callsync read the files.
    CONFIG_PROXY: Write it with its scheme, such as http://proxy.example.com:3128.
    CONFIG_SOURCE: If the service has moved or has given you a new client id, start callsync up, worker or import once with --accept-source. For another service, set another store.data_dir or store.url.
    CONFIG_TIME_ZONE: Set analytics.time_zone to another name of the zone, or update the time zones of Node or the server.
    ERASURE_UNKNOWN: If the store was restored, run callsync erase again with the same values.
    IMPORT_ENCODING: Convert the file into lines of JSON in UTF-8, plain or gzip, then run the command again.
    IMPORT_FILE_UNREADABLE: Check that it exists, is a file, and may be read.
    IMPORT_TIME_AHEAD: Give the time at which the file was written: callsync import FILE --observed-at TIME.
    MCP_EXPOSED: Set operations.tls and operations.users, or omit --listen.
    OPERATIONS_TLS_INVALID: Check that operations.tls.cert_file and key_file exist, are PEM and belong together.
    PRESET_INVALID: Write sections of the configuration, as the preset activate, whose file docs/guides/connect-your-service.md names.
    PRESET_UNREADABLE: Give the name of a preset (activate, activate-v1), or the path of a YAML file.
    PRIVACY_OFF: Set privacy.profile or privacy.rules.
    QUERY_REFUSED: Correct the query. docs/reference/tables.md and docs/reference/marts.md list the columns.
    RECONCILE_AXIS: Correct the record_field of source.list.cursor_fields; callsync probe finds it.
    RETENTION_OFF: Set privacy.retention.
    SIMULATOR_OPTION_FIXED: Give this option to callsync simulate.
    USAGE_ERASE: Give --key only with --by metadata. Write the key as calls have it, and telephone numbers in full.
    USAGE_GRANTS: Write principals such as group:analysts@example.com, user:… or serviceAccount:….
    USAGE_INIT: Give the option in the message, or name another file with --config.
    USAGE_PORT: callsync simulate --port 0 takes any free port.
    USAGE_QUERY: callsync query 'SELECT count(*) FROM calls' runs a query; callsync query - reads it from standard input.
    USAGE_RECEIPT: Give a file of callsync report, or the output of callsync erase --json; and the output of callsync privacy public-key.
    USAGE_SCHEDULE: Run callsync backfill schedule list for the names.
    USAGE_SIMULATOR: callsync simulate --help lists them.
    USAGE_VALUES: Write one value a line into --file or to standard input, never into the arguments.
    WEBHOOK_TLS_INVALID: Check that webhook.tls.cert_file and key_file exist, are PEM and belong together.`,
  denied: `
    BIGQUERY_ACCESS_DENIED BIGQUERY_BILLING BIGQUERY_CREDENTIALS DATABASE_CREDENTIALS DATABASE_PERMISSION
    DATABASE_UNTRUSTED LIST_REFUSED QUERY_READER TEMPORAL_UNTRUSTED TOKEN_REFUSED
    ACCESS_DENIED: Ask the account manager for access to the call API, and whether only certain IP addresses are allowed.
    PRIVACY_KEY: Run openssl rand -hex 32 > privacy.key, copy the file to every host, and set privacy.key_file to it.
    PROOF_KEY: Give store.proof_key_file the file of a host whose workers run, and store.former_proof_key_files the old one.
    REDIRECT_REFUSED: If that address is right, put it into the configuration.
    SEAL_KEY: Make one with openssl genpkey -algorithm x25519; its public half with openssl pkey -pubout.
    SERVICE_REFUSED: Run callsync probe, and compare its findings with source.list.
    SERVICE_UNTRUSTED: Check the address and the clock of this machine. For a private certificate authority, set NODE_EXTRA_CA_CERTS.
    STREAM_IP_NOT_ALLOWED: Ask the account manager to add the public address of this machine to the allowed addresses of your client_id.
    STREAM_REFUSED: Check source.websocket.url, the age of the token, and whether this address may open the stream.
    STREAM_TOKEN: callsync requests a new token. If the error persists, check that the client_id may use the WebSocket API.
    TEMPORAL_REFUSED: Check temporal.api_key_file or the client certificate (temporal.tls).
    TOKEN_FORM_REFUSED: Try the other source.token_format (\`callsync doctor\` does), and check source.scope.
    TOKEN_INSECURE: Use an https address. Inside your own network, you can set source.allow_http.
    TOKEN_REJECTED: Check source.auth_scheme and source.version, and ask the account manager whether these credentials may use the call API.
    TOMBSTONE_KEY: Copy the key file from a host whose workers run. On a first installation, write the output of openssl rand -hex 32 into it.`,
  incomplete: `
    DEMO_NOT_SETTLED
    GO_LIVE_EMPTY: Run callsync go-live again when there are new calls, or callsync go-live --accept-empty.
    GO_LIVE_OVERLAP: Run callsync probe to see which calls the credentials can read, correct source.list.params, then run callsync go-live again.
    GO_LIVE_REJECTED: Compare webhook.secrets and webhook.header_prefix with the settings of the service, then run callsync go-live again.
    GO_LIVE_SILENT: Ask the account manager whether the webhook is active for this address and these campaigns, then run callsync go-live again.
    GO_LIVE_STOPPED: Run callsync go-live again; it continues from there.
    PROOF_ALTERED: Set these rows back to their values in table verdicts of the warehouse. Workers compare days again whose verdicts are gone. If the key was replaced, name the former one in store.former_proof_key_files.
    WORKFLOW_CANCELLED: Start it again; finished work stays.`,
  byKind: `
    BACKFILL_UNANSWERED BIGQUERY_BYTES_LIMIT BIGQUERY_EMULATOR BIGQUERY_NOT_FOUND BIGQUERY_QUOTA BIGQUERY_REFUSED
    BIGQUERY_SCHEMA DATABASE_BUSY DATABASE_CONFLICT DATABASE_ERROR DATABASE_FULL DATABASE_INCOMPLETE DATABASE_LOCKED
    DATABASE_MISSING DATABASE_READ_ONLY DATABASE_REFUSED DATABASE_TIMEOUT DATABASE_UNREACHABLE
    LIST_MALFORMED PROOF_HEADS RESPONSE_ENCODING SPOOL_IN_USE STORE_LIBRARIES STORE_START TEMPORAL_CLI
    TEMPORAL_NAMESPACE TEMPORAL_START TEMPORAL_UNREACHABLE
    BIGQUERY_BUSY: Do nothing; callsync retries in a new job. If it persists for hours, check whether other programs change the same tables, and raise commit_interval_s.
    BIGQUERY_CONFLICT: Do nothing; callsync retries in a new job. If it persists, find the program that writes to the tables of callsync, and stop it.
    BIGQUERY_DUPLICATE: Do nothing; callsync uses the result of the earlier job.
    BIGQUERY_LEASE_LOST: If it happens once or twice, do nothing; callsync plans the load again. If it persists, look for a worker that hangs (debugger, suspended machine).
    BIGQUERY_QUOTA_RESERVED: Wait, or raise \`quota\` of this warehouse if the quotas of the project allow it.
    BIGQUERY_SLOW: Check the job in the console; the project may have no free slots.
    BIGQUERY_STAGING_LOST: Raise staging_expiration_hours of the warehouse, and check whether somebody deletes tables of its dataset.
    BIGQUERY_STREAMING_BUFFER: Stop the program that streams rows into the tables of callsync; callsync itself never streams.
    BIGQUERY_TOO_LARGE: Lower \`max_calls_per_load\`.
    BIGQUERY_UNAVAILABLE: Do nothing; callsync retries in a new job. If it persists, see https://status.cloud.google.com.
    BIGQUERY_UNREACHABLE: Check DNS, proxy and firewall between the worker and bigquery.googleapis.com. callsync looks for the job before it sends it again.
    BUILD_MISSING: Run npm run build.
    CACHE_FOLDER: Set XDG_CACHE_HOME to a folder that you may write to.
    DATABASE_ENCODING: This encoding cannot store every text. Name a database that createdb --encoding UTF8 --template template0 NAME makes.
    DATABASE_POOLING: Set pool_mode = session for this database in PgBouncer, or name PostgreSQL itself in the connection URL.
    DATABASE_ROLE: Rename that role. For queries, you can also set reader_url_file of the warehouse to the URL of a role.
    DEMO_RUNS: End it, or run callsync demo --data-dir FOLDER with another folder.
    ERASURE_HELD: Run callsync privacy hold list, or erase the other calls with --except-held.
    ERASURE_LOG: Let the user that runs callsync read and write it, or set store.erasure_log.
    GO_LIVE_INBOX: Check that a worker runs (callsync doctor), then run callsync go-live again.
    GO_LIVE_RECEIVER: Correct the fault after the colon, then run the same command again; it continues with this step.
    GO_LIVE_WORKER: Start callsync up --no-schedules (or worker and serve), then run the same command again.
    INBOX_UNREACHABLE: Run callsync doctor, look for the cause in pg_stat_activity, and check the disk. Deliveries go to the spool meanwhile.
    LEDGER_DAMAGED: Run callsync reconcile --force over the day of the call: callsync then reads the call again. If the service no longer has the call, erase it with callsync erase --by call.
    LEDGER_RESTORED: Do nothing. callsync status shows the new epoch; docs/guides/backup-restore.md describes the restore.
    LINK_REFUSED: If that address is right, put it into source.base_url.
    LIST_EMPTY: Ask the account manager whether these credentials may read calls, or choose a part with calls in source.list.params.
    LIST_FAILED: callsync retries automatically. If the error persists, contact the operator of the service.
    LIST_LOOP: Check source.list.pagination, or run \`callsync probe\`.
    LIST_MISSING: Correct source.base_url, source.version and source.list.path, then run callsync probe.
    LIST_SHAPE: Run callsync probe, and compare source.list.records and source.list.total_path with an answer of the service.
    NOTIFICATION_FAILED: Check its address and its secret, then try callsync notify.
    NOT_DURABLE: Run callsync doctor to find out why neither store nor spool stored the delivery. The service sends it once more, and the poll brings the call.
    NO_HOME: Set HOME. Or set whole paths: store.data_dir (--data-dir of the demo) and XDG_CACHE_HOME.
    NO_WORKER: Start callsync worker or callsync up; the request then continues.
    OPERATIONS_PORT_TAKEN: Set operations.listen and operations.port to a free address of this machine.
    PROOF_UNANSWERED: Run callsync await again later; earlier proofs stay.
    REDIRECT_LOOP: Correct source.base_url or source.auth_url, because the address redirects to itself.
    RESPONSE_TOO_LARGE: Lower source.list.pagination.size, or raise source.limits.max_response_bytes.
    SEARCH_INDEX_MISSING: Run callsync warehouse search-index create with the same --config. The command also completes an interrupted index.
    SEARCH_UNACCENT: Install the contrib modules of PostgreSQL, and let an administrator run psql -c 'CREATE EXTENSION unaccent' there.
    SEARCH_UNSUPPORTED: Search a PostgreSQL warehouse, or BigQuery itself; callsync query can compare with LIKE.
    SEGMENT_GONE: Do nothing; its deliveries are in the inbox.
    SERVICE_BROKEN: callsync retries automatically. If the error persists, contact the operator of the service.
    SERVICE_OVERLOADED: callsync slows down by itself. If the error persists, lower source.limits.requests, or ask the operator.
    SERVICE_QUOTA: callsync asks again at growing intervals, up to 5 minutes, and continues by itself. For more, ask the account manager for a higher quota.
    SERVICE_RATE_LIMIT: callsync slows down by itself. If the error persists, lower source.limits.requests, or ask the operator.
    SERVICE_TIMEOUT: Run the command again later, or raise the time-outs in source.limits.
    SERVICE_UNAVAILABLE: Workers read the window again; repeat a single command later. If the error persists, ask the account manager.
    SERVICE_UNREACHABLE: Check source.base_url, and DNS, proxy and firewall of the worker.
    SIMULATOR_CALL_UNKNOWN: Name a call of this run of the simulator; its truth lists all calls.
    SIMULATOR_FOREIGN_ORIGIN: Call it by its own address, without a browser.
    SIMULATOR_GONE: Start the simulator again; its log says why it ended.
    SIMULATOR_METHOD_UNKNOWN: Use a method of src/simulator/control/local-control.ts.
    SIMULATOR_REFUSED: Correct the request to the control address, for the reason in the message.
    SIMULATOR_REQUEST_INVALID: Send the arguments of the method as a JSON array.
    SIMULATOR_START: Read its standard error. The usual reason is a busy port.
    SIMULATOR_TOKEN_WRONG: Send the token that callsync simulate printed at its start, as Authorization: Bearer.
    SPOOL_FAILED: Make the folder webhook.spool.dir writable.
    SPOOL_FULL: Run callsync doctor, and repair the store; the spool then empties itself. For more room, raise webhook.spool.max_bytes.
    SPOOL_LOCK_UNSUPPORTED: Run callsync on Linux (glibc), macOS or Windows, on x64 or arm64.
    SPOOL_UNUSABLE: Set webhook.spool.dir to a folder that the receiver can write to.
    STORE_DATA_DIR: Set store.data_dir to a folder such as /var/lib/callsync, or run callsync as another user.
    STORE_INIT: Check that the folder is writable and the disk has room, or set store.url to a server of your own.
    STORE_NO_ACCOUNT: Run callsync as another user, or create the account with useradd --system postgres.
    STORE_NO_BINARIES: Run npm install --include=optional, or set store.url to a PostgreSQL server of your own.
    STORE_SCHEMA: Run that version. Or name an empty database in store.url, or another store.data_dir, and read the calls again with callsync backfill.
    STREAM_PATH: Check source.websocket.url with the account manager; the interface does not show it.
    STREAM_UNAVAILABLE: callsync retries, at growing intervals. If the error persists, check source.websocket.url and the firewall.
    TOKEN_ENDPOINT_MISSING: Correct source.auth_url and source.realm, or source.token_url, then run callsync doctor.
    TOKEN_MALFORMED: Correct source.auth_url and source.realm (a login page or a proxy may answer), then run callsync doctor.
    TOKEN_UNAVAILABLE: Check source.auth_url and source.realm; if the endpoint is down, callsync retries.
    WAKE_LATE: The sweep merges the deliveries within sync.inbox_sweep. If the error persists, run callsync doctor to see whether Temporal answers.
    WAREHOUSE_NOT_CONFIGURED: Stop this worker, and run callsync worker with the current configuration. Meanwhile, another worker does the load.
    WAREHOUSE_RESTORED: Do nothing. callsync sends the lost calls again.
    WEBHOOK_PORT_TAKEN: Set webhook.listen and webhook.port to a free address of this machine.
    WORKFLOW_FAILED: Correct the fault, then start it again; finished work stays.`,
} as const;

type Exit = keyof typeof codes;

type Split<Text, By extends string, Parts = never> = Text extends `${infer First}${By}${infer Rest}`
  ? Split<Rest, By, Parts | First>
  : Parts | Text;

/** A line has one code with its step, or several codes. */
type CodesOf<Line> = Line extends `    ${infer Code}: ${string}` ? Code : Split<Line, ' '>;

export type ErrorCode = Exclude<CodesOf<Split<(typeof codes)[Exit], '\n'>>, ''>;

const lines = Object.entries(codes).flatMap(([exit, text]) =>
  text
    .trim()
    .split(/\n\s*/)
    .map((line) => [exit as Exit, ...(line.split(/: (.*)/) as [names: string, step?: string])] as const),
);

/** Each code with the exit of its command. `byKind`: `unanswered` for a transient error, `blocked` for a terminal one. */
export const errorCodes: ReadonlyMap<ErrorCode, Exit> = new Map(
  lines.flatMap(([exit, names]) => names.split(' ').map((code) => [code as ErrorCode, exit])),
);

/** The next steps that depend on the code alone. */
export const nextSteps: ReadonlyMap<string, string> = new Map(
  lines.flatMap(([, code, step]) => (step === undefined ? [] : [[code, step]])),
);
