-- Which privacy rules a call's document is under: a change of rules concerns the others only.
ALTER TABLE ledger ADD COLUMN privacy_version text;
COMMENT ON COLUMN ledger.privacy_version IS 'Version of the privacy rules that the whole document is under; none = something came in without rules afterwards; null = none were ever applied.';
CREATE INDEX ledger_privacy_version ON ledger (privacy_version);
