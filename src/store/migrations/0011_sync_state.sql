-- What continuous sync knows of itself, and when windows that could not be read are tried again.
ALTER TABLE watermarks
  ADD COLUMN started_from timestamptz,
  ADD COLUMN seen_to timestamptz,
  ADD COLUMN last_error text,
  ADD COLUMN failed_at timestamptz;
COMMENT ON COLUMN watermarks.started_from IS 'Where the first start began; nothing before it is read.';
COMMENT ON COLUMN watermarks.seen_to IS 'Service time up to which the newest calls were last read.';
COMMENT ON COLUMN watermarks.last_error IS 'Code of what the last run failed with; NULL once one succeeded.';
ALTER TABLE window_problems
  ADD COLUMN attempts integer NOT NULL DEFAULT 1,
  ADD COLUMN next_at timestamptz NOT NULL DEFAULT now();
