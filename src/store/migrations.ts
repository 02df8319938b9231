/** Statements by name. */
export type Migrations = Readonly<Record<`${number}-${'expand' | 'contract'}-${string}`, string>>;

/**
 * Changes of the tables since the first release, in order. Add to them; never edit schema.sql or a released migration.
 * Workers of the version before still run while an `expand` is applied, so it only adds columns with a default, tables
 * and indexes. No statement notices its other changes. A `contract` removes something that the version before no longer
 * uses. Versions that do not know it refuse the store.
 */
export const migrations: Migrations = {
  '1-expand-first-visible': `-- Of the call in the ledger, with what the delivery brought; null = it changed nothing.
ALTER TABLE inbox ADD COLUMN revision integer;
-- When a warehouse first had what a delivery brought; later loads leave it.
CREATE TABLE visible_deliveries (
  warehouse  text NOT NULL,
  seq        bigint NOT NULL,
  visible_at timestamptz NOT NULL,
  PRIMARY KEY (warehouse, seq)
);`,
  '2-expand-definer-path': `-- Without pg_temp at its end, a temporary table of the caller hides the store's own from a function of its owner.
DO $$ BEGIN
  EXECUTE format('ALTER FUNCTION count_rows() SET search_path = %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION forget_counters() SET search_path = %I, pg_temp', current_schema());
END $$;`,
  '3-expand-inbox-collation': `-- As every other call id: a join compares under "C", and an index of another collation does not serve it.
ALTER TABLE inbox ALTER COLUMN call_id TYPE text COLLATE "C";`,
  '4-expand-inbox-stored-at': `-- By the clock of the store; received_at is by the clock of the receiver, or from before a time in the spool.
ALTER TABLE inbox ADD COLUMN stored_at timestamptz NOT NULL DEFAULT now();`,
  '5-expand-request-spacing': `-- Distance of slots after an overload of the service, and when it was last widened, on the clock of the slots.
ALTER TABLE request_limits ADD COLUMN spacing_ms float8 NOT NULL DEFAULT 0, ADD COLUMN widened_at bigint NOT NULL DEFAULT 0;`,
  '6-expand-refused-calls': `-- Why the warehouse refuses this call alone; null = it does not, as far as is known.
ALTER TABLE warehouse_calls ADD COLUMN refused text;
CREATE INDEX warehouse_calls_refused ON warehouse_calls (warehouse) WHERE refused IS NOT NULL;
-- A publication FOR ALL TABLES refuses to change rows of a table without a key.
ALTER TABLE counters REPLICA IDENTITY FULL;
ALTER TABLE delivery_senders REPLICA IDENTITY FULL;
ALTER TABLE late_changes REPLICA IDENTITY FULL;`,
  '7-expand-inbox-age': `-- Receivers measure the age of the inbox by the clock of the store.
DO $$ DECLARE receiver name; BEGIN
  FOR receiver IN SELECT grantee FROM information_schema.column_privileges
    WHERE table_schema = current_schema() AND table_name = 'inbox' AND column_name = 'outcome' AND privilege_type = 'SELECT' AND grantee <> current_user
  LOOP
    EXECUTE format('GRANT SELECT (stored_at) ON inbox TO %s', CASE receiver WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(receiver) END);
  END LOOP;
END $$;`,
  '8-expand-verdict-reasons': `-- Why the window is not proven, each as "kind: sentence", and the first calls that differ. Unsigned: they explain, and prove nothing.
ALTER TABLE verdicts ADD COLUMN reasons text[], ADD COLUMN unhealed_calls text[];
CREATE INDEX verdicts_unhealed ON verdicts (warehouse) WHERE unhealed_calls IS NOT NULL;`,
  '9-expand-expired-deliveries': `-- Deliveries whose rows have expired, by UTC day of their arrival, so that reports count them.
CREATE TABLE expired_deliveries (
  day        timestamptz NOT NULL,
  outcome    text NOT NULL,
  deliveries bigint NOT NULL,
  PRIMARY KEY (day, outcome)
);
-- Failed comparisons are noted by window.
DELETE FROM meta WHERE starts_with(key, 'comparison:');`,
  '10-expand-packed-documents': `-- Workers of an earlier build fail at a document that this one wrote, and leave its call to this one.
COMMENT ON COLUMN ledger_documents.body IS 'The folded document as JSON: Brotli behind a byte 6, or raw deflate of an earlier version.';`,
  '11-expand-confirmed-versions': `-- When a record last said all fields again, and the rank of its source: they stand in place of those in fields.
ALTER TABLE ledger ADD COLUMN confirmed_at timestamptz, ADD COLUMN confirmed_rank integer;
-- Room on a page for a new version of each row: calls are read again together, and a version elsewhere writes into four indexes.
ALTER TABLE ledger SET (fillfactor = 50);`,
  '12-expand-document-digests': `-- First 16 bytes of the SHA-256 of the call id and the body; null = an earlier build wrote the document.
ALTER TABLE ledger_documents ADD COLUMN digest bytea;`,
  '13-expand-sound-ledger': `-- callsync writes no such row: an erased call has no fields, and the service deletes no call tomorrow.
UPDATE ledger SET source_deleted_at = NULL WHERE source_deleted_at > now() + interval '1 day';
ALTER TABLE ledger ADD CONSTRAINT ledger_sound CHECK (revision <= 2000000000 AND (NOT tombstone OR fields = '{}')
  AND source_deleted_at <= now() + interval '1 day') NOT VALID;`,
};
