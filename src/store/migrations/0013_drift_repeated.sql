-- Lists that name a call more than once and count each row.
ALTER TABLE drift DROP CONSTRAINT drift_kind_check;
ALTER TABLE drift ADD CONSTRAINT drift_kind_check CHECK (kind IN ('new', 'vanished', 'uncarried', 'type', 'repeated'));
