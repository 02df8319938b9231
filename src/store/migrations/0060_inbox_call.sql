-- Erasing a call looks for its deliveries; a merge writes the column when it settles one.
CREATE INDEX inbox_call ON inbox (call_id) WHERE call_id IS NOT NULL;
