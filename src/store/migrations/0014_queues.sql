-- What waits for a warehouse stands in queues, so that a batch costs what it holds, however many calls there are.

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
INSERT INTO warehouses (name, configured_at)
  SELECT substr(key, 11), updated_at FROM meta WHERE starts_with(key, 'warehouse:')
  UNION ALL
  SELECT DISTINCT warehouse, now() FROM warehouse_calls WHERE NOT EXISTS (SELECT FROM meta WHERE key = 'warehouse:' || warehouse);
DELETE FROM meta WHERE starts_with(key, 'warehouse:') OR starts_with(key, 'refresh:');

-- Lowest first: erasures (0), changes (1), backlog (2); within each, the latest first.
CREATE FUNCTION queue_position(urgency integer, at timestamptz) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE sql AS
  $$ SELECT urgency * 1000000000000 + 300000000000 - CASE WHEN isfinite(at) THEN extract(epoch FROM at)::bigint ELSE -99999999999 END $$;
COMMENT ON FUNCTION queue_position IS 'In seconds. A null time stands last of its urgency.';

ALTER TABLE warehouse_calls
  ADD COLUMN queue_position bigint NOT NULL DEFAULT 2000000000000,
  ADD COLUMN applied_at timestamptz;
COMMENT ON COLUMN warehouse_calls.queue_position IS 'Order in which pending calls are served, lowest first.';
COMMENT ON COLUMN warehouse_calls.applied_at IS 'When a load with this call was last known to be committed.';
DROP INDEX warehouse_calls_pending;
CREATE INDEX warehouse_calls_queue ON warehouse_calls (warehouse, queue_position, call_id) WHERE pending;
-- A queue is dead rows at both ends: they are cleared often, or each batch would step over them.
ALTER TABLE warehouse_calls SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

CREATE INDEX loads_committed ON loads (warehouse, committed_at DESC) WHERE state = 'committed';
CREATE INDEX loads_created ON loads (warehouse, created_at DESC);

CREATE TABLE unloaded_deliveries (
  warehouse text NOT NULL,
  rejected  boolean NOT NULL,
  seq       bigint NOT NULL,
  PRIMARY KEY (warehouse, rejected, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE unloaded_deliveries IS 'Deliveries that the table of a warehouse does not have yet; rejected ones wait for a load that others started.';
CREATE INDEX unloaded_deliveries_seq ON unloaded_deliveries (seq);
INSERT INTO unloaded_deliveries SELECT unnest(unloaded), outcome = 'rejected', seq FROM inbox WHERE unloaded <> '{}' ON CONFLICT DO NOTHING;
ALTER TABLE inbox DROP COLUMN unloaded;
ALTER TABLE inbox SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

DROP INDEX inbox_body_hash;
CREATE INDEX inbox_body_hash ON inbox (body_hash, delivery_id) WHERE body_hash IS NOT NULL;
CREATE INDEX inbox_row_age ON inbox (received_at);
DROP INDEX inbox_received;
CREATE INDEX inbox_body_age ON inbox (received_at) WHERE body IS NOT NULL;
CREATE INDEX inbox_rejected_age ON inbox (received_at) WHERE outcome = 'rejected';
CREATE INDEX quarantine_settled ON quarantine (state, settled_at) WHERE state <> 'open';
