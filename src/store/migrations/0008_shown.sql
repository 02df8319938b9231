-- What a reading of a window showed, in the words that are printed.
ALTER TABLE windows DROP CONSTRAINT windows_confirmed_check;
ALTER TABLE windows RENAME COLUMN confirmed TO shown;
UPDATE windows SET shown = 'second_listing' WHERE shown = 'listing';
ALTER TABLE windows ADD CONSTRAINT windows_shown_check
  CHECK (shown IN ('total', 'one_response', 'second_listing', 'overlap', 'none'));
ALTER TABLE windows ADD COLUMN reason text;
COMMENT ON TABLE windows IS 'Half-open windows [from, to) whose observations are in the ledger; shown = how it was shown that nothing of them is missing, reason = why it was not.';
-- The rows of verdicts keep their words: they are part of a chain.
ALTER TABLE verdicts DROP CONSTRAINT verdicts_confirmed_check;
ALTER TABLE verdicts ADD CONSTRAINT verdicts_confirmed_check
  CHECK (confirmed IN ('total', 'one_response', 'second_listing', 'listing', 'overlap', 'none'));
