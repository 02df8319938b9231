-- Erasures survive a ledger that was restored or lost.
CREATE TABLE erased_keys (
  call_key text PRIMARY KEY,
  sought   boolean NOT NULL DEFAULT false,
  noted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX erased_keys_sought ON erased_keys (call_key) WHERE sought;
COMMENT ON COLUMN erased_keys.sought IS 'Its call is still to be found in ledger and warehouses, and erased there.';
COMMENT ON TABLE erased_keys IS 'Keyed hashes of erased calls, from the erasure log and the warehouses: a call with one of them becomes a tombstone when it is met.';

-- The key of tombstones is kept outside the store now: tombstones are written again under the new one.
DELETE FROM meta WHERE key = 'tombstone_key';
UPDATE warehouse_calls w SET pending = true, queue_position = queue_position(0, now())
  FROM ledger l WHERE l.call_id = w.call_id AND l.tombstone;
