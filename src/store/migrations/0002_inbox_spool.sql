-- A key that the receiver gives each delivery on arrival, so that a delivery written twice (an insert whose outcome
-- was never learned, a spool drained again after a crash) lands once.
ALTER TABLE inbox ADD COLUMN arrival_id uuid;
COMMENT ON COLUMN inbox.arrival_id IS 'Given on arrival; begins with the time, so that the index grows at its end.';
CREATE UNIQUE INDEX inbox_arrival_id ON inbox (arrival_id);
