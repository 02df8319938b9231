-- Counters, so that nothing has to be counted. Each statement adds what it changed, in rows of its own: a counter is
-- the sum of its rows, nobody waits for another's, and maintenance joins them. Triggers, so that no statement forgets.

CREATE TABLE counters (
  name  text NOT NULL,
  value bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON TABLE counters IS 'The value of a counter is the sum over its name.';

CREATE FUNCTION count_calls() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END, count(*)
      FROM fresh WHERE revision > 0 GROUP BY 1;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO counters SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END, -count(*)
      FROM old WHERE revision > 0 GROUP BY 1;
  ELSE
    INSERT INTO counters SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END, sum(change)
      FROM (SELECT tombstone, 1 AS change FROM fresh WHERE revision > 0
            UNION ALL SELECT tombstone, -1 FROM old WHERE revision > 0) AS changes GROUP BY 1 HAVING sum(change) <> 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_pending() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT 'pending:' || warehouse, count(*) FROM fresh WHERE pending GROUP BY 1;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO counters SELECT 'pending:' || warehouse, -count(*) FROM old WHERE pending GROUP BY 1;
  ELSE
    INSERT INTO counters SELECT 'pending:' || warehouse, sum(change)
      FROM (SELECT warehouse, 1 AS change FROM fresh WHERE pending
            UNION ALL SELECT warehouse, -1 FROM old WHERE pending) AS changes GROUP BY 1 HAVING sum(change) <> 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT 'deliveries:' || outcome, count(*) FROM fresh GROUP BY 1;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO counters SELECT 'deliveries:' || outcome, sum(change)
      FROM (SELECT outcome, 1 AS change FROM fresh UNION ALL SELECT outcome, -1 FROM old) AS changes
     GROUP BY 1 HAVING sum(change) <> 0;
  ELSE
    -- What has expired has still been delivered; what was taken back while it waited has not.
    INSERT INTO counters SELECT 'deliveries:pending', -count(*) FROM old WHERE outcome = 'pending' HAVING count(*) > 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION count_quarantine() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO counters SELECT 'quarantine:open', count(*) FROM fresh WHERE state = 'open' HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO counters SELECT 'quarantine:open', -count(*) FROM old WHERE state = 'open' HAVING count(*) > 0;
  ELSE
    INSERT INTO counters SELECT 'quarantine:open', sum(change)
      FROM (SELECT 1 AS change FROM fresh WHERE state = 'open' UNION ALL SELECT -1 FROM old WHERE state = 'open') AS changes
     HAVING sum(change) <> 0;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION forget_counters() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = callsync AS $$
BEGIN
  DELETE FROM counters WHERE name LIKE ANY(TG_ARGV);
  RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON ledger REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_calls();
CREATE TRIGGER count_updated AFTER UPDATE ON ledger REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_calls();
CREATE TRIGGER count_deleted AFTER DELETE ON ledger REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_calls();
CREATE TRIGGER count_inserted AFTER INSERT ON warehouse_calls REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_pending();
CREATE TRIGGER count_updated AFTER UPDATE ON warehouse_calls REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_pending();
CREATE TRIGGER count_deleted AFTER DELETE ON warehouse_calls REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_pending();
CREATE TRIGGER count_inserted AFTER INSERT ON inbox REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER count_updated AFTER UPDATE ON inbox REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER count_deleted AFTER DELETE ON inbox REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER count_inserted AFTER INSERT ON quarantine REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_quarantine();
CREATE TRIGGER count_updated AFTER UPDATE ON quarantine REFERENCING OLD TABLE AS old NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_quarantine();
CREATE TRIGGER count_deleted AFTER DELETE ON quarantine REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION count_quarantine();

CREATE TRIGGER count_truncated AFTER TRUNCATE ON ledger FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('calls', 'tombstones');
CREATE TRIGGER count_truncated AFTER TRUNCATE ON warehouse_calls FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('pending:%');
CREATE TRIGGER count_truncated AFTER TRUNCATE ON inbox FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('deliveries:%');
CREATE TRIGGER count_truncated AFTER TRUNCATE ON quarantine FOR EACH STATEMENT EXECUTE FUNCTION forget_counters('quarantine:%');

INSERT INTO counters SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END, count(*) FROM ledger WHERE revision > 0 GROUP BY 1;
INSERT INTO counters SELECT 'pending:' || warehouse, count(*) FROM warehouse_calls WHERE pending GROUP BY 1;
INSERT INTO counters SELECT 'deliveries:' || outcome, count(*) FROM inbox GROUP BY 1;
INSERT INTO counters SELECT 'quarantine:open', count(*) FROM quarantine WHERE state = 'open' HAVING count(*) > 0;

-- Who delivered, and which key verified it: rows are only added, and joined by maintenance.
CREATE TABLE delivery_senders (
  agent       text,
  signing_key text,
  deliveries  bigint NOT NULL,
  first_at    timestamptz NOT NULL,
  last_at     timestamptz NOT NULL
);
COMMENT ON TABLE delivery_senders IS 'Deliveries that were let in, by agent and signing key; joined by maintenance.';
INSERT INTO delivery_senders
  SELECT agent, signing_key, count(*), min(received_at), max(received_at) FROM inbox
   WHERE outcome NOT IN ('pending', 'rejected') GROUP BY agent, signing_key;
