"""Which sessions a list has.

A condition on `t` (summaries), `e` (sessions), `x` (access), `m` (marks) and `a` (absent ones).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from turnlog.store.identity import Scope
from turnlog.store.list_filters import ListFilter
from turnlog.store.lists import SessionFilter

__all__ = ["build_filter"]

_CASTS = {"text": "bytea", "time": "bigint"}


def build_filter(scope: Scope, asked: SessionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition, and the values of its parameters."""
    values: dict[str, Any] = {"owner": scope.owner}
    return " AND ".join(["t.owner = %(owner)s", *_Filter().build(asked, values)]), values


class _Filter(ListFilter):
    """Conditions as PostgreSQL has them."""

    columns: ClassVar[Mapping[str, str]] = {
        "project": "t.project",
        "project_key": "t.project_key",
        "key": "convert_to(e.key, 'UTF8')",
        "session_id": "e.session_id",
        "told_id": "t.session_id",
        "series": "t.series",
        "tags": "m.tags",
        "person": "convert_to(coalesce(x.person, ''), 'UTF8')",
        "origin": "e.origin",
        "name_key": "m.name_key",
        "title_key": "t.title_key",
        "model_keys": "t.model_keys",
        "branch_keys": "t.branch_keys",
        "first_time": "t.first_time",
        "last_time": "t.last_time",
    }
    flags: ClassVar[Mapping[str, str]] = {
        "shared": "x.shared",
        "starred": "m.starred IS TRUE",
        "archived": "m.archived IS TRUE",
        "only_here": "a.session IS NOT NULL",
        "errors": "t.errors > 0",
        "problems": "t.problems > 0",
    }

    def _name(self, name: str, kind: str) -> str:
        return f"%({name})s::{_CASTS[kind]}"

    def _begins(self, column: str, name: str) -> str:
        return f"substring({column} from 1 for length(%({name})s::bytea)) = %({name})s"

    def _has(self, column: str, name: str) -> str:
        return f"position(%({name})s::bytea in {column}) > 0"

    def _any_has(self, column: str, name: str) -> str:
        return f"EXISTS (SELECT 1 FROM unnest({column}) AS each WHERE {self._has('each', name)})"

    def _has_all(self, column: str, name: str) -> str:
        return f"{column} @> %({name})s"

    def _is_among(self, column: str, name: str) -> str:
        return f"{column} = ANY(%({name})s::bytea[])"
