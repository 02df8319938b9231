-- For the warehouses' table changes. Null where no field changed since the first revision.
ALTER TABLE ledger ADD COLUMN field_changes jsonb;
COMMENT ON COLUMN ledger.field_changes IS 'Per top-level field that changed after the first revision: [revision, observed_at in microseconds, source rank].';
