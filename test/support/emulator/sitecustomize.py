"""
Loaded by the local BigQuery of the tests, through PYTHONPATH. bqemulator parses a statement about fifteen times while it
runs it, which is more than half of its processor time: here each text is parsed once, and its tree copied.
"""
from functools import lru_cache

from sqlglot.dialects.dialect import Dialect

_parse = Dialect.parse


@lru_cache(maxsize=256)
def _trees_of(dialect, sql):
    return _parse(dialect(), sql)


def _parse_once(self, sql, **options):
    if options or self.settings:
        return _parse(self, sql, **options)
    return [tree and tree.copy() for tree in _trees_of(type(self), sql)]


Dialect.parse = _parse_once
