CREATE TABLE warehouse_days (
  warehouse text NOT NULL,
  day       date NOT NULL,
  bytes     bigint NOT NULL,
  PRIMARY KEY (warehouse, day)
);
COMMENT ON TABLE warehouse_days IS 'Bytes sent to a warehouse for calls of a UTC date: a commit that changes one of them reads as much again, and bills it.';
