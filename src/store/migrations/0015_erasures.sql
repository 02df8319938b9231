-- Erasures survive a ledger that was restored or lost.
CREATE TABLE erased_keys (
  call_key text PRIMARY KEY,
  noted_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE erased_keys IS 'Keyed hashes of erased calls, from the erasure log and the warehouses: a call with one of them becomes a tombstone when it is met.';
