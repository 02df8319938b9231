-- The same bytes once, whatever window listed them: a bad record in an overlapping window would come again at every sync.
DELETE FROM quarantine q USING quarantine earlier
 WHERE q.source = earlier.source AND q.body_hash = earlier.body_hash AND q.id > earlier.id;
ALTER TABLE quarantine DROP CONSTRAINT quarantine_source_origin_body_hash_key;
ALTER TABLE quarantine ADD CONSTRAINT quarantine_source_body UNIQUE (source, body_hash);
