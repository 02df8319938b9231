-- Listed calls that no warehouse may hold. Null in verdicts that were given before: their digests do not cover it.
ALTER TABLE verdicts ADD COLUMN kept_out integer;
COMMENT ON COLUMN verdicts.kept_out IS 'Listed calls that are tombstones: erased, objected to, or too old to be kept.';
