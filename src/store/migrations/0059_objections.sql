-- Persons who object: their future calls are not kept either.
ALTER TABLE erased_keys ADD COLUMN objects boolean NOT NULL DEFAULT false;
CREATE INDEX erased_keys_objects ON erased_keys (call_key) WHERE objects;
COMMENT ON COLUMN erased_keys.objects IS 'A call that is not known yet and names it in contacts or metadata becomes a tombstone.';
