#!/usr/bin/env bash
# hyparquet-writer 0.17.0 (npm): DataFusion refuses a file without rows, because its footer has a list of no type. pyarrow and
# DuckDB read the file.
# The function that chooses the type falls back by `??`, and 0 is not null. The footer then has 0x00 where the list of row groups
# has 0x0c, so a job that exports one file a table fails at the first empty table.
# Seen: 0 rows by pyarrow 26.0.1 and DuckDB 2.0.1; DataFusion 55.0.0: "Expected list element type of Struct but got Byte". With
# 0x0c in that place, all three read 0 rows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund hyparquet-writer@0.17.0
PYENV_VERSION=3.11 python3.11 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyarrow==26.0.1 duckdb==2.0.1 datafusion==55.0.0
cat > write.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { parquetWriteBuffer } from 'hyparquet-writer';

const bytes = Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'id', data: [], type: 'INT32' }] }));
writeFileSync('as-written.parquet', bytes);
const place = bytes.lastIndexOf('\x16\0\x19\0');
writeFileSync('corrected.parquet', bytes.fill(0x0c, place + 3, place + 4));
JS
node write.mjs
cat > read.py <<'PY'
import datafusion
import duckdb
import pyarrow.parquet


def with_datafusion(path):
    context = datafusion.SessionContext()
    context.register_parquet("t", path)
    return context.sql("SELECT count(*) AS n FROM t").to_pydict()["n"][0]


readers = [
    lambda path: pyarrow.parquet.read_table(path).num_rows,
    lambda path: duckdb.execute(f"SELECT count(*) FROM '{path}'").fetchall()[0][0],
    with_datafusion,
]
for path in ["as-written.parquet", "corrected.parquet"]:
    for read in readers:
        try:
            print(read(path))
        except Exception as error:
            print(str(error).split(": ")[-1])
PY
seen=$(venv/bin/python read.py | paste -sd,)
echo "$seen"
[ "$seen" = '0,0,Expected list element type of Struct but got Byte,0,0,0' ]
