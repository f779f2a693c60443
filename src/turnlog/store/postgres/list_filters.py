"""Which sessions a list has.

A condition on `t` (summaries), `e` (sessions), `x` (access), `m` (marks) and `a` (absent ones).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.store.identity import Scope
from turnlog.store.lists import SessionFilter
from turnlog.store.packing import as_word, pack_text
from turnlog.store.people import Visibility

__all__ = ["build_filter"]


def build_filter(scope: Scope, asked: SessionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition, and the values of its parameters."""
    values: dict[str, Any] = {"owner": scope.owner}
    clauses = [
        "t.owner = %(owner)s",
        *_list_names(asked, values),
        *_list_people(asked, values),
        *_list_texts(asked, values),
        *_list_times(asked, values),
        *_list_flags(asked),
    ]
    return " AND ".join(clauses), values


def _list_names(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    """Yield what is compared with names as they stand."""
    if asked.project is not None:
        values["project"] = pack_text(asked.project)
        yield "t.project = %(project)s"
    if asked.under is not None:
        base = asked.under.rstrip("/\\")
        below = {"slash": f"{base}/", "backslash": f"{base}\\"}
        values["under"] = pack_text(asked.under)
        values |= {name: pack_text(path) for name, path in below.items()}
        yield f"(t.project = %(under)s OR {' OR '.join(_begins('t.project', name) for name in below)})"
    if asked.session is not None:
        values |= {"key": as_word(asked.session), "session": pack_text(asked.session)}
        names = " OR ".join(_begins(column, "session") for column in ("e.session_id", "t.session_id"))
        yield f"(starts_with(e.key, %(key)s) OR {names})"
    if asked.tags:
        values["tags"] = list(map(pack_text, asked.tags))
        yield "m.tags @> %(tags)s"


def _list_people(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    if asked.persons:
        values["persons"] = [person for person in asked.persons if as_word(person) is not None]
        yield "coalesce(x.person, '') = ANY(%(persons)s::text[])"
    if asked.machines:
        values["machines"] = list(map(pack_text, asked.machines))
        yield "e.origin = ANY(%(machines)s::bytea[])"
    if asked.visibility is not None:
        yield "x.shared" if asked.visibility is Visibility.TEAM else "NOT x.shared"


def _list_texts(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    """Yield what is compared whatever its case."""
    for name, text, condition in (
        ("name", asked.name, _begins("m.name_key", "name")),
        ("text", asked.text, f"({_has('t.title_key', 'text')} OR {_has('m.name_key', 'text')})"),
        ("project_text", asked.project_text, _has("t.project_key", "project_text")),
        ("model", asked.model, _any_has("t.model_keys", "model")),
        ("branch", asked.branch, _any_has("t.branch_keys", "branch")),
    ):
        if text is not None:
            values[name] = pack_text(text.casefold())
            yield condition


def _list_times(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    for name, moment, condition in (
        ("since", asked.since, "t.last_time >= %(since)s"),
        ("until", asked.until, "t.first_time < %(until)s"),
    ):
        if moment is not None:
            values[name] = moment
            yield condition


def _list_flags(asked: SessionFilter) -> Iterator[str]:
    for wanted, condition in (
        (asked.starred, "m.starred IS TRUE"),
        (asked.archived, "m.archived IS TRUE"),
        (asked.only_here, "a.session IS NOT NULL"),
        (asked.errors, "t.errors > 0"),
        (asked.problems, "t.problems > 0"),
    ):
        if wanted is not None:
            yield condition if wanted else f"NOT ({condition})"


def _begins(column: str, name: str) -> str:
    return f"substring({column} from 1 for length(%({name})s::bytea)) = %({name})s"


def _has(column: str, name: str) -> str:
    return f"position(%({name})s::bytea in {column}) > 0"


def _any_has(column: str, name: str) -> str:
    return f"EXISTS (SELECT 1 FROM unnest({column}) AS each WHERE {_has('each', name)})"
