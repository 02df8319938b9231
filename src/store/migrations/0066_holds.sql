-- Legal holds: what they name is neither erased nor taken for its age.
CREATE TABLE holds (
  hold_id text PRIMARY KEY,
  kind    text NOT NULL,
  reason  text NOT NULL,
  actor   text NOT NULL,
  held_at timestamptz NOT NULL
);
COMMENT ON TABLE holds IS 'Legal holds, until somebody removes them.';
COMMENT ON COLUMN holds.actor IS 'Operating system user who put it on.';

CREATE TABLE held_keys (
  held_key text NOT NULL,
  hold_id  text NOT NULL,
  of_call  boolean NOT NULL,
  PRIMARY KEY (held_key, hold_id)
);
CREATE INDEX held_keys_hold ON held_keys (hold_id);
CREATE INDEX held_keys_subjects ON held_keys (held_key) WHERE NOT of_call;
COMMENT ON TABLE held_keys IS 'Keyed hashes of what holds name.';
COMMENT ON COLUMN held_keys.of_call IS 'Of a call id; else of a number or a metadata value, whose later calls are held too.';
