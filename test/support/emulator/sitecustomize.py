"""
Loaded by the local BigQuery of the tests, through PYTHONPATH, to spend less processor time.

bqemulator parses a statement about fifteen times while it runs it: here each text is parsed once, and its tree copied.
DuckDB splits each statement between threads, which costs more than it gains for tables of a few rows: here it has one.
Tables are copied after each change for queries of the past, which no test asks: here they are not.
"""
from functools import lru_cache

import duckdb
from bqemulator.domain.events import TableDataChanged
from bqemulator.versioning.snapshots import SnapshotManager
from sqlglot.dialects.dialect import Dialect

_parse = Dialect.parse
_connect = duckdb.connect


@lru_cache(maxsize=256)
def _trees_of(dialect, sql):
    return _parse(dialect(), sql)


def _parse_once(self, sql, **options):
    if options or self.settings:
        return _parse(self, sql, **options)
    return [tree and tree.copy() for tree in _trees_of(type(self), sql)]


def _connect_single_threaded(*places, **options):
    return _connect(*places, config={"threads": 1}, **options)


def _publish_change(self, project, dataset, table):
    self._events.publish(TableDataChanged(project, dataset, table))


Dialect.parse = _parse_once
duckdb.connect = _connect_single_threaded
SnapshotManager.record_change = _publish_change
