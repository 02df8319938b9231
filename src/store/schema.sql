-- Operational store of callsync, schema `callsync`. Every statement runs with search_path = callsync.

-- Single values of the store: the tombstone key, learned facts.
CREATE TABLE meta (
  key        text PRIMARY KEY,
  value      jsonb NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Issued when a ledger is created or restored; the highest part of the warehouse guard.
CREATE TABLE epochs (
  epoch     integer PRIMARY KEY,
  reason    text NOT NULL,
  issued_at timestamptz NOT NULL DEFAULT now(),
  -- What follows a restore is not done yet: erasures, counters, calls to be asked for.
  healing   boolean NOT NULL DEFAULT false
);

-- Webhook deliveries: bodies until they expire, the rest for good. Rejected ones have no body.
CREATE TABLE inbox (
  seq             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  delivery_id     text,
  hook_id         text,
  agent           text,
  received_at     timestamptz NOT NULL,
  signing_key     text,
  -- Raw bytes as received; null once expired, and for rejected deliveries.
  body            bytea,
  -- SHA-256 of the body: the same body under another delivery id is a repeat.
  body_hash       bytea,
  spooled         boolean NOT NULL DEFAULT false,
  outcome         text NOT NULL DEFAULT 'pending'
                  CHECK (outcome IN ('pending', 'accepted', 'duplicate', 'repeat', 'quarantined', 'rejected')),
  reason          text,
  call_id         text,
  folded_at       timestamptz,
  -- Given on arrival; begins with the time, so that the index grows at its end.
  arrival_id      uuid,
  -- Version of the privacy rules that the body is under; null = none, or not known.
  privacy_version text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE inbox ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX inbox_pending ON inbox (seq) WHERE outcome = 'pending';
CREATE INDEX inbox_body_hash ON inbox (body_hash, delivery_id) WHERE body_hash IS NOT NULL;
CREATE INDEX inbox_row_age ON inbox (received_at);
CREATE INDEX inbox_body_age ON inbox (received_at) WHERE body IS NOT NULL;
-- Of calls that were erased: a warehouse that lost rows is told of all of them.
CREATE INDEX inbox_erased ON inbox (seq) WHERE reason = 'erased';
CREATE INDEX inbox_rejected_age ON inbox (received_at) WHERE outcome = 'rejected';
-- Erasing a call looks for its deliveries; a merge writes the column when it settles one.
CREATE INDEX inbox_call ON inbox (call_id) WHERE call_id IS NOT NULL;
-- A delivery written twice (an insert whose outcome was never learned, a spool drained again after a crash) lands once.
CREATE UNIQUE INDEX inbox_arrival_id ON inbox (arrival_id);

-- Who delivered, and which key verified it: rows are only added, and joined by maintenance.
CREATE TABLE delivery_senders (
  agent       text,
  signing_key text,
  deliveries  bigint NOT NULL,
  first_at    timestamptz NOT NULL,
  last_at     timestamptz NOT NULL
);

-- Deliveries that the table of a warehouse does not have yet; rejected ones wait for a load that others started.
CREATE TABLE unloaded_deliveries (
  warehouse text NOT NULL,
  rejected  boolean NOT NULL,
  seq       bigint NOT NULL,
  PRIMARY KEY (warehouse, rejected, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE INDEX unloaded_deliveries_seq ON unloaded_deliveries (seq);

CREATE TABLE ledger (
  call_id         text COLLATE "C" PRIMARY KEY,
  -- Raised by one whenever the folded document changes; 0 = claimed, nothing folded yet.
  revision        integer NOT NULL DEFAULT 0,
  tombstone       boolean NOT NULL DEFAULT false,
  -- Per top-level field: [observed_at in microseconds, source rank, value hash].
  fields          jsonb NOT NULL DEFAULT '{}',
  call_timestamp  timestamptz,
  processed_at    timestamptz,
  -- observed_at of the earliest observation.
  first_seen_at   timestamptz,
  -- observed_at of the latest observation, changed or not.
  last_seen_at    timestamptz,
  -- observed_at of the latest observation that changed the document.
  changed_at      timestamptz,
  -- When the first webhook observation was folded; null = never seen by webhook.
  webhook_at      timestamptz,
  poll_at         timestamptz,
  import_at       timestamptz,
  source_deleted_at   timestamptz,
  -- Per top-level field that changed after the first revision: [revision, observed_at in microseconds, source rank].
  field_changes   jsonb,
  -- Version of the privacy rules that the whole document is under; none = something came in without rules afterwards; null = none were ever applied.
  privacy_version text
) WITH (fillfactor = 70);
CREATE INDEX ledger_call_timestamp ON ledger (call_timestamp);
CREATE INDEX ledger_processed_at ON ledger (processed_at);
CREATE INDEX ledger_privacy_version ON ledger (privacy_version);

-- Apart from the ledger, so that raising a version never rewrites a transcript.
CREATE TABLE ledger_documents (
  call_id          text COLLATE "C" PRIMARY KEY,
  revision         integer NOT NULL,
  -- The folded document as JSON, raw deflate.
  body             bytea NOT NULL,
  -- First 8 bytes of the keyed hash of each number, token and metadata value that the document names; null = not listed yet.
  subjects         bytea[],
  -- By which key and rules the subjects were listed.
  subjects_version integer
);
ALTER TABLE ledger_documents ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX ledger_documents_subjects ON ledger_documents USING gin (subjects) WHERE subjects IS NOT NULL;
CREATE INDEX ledger_documents_subjects_version ON ledger_documents (subjects_version);

CREATE TABLE warehouses (
  name              text PRIMARY KEY,
  -- When a worker last said that the warehouse is configured.
  configured_at     timestamptz NOT NULL DEFAULT now(),
  -- Highest version of the flattening whose workers have loaded the warehouse.
  flatten_version   integer NOT NULL DEFAULT 0,
  -- A walk over the ledger marks what the warehouse lacks; it has come to this call. Null = no walk.
  walk_after        text COLLATE "C",
  -- The walk also marks calls that were applied at or after this time: the warehouse has lost them.
  walk_since        timestamptz,
  -- The walk asks for every call to be written again, under this number.
  walk_rewrite      bigint,
  -- The walk begins when transactions older than this one have ended.
  walk_xid          xid8,
  walk_requested_at timestamptz,
  -- When the loads of ledger and warehouse were last compared.
  compared_at       timestamptz
);

-- Lowest first: erasures (0), changes (1), backlog (2); within each, the latest first.
-- Its body is stable (`extract` of a timestamptz): declared immutable it is called for each row, declared stable it is inlined.
-- In seconds. A null time stands last of its urgency.
CREATE FUNCTION queue_position(urgency integer, at timestamptz) RETURNS bigint STABLE PARALLEL SAFE LANGUAGE sql AS
  $$ SELECT urgency * 1000000000000 + 300000000000 - CASE WHEN isfinite(at) THEN extract(epoch FROM at)::bigint ELSE -99999999999 END $$;

-- What each warehouse has of each call. What waits for it stands in a queue, so that a batch costs what it holds, however
-- many calls there are. A queue is dead rows at both ends: they are cleared often, or each batch would step over them.
CREATE TABLE warehouse_calls (
  warehouse        text NOT NULL,
  call_id          text COLLATE "C" NOT NULL,
  pending          boolean NOT NULL DEFAULT true,
  applied_epoch    integer NOT NULL DEFAULT 0,
  applied_revision integer NOT NULL DEFAULT 0,
  applied_flatten  integer NOT NULL DEFAULT 0,
  -- Every UTC date under which the call was ever sent; null element = no timestamp.
  partitions       date[] NOT NULL DEFAULT '{}',
  -- Number of the request to write the rows again, equal guards too; null = none.
  rewrite          bigint,
  -- Order in which pending calls are served, lowest first.
  queue_position   bigint NOT NULL DEFAULT 2000000000000,
  -- When a load with this call was last known to be committed.
  applied_at       timestamptz,
  -- When the first such load was; later loads leave it.
  first_applied_at timestamptz,
  PRIMARY KEY (warehouse, call_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE INDEX warehouse_calls_queue ON warehouse_calls (warehouse, queue_position, call_id) WHERE pending;
-- Calls whose rows are to be written again although the warehouse has them in their present revision.
CREATE SEQUENCE rewrite_requests;

-- A load is one commit of a stored list of (call, revision) into one warehouse.
CREATE TABLE loads (
  load_id         text PRIMARY KEY,
  warehouse       text NOT NULL,
  epoch           integer NOT NULL,
  flatten_version integer NOT NULL,
  origin          text NOT NULL,
  calls           integer NOT NULL,
  state           text NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'committed', 'failed')),
  created_at      timestamptz NOT NULL DEFAULT now(),
  committed_at    timestamptz,
  error           text,
  -- When the process that commits the load last said that it is at it.
  alive_at        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX loads_open ON loads (warehouse, created_at) WHERE state = 'planned';
CREATE INDEX loads_committed ON loads (warehouse, committed_at DESC) WHERE state = 'committed';
CREATE INDEX loads_created ON loads (warehouse, created_at DESC);

-- Workers take its foreign key as the sign that no restore is under way: a restore creates it last.
-- Deleted once the load is committed: warehouse_calls holds the result.
CREATE TABLE load_calls (
  load_id  text NOT NULL REFERENCES loads ON DELETE CASCADE,
  call_id  text COLLATE "C" NOT NULL,
  revision integer NOT NULL,
  -- The request that this load meets: warehouse_calls.rewrite as it was when the load was planned.
  rewrite  bigint,
  PRIMARY KEY (load_id, call_id)
);

-- Half-open windows [from, to) whose observations are in the ledger; shown = how it was shown that nothing of them is missing, reason = why it was not.
CREATE TABLE windows (
  axis        text NOT NULL,
  window_from timestamptz NOT NULL,
  window_to   timestamptz NOT NULL,
  calls       integer NOT NULL,
  shown       text NOT NULL CHECK (shown IN ('total', 'one_response', 'second_listing', 'page_overlap', 'none')),
  origin      text NOT NULL,
  read_at     timestamptz NOT NULL DEFAULT now(),
  reason      text,
  PRIMARY KEY (axis, window_from, window_to),
  CHECK (window_from < window_to)
);

CREATE TABLE window_problems (
  axis        text NOT NULL,
  window_from timestamptz NOT NULL,
  window_to   timestamptz NOT NULL,
  problem     text NOT NULL,
  seen_at     timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  attempts    integer NOT NULL DEFAULT 1,
  next_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (axis, window_from, window_to)
);

-- End of the contiguous prefix of read windows, per sync.
CREATE TABLE watermarks (
  name         text PRIMARY KEY,
  axis         text NOT NULL,
  watermark    timestamptz NOT NULL,
  updated_at   timestamptz NOT NULL DEFAULT now(),
  -- Where the first start began; nothing before it is read.
  started_from timestamptz NOT NULL,
  -- Service time up to which the newest calls were last read.
  seen_to      timestamptz,
  -- Code of what the last run failed with; NULL once one succeeded.
  last_error   text,
  failed_at    timestamptz
);

-- The same bytes once, whatever window listed them: a bad record in an overlapping window would come again at every sync.
CREATE TABLE quarantine (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source      text NOT NULL,
  origin      text NOT NULL,
  reason      text NOT NULL,
  body        bytea NOT NULL,
  received_at timestamptz NOT NULL,
  state       text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'replayed', 'dropped')),
  settled_at  timestamptz,
  body_hash   bytea NOT NULL,
  -- As the bytes name it; null = they do not, or are sealed or gone.
  call_id     text COLLATE "C",
  -- As in ledger_documents, of everything that the bytes name; listed before they are sealed.
  subjects         bytea[],
  subjects_version integer,
  CONSTRAINT quarantine_source_body UNIQUE (source, body_hash)
);
CREATE INDEX quarantine_open ON quarantine (id) WHERE state = 'open';
CREATE INDEX quarantine_settled ON quarantine (state, settled_at) WHERE state <> 'open';

-- Calls to be read again from the API, whose answer decides (repeats, doubtful values).
CREATE TABLE rereads (
  call_id      text COLLATE "C" PRIMARY KEY,
  reason       text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  attempts     integer NOT NULL DEFAULT 0
);

-- The last granted request times (microseconds) of a rolling window, shared by all workers.
CREATE TABLE request_limits (
  name          text PRIMARY KEY,
  slots         bigint[] NOT NULL DEFAULT '{}',
  blocked_until bigint NOT NULL DEFAULT 0,
  -- The last granted request times (microseconds) of the share that is kept for live work.
  live_slots    bigint[] NOT NULL DEFAULT '{}',
  last_is_live  boolean NOT NULL DEFAULT false,
  -- When live work last asked for a slot (microseconds).
  live_at       bigint NOT NULL DEFAULT 0
);

CREATE TABLE drift (
  source     text NOT NULL,
  field      text NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('new', 'vanished', 'uncarried', 'type', 'repeated')),
  detail     text,
  seen       bigint NOT NULL DEFAULT 1,
  first_seen timestamptz NOT NULL DEFAULT now(),
  last_seen  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (source, field, kind)
);

-- WebSocket frames as they came (interface §6: their kinds are not shown).
CREATE TABLE websocket_frames (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session     text NOT NULL,
  received_at timestamptz NOT NULL,
  is_binary   boolean NOT NULL,
  body        bytea NOT NULL,
  subjects         bytea[],
  subjects_version integer
);

-- How long after a call its record still changed. Rows are only added, so that folding never waits for a counter.
CREATE TABLE late_changes (
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- What the age is counted from: the end of processing, or the call's own time.
  basis   text NOT NULL CHECK (basis IN ('processed', 'timestamp')),
  -- Age of the call at the change: 0 = the first minute, then eight buckets for each doubling.
  bucket  integer NOT NULL,
  changes integer NOT NULL,
  -- Changes divided by the share of windows in which such a change would have been seen.
  weight  double precision NOT NULL
);
CREATE INDEX late_changes_seen ON late_changes (basis, seen_at);

-- Per age band (a bucket of late_changes): up to when changes of calls of that age have been looked for, in all windows or in the sampled ones.
CREATE TABLE reread_bands (
  axis       text NOT NULL,
  band       integer NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('all', 'sample')),
  covered_at timestamptz NOT NULL,
  PRIMARY KEY (axis, band, kind)
);

CREATE TABLE reread_runs (
  run_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  axis        text NOT NULL,
  planned_at  timestamptz NOT NULL,
  finished_at timestamptz NOT NULL DEFAULT now(),
  horizon_s   double precision NOT NULL,
  listed      bigint NOT NULL,
  changed     bigint NOT NULL,
  fetched     bigint NOT NULL,
  requests    bigint NOT NULL
);

-- Signed with a key that the store does not have.
-- Outcome of reconciling one window with one warehouse; never changed, each digest chained to the one before it of the same warehouse.
CREATE TABLE verdicts (
  verdict_id       bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  warehouse        text NOT NULL,
  axis             text NOT NULL,
  window_from      timestamptz NOT NULL,
  window_to        timestamptz NOT NULL,
  level            text NOT NULL CHECK (level IN ('ids', 'fields', 'records')),
  confirmed        text NOT NULL CHECK (confirmed IN ('total', 'one_response', 'second_listing', 'listing', 'page_overlap', 'none')),
  calls_listed     integer NOT NULL,
  calls_found      integer NOT NULL,
  missing          integer NOT NULL,
  different        integer NOT NULL,
  healed           integer NOT NULL,
  deleted          integer NOT NULL,
  unexpected       integer NOT NULL,
  outcome          text NOT NULL CHECK (outcome IN ('proven', 'healed', 'unproven', 'suspicious_empty')),
  compared_at      timestamptz NOT NULL,
  ledger_epoch     integer NOT NULL,
  flatten_version  integer NOT NULL,
  revisions_digest text NOT NULL,
  compared_by      text NOT NULL,
  digest           text NOT NULL,
  previous_digest  text,
  -- Whether the warehouse's own table verdicts has the row.
  loaded           boolean NOT NULL DEFAULT false,
  warehouse_level  text NOT NULL DEFAULT 'guards' CHECK (warehouse_level IN ('guards', 'rows')),
  -- Which key of the proof chain signed the digest.
  key_id           text NOT NULL,
  -- Listed calls that are tombstones: erased, objected to, or too old to be kept.
  excluded         integer NOT NULL
);
CREATE INDEX verdicts_window ON verdicts (warehouse, axis, window_from, window_to, verdict_id DESC);
CREATE INDEX verdicts_unloaded ON verdicts (warehouse, verdict_id) WHERE NOT loaded;

-- What people and processes did, for the timeline of the status page.
-- Actions of operators and changes of version; no personal data.
CREATE TABLE events (
  id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at    timestamptz NOT NULL DEFAULT now(),
  kind  text NOT NULL,
  what  text NOT NULL,
  -- Name of the token that was used; null where nobody acted.
  actor text
);
CREATE INDEX events_at ON events (at DESC);

-- What is wrong as somebody was told, and the messages that are still to be sent.
-- Conditions that hold now; gone when they no longer do.
CREATE TABLE notified_conditions (
  condition text NOT NULL,
  -- Name of the warehouse that it is about; empty = of none.
  subject   text NOT NULL,
  since     timestamptz NOT NULL DEFAULT now(),
  -- When messages were queued; null while the condition has not lasted long enough.
  told_at   timestamptz,
  PRIMARY KEY (condition, subject)
);

-- Messages that are not sent yet; deleted once they are, or after a day of vain attempts.
CREATE TABLE notification_messages (
  id         uuid NOT NULL DEFAULT gen_random_uuid(),
  channel    text NOT NULL,
  condition  text NOT NULL,
  subject    text NOT NULL,
  state      text NOT NULL CHECK (state IN ('firing', 'resolved')),
  summary    text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  attempts   integer NOT NULL DEFAULT 0,
  next_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id, channel)
);

-- Erasures survive a ledger that was restored or lost; persons who object have their future calls kept out too.
-- Keyed hashes of erased calls, from the erasure log and the warehouses: a call with one of them becomes a tombstone when it is met.
CREATE TABLE erased_keys (
  call_key text PRIMARY KEY,
  noted_at timestamptz NOT NULL DEFAULT now(),
  -- A call that is not known yet and names it in contacts or metadata becomes a tombstone.
  objects  boolean NOT NULL DEFAULT false
);
CREATE INDEX erased_keys_objects ON erased_keys (call_key) WHERE objects;
CREATE INDEX erased_keys_short ON erased_keys (left(call_key, 16));

-- Erasures whose receipts are not signed yet: a workflow carries them to their end, whatever became of the command.
-- Erasures that wait until every warehouse has their tombstones.
CREATE TABLE erasure_requests (
  request_id text PRIMARY KEY,
  -- The receipt so far: keyed hashes and counts.
  draft      jsonb NOT NULL,
  -- Calls that became tombstones.
  call_ids   text[] NOT NULL,
  -- By what else the person is found: first 8 bytes of keyed hashes.
  subjects   text[] NOT NULL,
  opened_at  timestamptz NOT NULL DEFAULT now()
);

-- What erasures did, in keyed hashes and counts; each row is signed over the one before it.
CREATE TABLE erasure_receipts (
  receipt_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- JSON as it was signed.
  receipt         text NOT NULL,
  -- Which key of the proof chain signed the digest.
  key_id          text NOT NULL,
  previous_digest text,
  digest          text NOT NULL
);

-- Legal holds: what they name is neither erased nor taken for its age.
-- Legal holds, until somebody removes them.
CREATE TABLE holds (
  hold_id text PRIMARY KEY,
  kind    text NOT NULL,
  reason  text NOT NULL,
  -- Operating system user who put it on.
  actor   text NOT NULL,
  held_at timestamptz NOT NULL
);

-- Keyed hashes of what holds name.
CREATE TABLE held_keys (
  held_key text NOT NULL,
  hold_id  text NOT NULL,
  -- Of a call id; else of a number or a metadata value, whose later calls are held too.
  of_call  boolean NOT NULL,
  PRIMARY KEY (held_key, hold_id)
);
CREATE INDEX held_keys_hold ON held_keys (hold_id);
CREATE INDEX held_keys_subjects ON held_keys (held_key) WHERE NOT of_call;
CREATE INDEX held_keys_short ON held_keys (left(held_key, 16));

-- Who has another key of the same name is refused: its tokens, seals and receipts would be known to nobody else.
-- Fingerprints of the keys of tokens, tombstones, proof and seals that workers use; a key that was changed has one for each.
CREATE TABLE token_keys (
  key_id      text NOT NULL,
  fingerprint text NOT NULL,
  PRIMARY KEY (key_id, fingerprint)
);

-- Counters, so that nothing has to be counted. Each statement adds what it changed, in rows of its own: a counter is
-- the sum of its rows, nobody waits for another's, and maintenance joins them. Triggers, so that no statement forgets.
-- The value of a counter is the sum over its name.
CREATE TABLE counters (
  name  text NOT NULL,
  value bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- A statement's rows count once, and what it changed or took away once less. @param 1: name of the counter, 2: which rows count; $1 = the operation.
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  EXECUTE format(
    'INSERT INTO counters SELECT %s, sum(change) FROM (%s) AS changes WHERE %s GROUP BY 1 HAVING sum(change) <> 0',
    TG_ARGV[0],
    CASE TG_OP WHEN 'INSERT' THEN 'SELECT *, 1 AS change FROM fresh' WHEN 'DELETE' THEN 'SELECT *, -1 AS change FROM old'
               ELSE 'SELECT *, 1 AS change FROM fresh UNION ALL SELECT *, -1 FROM old' END,
    TG_ARGV[1]) USING TG_OP;
  RETURN NULL;
END $$;

CREATE FUNCTION forget_counters() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  DELETE FROM counters WHERE name LIKE ANY(TG_ARGV);
  RETURN NULL;
END $$;

DO $do$
DECLARE counted record;
BEGIN
  FOR counted IN SELECT * FROM (VALUES
    ('ledger', $n$CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END$n$, 'revision > 0', $n$'calls', 'tombstones'$n$),
    ('warehouse_calls', $n$'pending:' || warehouse$n$, 'pending', $n$'pending:%'$n$),
    -- What has expired has still been delivered; what was taken back while it waited has not.
    ('inbox', $n$'deliveries:' || outcome$n$, $n$$1 <> 'DELETE' OR outcome = 'pending'$n$, $n$'deliveries:%'$n$),
    ('quarantine', $n$'quarantine:open'$n$, $n$state = 'open'$n$, $n$'quarantine:%'$n$)
  ) AS c (tab, name, which, forgotten) LOOP
    EXECUTE format('CREATE TRIGGER count_inserted AFTER INSERT ON %1$I REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_rows(%2$L, %3$L);
      CREATE TRIGGER count_updated AFTER UPDATE ON %1$I REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_rows(%2$L, %3$L);
      CREATE TRIGGER count_deleted AFTER DELETE ON %1$I REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_rows(%2$L, %3$L);
      CREATE TRIGGER count_truncated AFTER TRUNCATE ON %1$I FOR EACH STATEMENT EXECUTE FUNCTION forget_counters(%4$s);',
      counted.tab, counted.name, counted.which, counted.forgotten);
  END LOOP;
END $do$;
