-- Verdicts say what was compared in the warehouse, and are signed with a key that the store does not have.
-- Verdicts without a key prove nothing any more: their days are judged again.
ALTER TABLE verdicts ADD COLUMN warehouse_level text NOT NULL DEFAULT 'guards' CHECK (warehouse_level IN ('guards', 'rows'));
ALTER TABLE verdicts ADD COLUMN key_id text NOT NULL DEFAULT '';
ALTER TABLE verdicts DROP CONSTRAINT verdicts_level_check;
UPDATE verdicts SET level = CASE level WHEN 'light' THEN 'fields' WHEN 'full' THEN 'records' ELSE level END;
ALTER TABLE verdicts ADD CONSTRAINT verdicts_level_check CHECK (level IN ('ids', 'fields', 'records'));
COMMENT ON COLUMN verdicts.key_id IS 'Which key of the proof chain signed the digest; empty: none, from before keys.';
