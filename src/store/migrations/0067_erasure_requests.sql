-- Erasures whose receipts are not signed yet: a workflow carries them to their end, whatever became of the command.
CREATE TABLE erasure_requests (
  request_id text PRIMARY KEY,
  draft      jsonb NOT NULL,
  call_ids   text[] NOT NULL,
  opened_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE erasure_requests IS 'Erasures that wait until every warehouse has their tombstones.';
COMMENT ON COLUMN erasure_requests.draft IS 'The receipt so far: keyed hashes and counts.';
COMMENT ON COLUMN erasure_requests.call_ids IS 'Calls that became tombstones.';
