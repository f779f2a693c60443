"""Which sessions a list has: a condition on rows of `summaries`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from turnlog.store.clickhouse.session_schema import SUMMARIES
from turnlog.store.list_filters import ListFilter
from turnlog.store.lists import SessionFilter

__all__ = ["build_filter"]

_TYPES = {"text": "String", "time": "Int64"}


def build_filter(asked: SessionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition, and the values of its parameters."""
    values: dict[str, Any] = {}
    return " AND ".join(["listed", *_Filter().build(asked, values)]), values


class _Filter(ListFilter):
    """Conditions as ClickHouse has them."""

    columns: ClassVar[Mapping[str, str]] = {
        **{name: name for name in SUMMARIES.names},
        "person": "ifNull(person, '')",
    }
    flags: ClassVar[Mapping[str, str]] = {
        "shared": "shared",
        "starred": "starred",
        "archived": "archived",
        "only_here": "NOT present",
        "errors": "errors > 0",
        "problems": "problems > 0",
    }

    def _name(self, name: str, kind: str) -> str:
        return f"{{{name}:{_TYPES[kind]}}}"

    def _begins(self, column: str, name: str) -> str:
        return f"startsWith({column}, {self._name(name, 'text')})"

    def _has(self, column: str, name: str) -> str:
        return f"position({column}, {self._name(name, 'text')}) > 0"

    def _any_has(self, column: str, name: str) -> str:
        return f"arrayExists(each -> {self._has('each', name)}, {column})"

    def _has_all(self, column: str, name: str) -> str:
        return f"hasAll({column}, {{{name}:Array(String)}})"

    def _is_among(self, column: str, name: str) -> str:
        return f"{column} IN {{{name}:Array(String)}}"
