-- What people and processes did, for the timeline of the status page.
CREATE TABLE events (
  id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at    timestamptz NOT NULL DEFAULT now(),
  kind  text NOT NULL,
  what  text NOT NULL,
  actor text
);
COMMENT ON TABLE events IS 'Actions of operators and changes of version; no personal data.';
COMMENT ON COLUMN events.actor IS 'Name of the token that was used; null where nobody acted.';
CREATE INDEX events_at ON events (at DESC);
