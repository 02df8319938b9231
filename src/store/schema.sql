-- Operational store of callsync, schema `callsync`. Every statement runs with search_path = callsync.

CREATE TABLE meta (
  key        text PRIMARY KEY,
  value      jsonb NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE meta IS 'Single values of the store: the tombstone key, learned facts.';

CREATE TABLE epochs (
  epoch     integer PRIMARY KEY,
  reason    text NOT NULL,
  issued_at timestamptz NOT NULL DEFAULT now(),
  healing   boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN epochs.healing IS 'What follows a restore is not done yet: erasures, counters, calls to be asked for.';
COMMENT ON TABLE epochs IS 'Issued when a ledger is created or restored; the highest part of the warehouse guard.';

-- Webhook deliveries: bodies until they expire, the rest for good. Rejected ones have no body.
CREATE TABLE inbox (
  seq             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  delivery_id     text,
  hook_id         text,
  agent           text,
  received_at     timestamptz NOT NULL,
  signing_key     text,
  body            bytea,
  body_hash       bytea,
  spooled         boolean NOT NULL DEFAULT false,
  outcome         text NOT NULL DEFAULT 'pending'
                  CHECK (outcome IN ('pending', 'accepted', 'duplicate', 'repeat', 'quarantined', 'rejected')),
  reason          text,
  call_id         text,
  folded_at       timestamptz,
  arrival_id      uuid,
  privacy_version text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE inbox ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON COLUMN inbox.body IS 'Raw bytes as received; null once expired, and for rejected deliveries.';
COMMENT ON COLUMN inbox.body_hash IS 'SHA-256 of the body: the same body under another delivery id is a repeat.';
COMMENT ON COLUMN inbox.arrival_id IS 'Given on arrival; begins with the time, so that the index grows at its end.';
COMMENT ON COLUMN inbox.privacy_version IS 'Version of the privacy rules that the body is under; null = none, or not known.';
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
COMMENT ON TABLE delivery_senders IS 'Deliveries that were let in, by agent and signing key; joined by maintenance.';

CREATE TABLE unloaded_deliveries (
  warehouse text NOT NULL,
  rejected  boolean NOT NULL,
  seq       bigint NOT NULL,
  PRIMARY KEY (warehouse, rejected, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE unloaded_deliveries IS 'Deliveries that the table of a warehouse does not have yet; rejected ones wait for a load that others started.';
CREATE INDEX unloaded_deliveries_seq ON unloaded_deliveries (seq);

CREATE TABLE ledger (
  call_id         text COLLATE "C" PRIMARY KEY,
  revision        integer NOT NULL DEFAULT 0,
  tombstone       boolean NOT NULL DEFAULT false,
  fields          jsonb NOT NULL DEFAULT '{}',
  call_timestamp  timestamptz,
  processed_at    timestamptz,
  first_seen_at   timestamptz,
  last_seen_at    timestamptz,
  changed_at      timestamptz,
  webhook_at      timestamptz,
  poll_at         timestamptz,
  import_at       timestamptz,
  missing_since   timestamptz,
  field_changes   jsonb,
  privacy_version text
) WITH (fillfactor = 70);
COMMENT ON COLUMN ledger.revision IS 'Raised by one whenever the folded document changes; 0 = claimed, nothing folded yet.';
COMMENT ON COLUMN ledger.fields IS 'Per top-level field: [observed_at in microseconds, source rank, value hash].';
COMMENT ON COLUMN ledger.first_seen_at IS 'observed_at of the earliest observation.';
COMMENT ON COLUMN ledger.last_seen_at IS 'observed_at of the latest observation, changed or not.';
COMMENT ON COLUMN ledger.changed_at IS 'observed_at of the latest observation that changed the document.';
COMMENT ON COLUMN ledger.webhook_at IS 'When the first webhook observation was folded; null = never seen by webhook.';
COMMENT ON COLUMN ledger.field_changes IS 'Per top-level field that changed after the first revision: [revision, observed_at in microseconds, source rank].';
COMMENT ON COLUMN ledger.privacy_version IS 'Version of the privacy rules that the whole document is under; none = something came in without rules afterwards; null = none were ever applied.';
CREATE INDEX ledger_call_timestamp ON ledger (call_timestamp);
CREATE INDEX ledger_processed_at ON ledger (processed_at);
CREATE INDEX ledger_privacy_version ON ledger (privacy_version);

-- Apart from the ledger, so that raising a version never rewrites a transcript.
CREATE TABLE ledger_documents (
  call_id          text COLLATE "C" PRIMARY KEY,
  revision         integer NOT NULL,
  body             bytea NOT NULL,
  subjects         bytea[],
  subjects_version integer
);
ALTER TABLE ledger_documents ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON COLUMN ledger_documents.body IS 'The folded document as JSON, raw deflate.';
COMMENT ON COLUMN ledger_documents.subjects IS 'First 8 bytes of the keyed hash of each number, token and metadata value that the document names; null = not listed yet.';
COMMENT ON COLUMN ledger_documents.subjects_version IS 'By which key and rules the subjects were listed.';
CREATE INDEX ledger_documents_subjects ON ledger_documents USING gin (subjects) WHERE subjects IS NOT NULL;
CREATE INDEX ledger_documents_subjects_version ON ledger_documents (subjects_version);

CREATE TABLE warehouses (
  name              text PRIMARY KEY,
  configured_at     timestamptz NOT NULL DEFAULT now(),
  flatten_version   integer NOT NULL DEFAULT 0,
  walk_after        text COLLATE "C",
  walk_since        timestamptz,
  walk_rewrite      bigint,
  walk_xid          xid8,
  walk_requested_at timestamptz,
  compared_at       timestamptz
);
COMMENT ON COLUMN warehouses.configured_at IS 'When a worker last said that the warehouse is configured.';
COMMENT ON COLUMN warehouses.flatten_version IS 'Highest version of the flattening whose workers have loaded the warehouse.';
COMMENT ON COLUMN warehouses.walk_after IS 'A walk over the ledger marks what the warehouse lacks; it has come to this call. Null = no walk.';
COMMENT ON COLUMN warehouses.walk_since IS 'The walk also marks calls that were applied at or after this time: the warehouse has lost them.';
COMMENT ON COLUMN warehouses.walk_rewrite IS 'The walk asks for every call to be written again, under this number.';
COMMENT ON COLUMN warehouses.walk_xid IS 'The walk begins when transactions older than this one have ended.';
COMMENT ON COLUMN warehouses.compared_at IS 'When the loads of ledger and warehouse were last compared.';

-- Lowest first: erasures (0), changes (1), backlog (2); within each, the latest first.
-- Its body is stable (`extract` of a timestamptz): declared immutable it is called for each row, declared stable it is inlined.
CREATE FUNCTION queue_position(urgency integer, at timestamptz) RETURNS bigint STABLE PARALLEL SAFE LANGUAGE sql AS
  $$ SELECT urgency * 1000000000000 + 300000000000 - CASE WHEN isfinite(at) THEN extract(epoch FROM at)::bigint ELSE -99999999999 END $$;
COMMENT ON FUNCTION queue_position IS 'In seconds. A null time stands last of its urgency.';

-- What each warehouse has of each call. What waits for it stands in a queue, so that a batch costs what it holds, however
-- many calls there are. A queue is dead rows at both ends: they are cleared often, or each batch would step over them.
CREATE TABLE warehouse_calls (
  warehouse        text NOT NULL,
  call_id          text COLLATE "C" NOT NULL,
  pending          boolean NOT NULL DEFAULT true,
  applied_epoch    integer NOT NULL DEFAULT 0,
  applied_revision integer NOT NULL DEFAULT 0,
  applied_flatten  integer NOT NULL DEFAULT 0,
  partitions       date[] NOT NULL DEFAULT '{}',
  rewrite          bigint,
  queue_position   bigint NOT NULL DEFAULT 2000000000000,
  applied_at       timestamptz,
  first_applied_at timestamptz,
  PRIMARY KEY (warehouse, call_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
COMMENT ON COLUMN warehouse_calls.partitions IS 'Every UTC date under which the call was ever sent; null element = no timestamp.';
COMMENT ON COLUMN warehouse_calls.rewrite IS 'Number of the request to write the rows again, equal guards too; null = none.';
COMMENT ON COLUMN warehouse_calls.queue_position IS 'Order in which pending calls are served, lowest first.';
COMMENT ON COLUMN warehouse_calls.applied_at IS 'When a load with this call was last known to be committed.';
COMMENT ON COLUMN warehouse_calls.first_applied_at IS 'When the first such load was; later loads leave it.';
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
  attempt         integer NOT NULL DEFAULT 0,
  created_at      timestamptz NOT NULL DEFAULT now(),
  committed_at    timestamptz,
  error           text,
  alive_at        timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN loads.alive_at IS 'When the process that commits the load last said that it is at it.';
CREATE INDEX loads_open ON loads (warehouse, created_at) WHERE state = 'planned';
CREATE INDEX loads_committed ON loads (warehouse, committed_at DESC) WHERE state = 'committed';
CREATE INDEX loads_created ON loads (warehouse, created_at DESC);

-- Workers take its foreign key as the sign that no restore is under way: a restore creates it last.
CREATE TABLE load_calls (
  load_id  text NOT NULL REFERENCES loads ON DELETE CASCADE,
  call_id  text COLLATE "C" NOT NULL,
  revision integer NOT NULL,
  rewrite  bigint,
  PRIMARY KEY (load_id, call_id)
);
COMMENT ON TABLE load_calls IS 'Deleted once the load is committed: warehouse_calls holds the result.';
COMMENT ON COLUMN load_calls.rewrite IS 'The request that this load meets: warehouse_calls.rewrite as it was when the load was planned.';

CREATE TABLE windows (
  axis        text NOT NULL,
  window_from timestamptz NOT NULL,
  window_to   timestamptz NOT NULL,
  calls       integer NOT NULL,
  shown       text NOT NULL CHECK (shown IN ('total', 'one_response', 'second_listing', 'overlap', 'none')),
  origin      text NOT NULL,
  read_at     timestamptz NOT NULL DEFAULT now(),
  reason      text,
  PRIMARY KEY (axis, window_from, window_to),
  CHECK (window_from < window_to)
);
COMMENT ON TABLE windows IS 'Half-open windows [from, to) whose observations are in the ledger; shown = how it was shown that nothing of them is missing, reason = why it was not.';

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

CREATE TABLE watermarks (
  name         text PRIMARY KEY,
  axis         text NOT NULL,
  watermark    timestamptz NOT NULL,
  updated_at   timestamptz NOT NULL DEFAULT now(),
  started_from timestamptz,
  seen_to      timestamptz,
  last_error   text,
  failed_at    timestamptz
);
COMMENT ON TABLE watermarks IS 'End of the contiguous prefix of read windows, per sync.';
COMMENT ON COLUMN watermarks.started_from IS 'Where the first start began; nothing before it is read.';
COMMENT ON COLUMN watermarks.seen_to IS 'Service time up to which the newest calls were last read.';
COMMENT ON COLUMN watermarks.last_error IS 'Code of what the last run failed with; NULL once one succeeded.';

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
  call_id     text COLLATE "C",
  subjects         bytea[],
  subjects_version integer,
  CONSTRAINT quarantine_source_body UNIQUE (source, body_hash)
);
COMMENT ON COLUMN quarantine.call_id IS 'As the bytes name it; null = they do not, or are sealed or gone.';
COMMENT ON COLUMN quarantine.subjects IS 'As in ledger_documents, of everything that the bytes name; listed before they are sealed.';
CREATE INDEX quarantine_open ON quarantine (id) WHERE state = 'open';
CREATE INDEX quarantine_settled ON quarantine (state, settled_at) WHERE state <> 'open';

CREATE TABLE rereads (
  call_id      text COLLATE "C" PRIMARY KEY,
  reason       text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  attempts     integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE rereads IS 'Calls to be read again from the API, whose answer decides (repeats, doubtful values).';

CREATE TABLE request_limits (
  name          text PRIMARY KEY,
  slots         bigint[] NOT NULL DEFAULT '{}',
  blocked_until bigint NOT NULL DEFAULT 0,
  live_slots    bigint[] NOT NULL DEFAULT '{}',
  last_is_live  boolean NOT NULL DEFAULT false,
  live_at       bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE request_limits IS 'The last granted request times (microseconds) of a rolling window, shared by all workers.';
COMMENT ON COLUMN request_limits.live_slots IS 'The last granted request times (microseconds) of the share that is kept for live work.';
COMMENT ON COLUMN request_limits.live_at IS 'When live work last asked for a slot (microseconds).';

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

CREATE TABLE websocket_frames (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session     text NOT NULL,
  received_at timestamptz NOT NULL,
  is_binary   boolean NOT NULL,
  body        bytea NOT NULL,
  subjects         bytea[],
  subjects_version integer
);
COMMENT ON TABLE websocket_frames IS 'WebSocket frames as they came (interface §6: their kinds are not shown).';

-- How long after a call its record still changed. Rows are only added, so that folding never waits for a counter.
CREATE TABLE late_changes (
  seen_at timestamptz NOT NULL DEFAULT now(),
  basis   text NOT NULL CHECK (basis IN ('processed', 'timestamp')),
  bucket  integer NOT NULL,
  changes integer NOT NULL,
  weight  double precision NOT NULL
);
COMMENT ON COLUMN late_changes.basis IS 'What the age is counted from: the end of processing, or the call''s own time.';
COMMENT ON COLUMN late_changes.bucket IS 'Age of the call at the change: 0 = the first minute, then eight buckets for each doubling.';
COMMENT ON COLUMN late_changes.weight IS 'Changes divided by the share of windows in which such a change would have been seen.';
CREATE INDEX late_changes_seen ON late_changes (basis, seen_at);

CREATE TABLE reread_bands (
  axis       text NOT NULL,
  band       integer NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('all', 'sample')),
  covered_at timestamptz NOT NULL,
  PRIMARY KEY (axis, band, kind)
);
COMMENT ON TABLE reread_bands IS 'Per age band (a bucket of late_changes): up to when changes of calls of that age have been looked for, in all windows or in the sampled ones.';

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
CREATE TABLE verdicts (
  verdict_id       bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  warehouse        text NOT NULL,
  axis             text NOT NULL,
  window_from      timestamptz NOT NULL,
  window_to        timestamptz NOT NULL,
  level            text NOT NULL CHECK (level IN ('ids', 'fields', 'records')),
  confirmed        text NOT NULL CHECK (confirmed IN ('total', 'one_response', 'second_listing', 'listing', 'overlap', 'none')),
  calls_listed     integer NOT NULL,
  calls_found      integer NOT NULL,
  missing          integer NOT NULL,
  different        integer NOT NULL,
  healed           integer NOT NULL,
  gone             integer NOT NULL,
  surplus          integer NOT NULL,
  outcome          text NOT NULL CHECK (outcome IN ('proven', 'healed', 'unproven', 'suspicious_empty')),
  compared_at      timestamptz NOT NULL,
  ledger_epoch     integer NOT NULL,
  flatten_version  integer NOT NULL,
  revisions_digest text NOT NULL,
  compared_by      text NOT NULL,
  digest           text NOT NULL,
  previous_digest  text,
  loaded           boolean NOT NULL DEFAULT false,
  warehouse_level  text NOT NULL DEFAULT 'guards' CHECK (warehouse_level IN ('guards', 'rows')),
  key_id           text NOT NULL DEFAULT '',
  kept_out         integer
);
COMMENT ON TABLE verdicts IS 'Outcome of reconciling one window with one warehouse; never changed, each digest chained to the one before it of the same warehouse.';
COMMENT ON COLUMN verdicts.loaded IS 'Whether the warehouse''s own table verdicts has the row.';
COMMENT ON COLUMN verdicts.key_id IS 'Which key of the proof chain signed the digest; empty: none, from before keys.';
COMMENT ON COLUMN verdicts.kept_out IS 'Listed calls that are tombstones: erased, objected to, or too old to be kept.';
CREATE INDEX verdicts_window ON verdicts (warehouse, axis, window_from, window_to, verdict_id DESC);
CREATE INDEX verdicts_unloaded ON verdicts (warehouse, verdict_id) WHERE NOT loaded;

-- What people and processes did, for the timeline of the status page.
CREATE TABLE events (
  id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at    timestamptz NOT NULL DEFAULT now(),
  kind  text NOT NULL,
  what  text NOT NULL,
  actor text
);
COMMENT ON TABLE events IS 'Actions of operators and changes of version; no personal data.';
COMMENT ON COLUMN events.actor IS 'Name of the token that was used; null where nobody acted.';
CREATE INDEX events_at ON events (at DESC);

-- What is wrong as somebody was told, and the messages that are still to be sent.
CREATE TABLE notified_conditions (
  condition text NOT NULL,
  subject   text NOT NULL,
  since     timestamptz NOT NULL DEFAULT now(),
  told_at   timestamptz,
  PRIMARY KEY (condition, subject)
);
COMMENT ON TABLE notified_conditions IS 'Conditions that hold now; gone when they no longer do.';
COMMENT ON COLUMN notified_conditions.subject IS 'Name of the warehouse that it is about; empty = of none.';
COMMENT ON COLUMN notified_conditions.told_at IS 'When messages were queued; null while the condition has not lasted long enough.';

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
COMMENT ON TABLE notification_messages IS 'Messages that are not sent yet; deleted once they are, or after a day of vain attempts.';

-- Erasures survive a ledger that was restored or lost; persons who object have their future calls kept out too.
CREATE TABLE erased_keys (
  call_key text PRIMARY KEY,
  sought   boolean NOT NULL DEFAULT false,
  noted_at timestamptz NOT NULL DEFAULT now(),
  objects  boolean NOT NULL DEFAULT false
);
CREATE INDEX erased_keys_sought ON erased_keys (call_key) WHERE sought;
CREATE INDEX erased_keys_objects ON erased_keys (call_key) WHERE objects;
CREATE INDEX erased_keys_short ON erased_keys (left(call_key, 16));
COMMENT ON TABLE erased_keys IS 'Keyed hashes of erased calls, from the erasure log and the warehouses: a call with one of them becomes a tombstone when it is met.';
COMMENT ON COLUMN erased_keys.sought IS 'Its call is still to be found in ledger and warehouses, and erased there.';
COMMENT ON COLUMN erased_keys.objects IS 'A call that is not known yet and names it in contacts or metadata becomes a tombstone.';

-- Erasures whose receipts are not signed yet: a workflow carries them to their end, whatever became of the command.
CREATE TABLE erasure_requests (
  request_id text PRIMARY KEY,
  draft      jsonb NOT NULL,
  call_ids   text[] NOT NULL,
  subjects   text[] NOT NULL,
  opened_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE erasure_requests IS 'Erasures that wait until every warehouse has their tombstones.';
COMMENT ON COLUMN erasure_requests.draft IS 'The receipt so far: keyed hashes and counts.';
COMMENT ON COLUMN erasure_requests.call_ids IS 'Calls that became tombstones.';
COMMENT ON COLUMN erasure_requests.subjects IS 'By what else the person is found: first 8 bytes of keyed hashes.';

CREATE TABLE erasure_receipts (
  receipt_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  receipt         text NOT NULL,
  key_id          text NOT NULL,
  previous_digest text,
  digest          text NOT NULL
);
COMMENT ON TABLE erasure_receipts IS 'What erasures did, in keyed hashes and counts; each row is signed over the one before it.';
COMMENT ON COLUMN erasure_receipts.receipt IS 'JSON as it was signed.';
COMMENT ON COLUMN erasure_receipts.key_id IS 'Which key of the proof chain signed the digest.';

-- Legal holds: what they name is neither erased nor taken for its age.
CREATE TABLE holds (
  hold_id text PRIMARY KEY,
  kind    text NOT NULL,
  reason  text NOT NULL,
  actor   text NOT NULL,
  held_at timestamptz NOT NULL
);
COMMENT ON TABLE holds IS 'Legal holds, until somebody removes them.';
COMMENT ON COLUMN holds.actor IS 'Operating system user who put it on.';

CREATE TABLE held_keys (
  held_key text NOT NULL,
  hold_id  text NOT NULL,
  of_call  boolean NOT NULL,
  PRIMARY KEY (held_key, hold_id)
);
CREATE INDEX held_keys_hold ON held_keys (hold_id);
CREATE INDEX held_keys_subjects ON held_keys (held_key) WHERE NOT of_call;
CREATE INDEX held_keys_short ON held_keys (left(held_key, 16));
COMMENT ON TABLE held_keys IS 'Keyed hashes of what holds name.';
COMMENT ON COLUMN held_keys.of_call IS 'Of a call id; else of a number or a metadata value, whose later calls are held too.';

-- Who has another key of the same name is refused: its tokens, seals and receipts would be known to nobody else.
CREATE TABLE token_keys (
  key_id      text NOT NULL,
  fingerprint text NOT NULL,
  PRIMARY KEY (key_id, fingerprint)
);
COMMENT ON TABLE token_keys IS 'Fingerprints of the keys of tokens, tombstones, proof and seals that workers use; a key that was changed has one for each.';

-- Counters, so that nothing has to be counted. Each statement adds what it changed, in rows of its own: a counter is
-- the sum of its rows, nobody waits for another's, and maintenance joins them. Triggers, so that no statement forgets.
CREATE TABLE counters (
  name  text NOT NULL,
  value bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON TABLE counters IS 'The value of a counter is the sum over its name.';

CREATE FUNCTION count_calls() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END, count(*)
      FROM fresh WHERE revision > 0 GROUP BY 1;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO counters SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END, -count(*)
      FROM old WHERE revision > 0 GROUP BY 1;
  ELSE
    INSERT INTO counters SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END, sum(change)
      FROM (SELECT tombstone, 1 AS change FROM fresh WHERE revision > 0
            UNION ALL SELECT tombstone, -1 FROM old WHERE revision > 0) AS changes GROUP BY 1 HAVING sum(change) <> 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_pending() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT 'pending:' || warehouse, count(*) FROM fresh WHERE pending GROUP BY 1;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO counters SELECT 'pending:' || warehouse, -count(*) FROM old WHERE pending GROUP BY 1;
  ELSE
    INSERT INTO counters SELECT 'pending:' || warehouse, sum(change)
      FROM (SELECT warehouse, 1 AS change FROM fresh WHERE pending
            UNION ALL SELECT warehouse, -1 FROM old WHERE pending) AS changes GROUP BY 1 HAVING sum(change) <> 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT 'deliveries:' || outcome, count(*) FROM fresh GROUP BY 1;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO counters SELECT 'deliveries:' || outcome, sum(change)
      FROM (SELECT outcome, 1 AS change FROM fresh UNION ALL SELECT outcome, -1 FROM old) AS changes
     GROUP BY 1 HAVING sum(change) <> 0;
  ELSE
    -- What has expired has still been delivered; what was taken back while it waited has not.
    INSERT INTO counters SELECT 'deliveries:pending', -count(*) FROM old WHERE outcome = 'pending' HAVING count(*) > 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_quarantine() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT 'quarantine:open', count(*) FROM fresh WHERE state = 'open' HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO counters SELECT 'quarantine:open', -count(*) FROM old WHERE state = 'open' HAVING count(*) > 0;
  ELSE
    INSERT INTO counters SELECT 'quarantine:open', sum(change)
      FROM (SELECT 1 AS change FROM fresh WHERE state = 'open' UNION ALL SELECT -1 FROM old WHERE state = 'open') AS changes
     HAVING sum(change) <> 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION forget_counters() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  DELETE FROM counters WHERE name LIKE ANY(TG_ARGV);
  RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON ledger REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_calls();
CREATE TRIGGER count_updated AFTER UPDATE ON ledger REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_calls();
CREATE TRIGGER count_deleted AFTER DELETE ON ledger REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_calls();
CREATE TRIGGER count_inserted AFTER INSERT ON warehouse_calls REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_pending();
CREATE TRIGGER count_updated AFTER UPDATE ON warehouse_calls REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_pending();
CREATE TRIGGER count_deleted AFTER DELETE ON warehouse_calls REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_pending();
CREATE TRIGGER count_inserted AFTER INSERT ON inbox REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER count_updated AFTER UPDATE ON inbox REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER count_deleted AFTER DELETE ON inbox REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER count_inserted AFTER INSERT ON quarantine REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_quarantine();
CREATE TRIGGER count_updated AFTER UPDATE ON quarantine REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_quarantine();
CREATE TRIGGER count_deleted AFTER DELETE ON quarantine REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_quarantine();

CREATE TRIGGER count_truncated AFTER TRUNCATE ON ledger FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('calls', 'tombstones');
CREATE TRIGGER count_truncated AFTER TRUNCATE ON warehouse_calls FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('pending:%');
CREATE TRIGGER count_truncated AFTER TRUNCATE ON inbox FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('deliveries:%');
CREATE TRIGGER count_truncated AFTER TRUNCATE ON quarantine FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('quarantine:%');
