-- Calls whose rows are to be written again although the warehouse has them in their present revision.
CREATE SEQUENCE rewrite_requests;
ALTER TABLE warehouse_calls ADD COLUMN rewrite bigint;
COMMENT ON COLUMN warehouse_calls.rewrite IS 'Number of the request to write the rows again, equal guards too; null = none.';
ALTER TABLE load_calls ADD COLUMN rewrite bigint;
COMMENT ON COLUMN load_calls.rewrite IS 'The request that this load meets: warehouse_calls.rewrite as it was when the load was planned.';
COMMENT ON COLUMN ledger.changed_at IS 'observed_at of the latest observation that changed the document.';
