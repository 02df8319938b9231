-- Whoever commits a load says so again and again: the loads of a process that was killed are found within seconds.
ALTER TABLE loads ADD COLUMN alive_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN loads.alive_at IS 'When the process that commits the load last said that it is at it.';
