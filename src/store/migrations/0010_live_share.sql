-- A share of the request limit is kept for live work.
ALTER TABLE request_limits
  ADD COLUMN live_slots bigint[] NOT NULL DEFAULT '{}',
  ADD COLUMN last_is_live boolean NOT NULL DEFAULT false,
  ADD COLUMN live_at bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN request_limits.live_slots IS 'The last granted request times (microseconds) of the share that is kept for live work.';
COMMENT ON COLUMN request_limits.live_at IS 'When live work last asked for a slot (microseconds).';
