-- What is wrong as somebody was told, and the messages that are still to be sent.
CREATE TABLE notified_conditions (
  condition text NOT NULL,
  subject   text NOT NULL,
  since     timestamptz NOT NULL DEFAULT now(),
  told_at   timestamptz,
  PRIMARY KEY (condition, subject)
);
COMMENT ON TABLE notified_conditions IS 'Conditions that hold now; gone when they no longer do.';
COMMENT ON COLUMN notified_conditions.subject IS 'Name of the warehouse that it is about; empty = of none.';
COMMENT ON COLUMN notified_conditions.told_at IS 'When messages were queued; null while the condition has not lasted long enough.';

CREATE TABLE notification_messages (
  id         uuid NOT NULL DEFAULT gen_random_uuid(),
  channel    text NOT NULL,
  condition  text NOT NULL,
  subject    text NOT NULL,
  state      text NOT NULL CHECK (state IN ('firing', 'resolved')),
  summary    text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  attempts   integer NOT NULL DEFAULT 0,
  next_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id, channel)
);
COMMENT ON TABLE notification_messages IS 'Messages that are not sent yet; deleted once they are, or after a day of vain attempts.';
