-- By what requests of persons find calls without reading them: a column, so that it goes with its document.
ALTER TABLE ledger_documents ADD COLUMN subjects bytea[], ADD COLUMN subjects_version integer;
COMMENT ON COLUMN ledger_documents.subjects IS 'First 8 bytes of the keyed hash of each number, token and metadata value that the document names; null = not listed yet.';
COMMENT ON COLUMN ledger_documents.subjects_version IS 'By which key and rules the subjects were listed.';
CREATE INDEX ledger_documents_subjects ON ledger_documents USING gin (subjects) WHERE subjects IS NOT NULL;
CREATE INDEX ledger_documents_subjects_version ON ledger_documents (subjects_version);
