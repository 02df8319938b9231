-- Its body is stable (`extract` of a timestamptz): declared immutable it is called for each row, declared stable it is inlined.
CREATE OR REPLACE FUNCTION queue_position(urgency integer, at timestamptz) RETURNS bigint STABLE PARALLEL SAFE LANGUAGE sql AS
  $$ SELECT urgency * 1000000000000 + 300000000000 - CASE WHEN isfinite(at) THEN extract(epoch FROM at)::bigint ELSE -99999999999 END $$;
