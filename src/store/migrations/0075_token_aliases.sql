CREATE TABLE token_aliases (
  old_token text COLLATE "C" PRIMARY KEY,
  new_token text COLLATE "C" NOT NULL
);
COMMENT ON TABLE token_aliases IS 'Tokens of former keys, each with the newest token of the same value; noted when a value recurs.';
CREATE INDEX token_aliases_new ON token_aliases (new_token);

CREATE TABLE unloaded_aliases (
  warehouse text NOT NULL,
  old_token text COLLATE "C" NOT NULL,
  version   uuid NOT NULL DEFAULT gen_random_uuid(),
  PRIMARY KEY (warehouse, old_token)
);
COMMENT ON TABLE unloaded_aliases IS 'Aliases that the table of a warehouse does not have as they are now; of those that are gone too.';
