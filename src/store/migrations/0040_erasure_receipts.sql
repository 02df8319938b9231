CREATE TABLE erasure_receipts (
  receipt_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  receipt         text NOT NULL,
  key_id          text NOT NULL,
  previous_digest text,
  digest          text NOT NULL
);
COMMENT ON TABLE erasure_receipts IS 'What erasures did, in keyed hashes and counts; each row is signed over the one before it.';
COMMENT ON COLUMN erasure_receipts.receipt IS 'JSON as it was signed.';
COMMENT ON COLUMN erasure_receipts.key_id IS 'Which key of the proof chain signed the digest.';
