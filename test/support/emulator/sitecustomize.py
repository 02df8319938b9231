"""
Loaded by the local BigQuery of the tests, through PYTHONPATH, to spend less processor time.

bqemulator parses a statement about fifteen times while it runs it: here each text is parsed once, and its tree copied.
Its copies of trees take Python's way for anything: here they take the one for trees. Each text is translated once.
DuckDB splits each statement between threads, which costs more than it gains for tables of a few rows: here it has one.
Tables are copied after each change for queries of the past, which no test asks: here they are not.
How a value is written follows from its type, which bqemulator looks at for each value: here once for each column.
Python looks through all trees of statements for circles again and again: here seldom, and never through what was loaded at the start.
The parser and the trees are compiled where COMPILED_SQLGLOT names a folder of the package sqlglotc. Its generators are left
out: they parse their own templates again for each statement.
"""
import gc
import os
import sys
from functools import lru_cache
from importlib.util import spec_from_file_location
from sysconfig import get_config_var

_compiled = os.environ.get("COMPILED_SQLGLOT")


class _CompiledParser:
    @staticmethod
    def find_spec(name, _path=None, _target=None):
        if not name.startswith("sqlglot.") or "generator" in name:
            return None
        file = os.path.join(_compiled, *name.split(".")) + get_config_var("EXT_SUFFIX")
        return spec_from_file_location(name, file) if os.path.exists(file) else None


if _compiled:
    sys.meta_path.insert(0, _CompiledParser)

import duckdb
from bqemulator.domain.events import TableDataChanged
from bqemulator.sql.translator import SQLTranslator
from bqemulator.storage import arrow_bridge
from bqemulator.versioning.snapshots import SnapshotManager
from pyarrow import types
from sqlglot.dialects.dialect import Dialect
from sqlglot.expressions import core

_parse = Dialect.parse
_connect = duckdb.connect
_format_value = arrow_bridge._format_bq_value


@lru_cache(maxsize=256)
def _trees_of(dialect, sql):
    return _parse(dialect(), sql)


def _parse_once(self, sql, **options):
    if options or self.settings:
        return _parse(self, sql, **options)
    return [tree and tree.copy() for tree in _trees_of(type(self), sql)]


def _copy(value):
    if type(value) is dict:
        return dict(value)
    if type(value) is list:
        return [_copy(one) for one in value]
    copy = getattr(value, "__deepcopy__", None)
    return copy(None) if copy else value


_translate = SQLTranslator.translate
_translations = {}


def _translate_once(self, sql, *, schema=None, caller=None):
    key = (sql, repr(schema), caller)
    if key not in _translations:
        _translations[key] = _translate(self, sql, schema=schema, caller=caller)
    return _translations[key]


def _connect_single_threaded(*places, **options):
    gc.freeze()
    return _connect(*places, config={"threads": 1}, **options)


def _publish_change(self, project, dataset, table):
    self._events.publish(TableDataChanged(project, dataset, table))


def _writer_of(field):
    kind = field.type
    if not field.metadata:
        if types.is_integer(kind) or types.is_floating(kind) or types.is_string(kind):
            return lambda value: None if value is None else str(value)
        if types.is_boolean(kind):
            return lambda value: None if value is None else "true" if value else "false"
        if types.is_list(kind):
            write = _writer_of(kind.value_field)
            return lambda value: [] if value is None else [{"v": write(one)} for one in value]
        if types.is_struct(kind):
            parts = [(part.name, _writer_of(part)) for part in kind]
            return lambda value: None if value is None else {"f": [{"v": write(value.get(name))} for name, write in parts]}
    return lambda value: _format_value(value, kind, field=field)


def _write_rows(table, offset=0, limit=None):
    part = table.slice(offset, limit)
    if table.num_rows == 0 or table.num_columns == 0:
        return []
    columns = [map(_writer_of(field), part.column(index).to_pylist()) for index, field in enumerate(part.schema)]
    return [{"f": [{"v": value} for value in row]} for row in zip(*columns)]


gc.set_threshold(50_000, 20, 50)
Dialect.parse = _parse_once
core.deepcopy = _copy
SQLTranslator.translate = _translate_once
duckdb.connect = _connect_single_threaded
SnapshotManager.record_change = _publish_change
arrow_bridge.arrow_table_to_bq_rows = _write_rows
