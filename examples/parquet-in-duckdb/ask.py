"""Asks the questions of questions.sql to the files of `callsync export FOLDER --format parquet`: ask.py FOLDER."""

import pathlib
import sys

import duckdb

if len(sys.argv) != 2:
    sys.exit(__doc__)
folder = pathlib.Path(sys.argv[1])
connection = duckdb.connect()
for file in sorted(folder.glob("*.parquet")):
    connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM read_parquet($${file}$$)")
for question in pathlib.Path(__file__).with_name("questions.sql").read_text().strip().removesuffix(";").split(";\n"):
    print(question.strip().splitlines()[0])
    print(connection.sql(question))
