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
  issued_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE epochs IS 'Issued when a ledger is created or restored; the highest part of the warehouse guard.';

-- Webhook deliveries: bodies until they expire, the rest for good. Rejected ones have no body.
CREATE TABLE inbox (
  seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  delivery_id text,
  hook_id     text,
  agent       text,
  received_at timestamptz NOT NULL,
  signing_key text,
  body        bytea,
  body_hash   bytea,
  spooled     boolean NOT NULL DEFAULT false,
  outcome     text NOT NULL DEFAULT 'pending'
              CHECK (outcome IN ('pending', 'accepted', 'duplicate', 'repeat', 'quarantined', 'rejected')),
  reason      text,
  call_id     text,
  folded_at   timestamptz,
  unloaded    text[] NOT NULL DEFAULT '{}'
);
ALTER TABLE inbox ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON COLUMN inbox.body IS 'Raw bytes as received; null once expired, and for rejected deliveries.';
COMMENT ON COLUMN inbox.body_hash IS 'SHA-256 of the body: the same body under another delivery id is a repeat.';
COMMENT ON COLUMN inbox.unloaded IS 'Names of the warehouses whose deliveries table does not have this row yet.';
CREATE INDEX inbox_pending ON inbox (seq) WHERE outcome = 'pending';
CREATE INDEX inbox_body_hash ON inbox (body_hash) WHERE body_hash IS NOT NULL;
CREATE INDEX inbox_unloaded ON inbox (seq) WHERE unloaded <> '{}';
CREATE INDEX inbox_received ON inbox (received_at) WHERE body IS NOT NULL;

CREATE TABLE ledger (
  call_id        text COLLATE "C" PRIMARY KEY,
  revision       integer NOT NULL DEFAULT 0,
  tombstone      boolean NOT NULL DEFAULT false,
  fields         jsonb NOT NULL DEFAULT '{}',
  call_timestamp timestamptz,
  processed_at   timestamptz,
  first_seen_at  timestamptz,
  last_seen_at   timestamptz,
  changed_at     timestamptz,
  webhook_at     timestamptz,
  poll_at        timestamptz,
  import_at      timestamptz,
  missing_since  timestamptz
) WITH (fillfactor = 70);
COMMENT ON COLUMN ledger.revision IS 'Raised by one whenever the folded document changes; 0 = claimed, nothing folded yet.';
COMMENT ON COLUMN ledger.fields IS 'Per top-level field: [observed_at in microseconds, source rank, value hash].';
COMMENT ON COLUMN ledger.first_seen_at IS 'observed_at of the earliest observation.';
COMMENT ON COLUMN ledger.last_seen_at IS 'observed_at of the latest observation, changed or not.';
COMMENT ON COLUMN ledger.changed_at IS 'observed_at of the observation that brought the present revision.';
COMMENT ON COLUMN ledger.webhook_at IS 'When the first webhook observation was folded; null = never seen by webhook.';
CREATE INDEX ledger_call_timestamp ON ledger (call_timestamp);
CREATE INDEX ledger_processed_at ON ledger (processed_at);

-- Apart from the ledger, so that raising a version never rewrites a transcript.
CREATE TABLE ledger_documents (
  call_id  text COLLATE "C" PRIMARY KEY,
  revision integer NOT NULL,
  body     bytea NOT NULL
);
ALTER TABLE ledger_documents ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON COLUMN ledger_documents.body IS 'The folded document as JSON, raw deflate.';

-- What each warehouse has of each call.
CREATE TABLE warehouse_calls (
  warehouse        text NOT NULL,
  call_id          text COLLATE "C" NOT NULL,
  pending          boolean NOT NULL DEFAULT true,
  applied_epoch    integer NOT NULL DEFAULT 0,
  applied_revision integer NOT NULL DEFAULT 0,
  applied_flatten  integer NOT NULL DEFAULT 0,
  partitions       date[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (warehouse, call_id)
) WITH (fillfactor = 80);
COMMENT ON COLUMN warehouse_calls.partitions IS 'Every UTC date under which the call was ever sent; null element = no timestamp.';
CREATE INDEX warehouse_calls_pending ON warehouse_calls (warehouse, call_id) WHERE pending;

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
  error           text
);
CREATE INDEX loads_open ON loads (warehouse, created_at) WHERE state = 'planned';
CREATE TABLE load_calls (
  load_id  text NOT NULL REFERENCES loads ON DELETE CASCADE,
  call_id  text COLLATE "C" NOT NULL,
  revision integer NOT NULL,
  PRIMARY KEY (load_id, call_id)
);
COMMENT ON TABLE load_calls IS 'Deleted once the load is committed: warehouse_calls holds the result.';

CREATE TABLE windows (
  axis        text NOT NULL,
  window_from timestamptz NOT NULL,
  window_to   timestamptz NOT NULL,
  calls       integer NOT NULL,
  confirmed   text NOT NULL CHECK (confirmed IN ('total', 'listing', 'overlap', 'none')),
  origin      text NOT NULL,
  read_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (axis, window_from, window_to),
  CHECK (window_from < window_to)
);
COMMENT ON TABLE windows IS 'Half-open windows [from, to) whose observations are in the ledger; confirmed = how completeness was shown.';

CREATE TABLE window_problems (
  axis        text NOT NULL,
  window_from timestamptz NOT NULL,
  window_to   timestamptz NOT NULL,
  problem     text NOT NULL,
  seen_at     timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz,
  PRIMARY KEY (axis, window_from, window_to)
);

CREATE TABLE watermarks (
  name       text PRIMARY KEY,
  axis       text NOT NULL,
  watermark  timestamptz NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE watermarks IS 'End of the contiguous prefix of read windows, per sync.';

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
  UNIQUE (source, origin, body_hash)
);
CREATE INDEX quarantine_open ON quarantine (id) WHERE state = 'open';

CREATE TABLE rereads (
  call_id      text COLLATE "C" PRIMARY KEY,
  reason       text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  attempts     integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE rereads IS 'Calls to be read again from the API, whose answer decides (repeats, doubtful values).';

CREATE TABLE request_budget (
  name  text PRIMARY KEY,
  slots bigint[] NOT NULL DEFAULT '{}',
  blocked_until bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE request_budget IS 'The last granted request times (microseconds) of a rolling window, shared by all workers.';

CREATE TABLE drift (
  source     text NOT NULL,
  field      text NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('new', 'vanished', 'uncarried', 'type')),
  detail     text,
  seen       bigint NOT NULL DEFAULT 1,
  first_seen timestamptz NOT NULL DEFAULT now(),
  last_seen  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (source, field, kind)
);

CREATE TABLE frames (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session    text NOT NULL,
  arrived_at timestamptz NOT NULL,
  is_binary  boolean NOT NULL,
  body       bytea NOT NULL
);
COMMENT ON TABLE frames IS 'WebSocket frames as they came (interface §6: their kinds are not shown).';
