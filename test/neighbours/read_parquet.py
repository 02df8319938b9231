"""Rows of Parquet files by four readers, as JSON lines: reader, table, rows. Times are microseconds."""

import datetime
import json
import math
import pathlib
import sys

import duckdb
import pandas
import polars
import pyarrow.parquet

duckdb.sql("SET TimeZone = 'UTC'")
epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    if value is None or value is pandas.NaT or value is pandas.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, pandas.Timestamp):
        value = value.to_pydatetime()
    if isinstance(value, datetime.datetime):
        return (value - epoch) // datetime.timedelta(microseconds=1)
    return value.item() if hasattr(value, "item") else value


def with_duckdb(path):
    found = duckdb.sql(f"SELECT * FROM read_parquet('{path}')")
    return [dict(zip(found.columns, row)) for row in found.fetchall()]


readers = {
    "pyarrow": lambda path: pyarrow.parquet.read_table(path).to_pylist(),
    "polars": lambda path: polars.read_parquet(path).to_dicts(),
    "duckdb": with_duckdb,
    "pandas": lambda path: pandas.read_parquet(path, dtype_backend="pyarrow").to_dict("records"),
}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.parquet")):
    for name, read in readers.items():
        rows = [{key: plain(value) for key, value in row.items()} for row in read(str(path))]
        print(json.dumps({"reader": name, "table": path.stem, "rows": rows}))
