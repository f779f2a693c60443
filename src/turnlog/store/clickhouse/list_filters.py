"""Which sessions a list has: a condition on rows of `sessions`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.store.lists import SessionFilter
from turnlog.store.packing import pack_text
from turnlog.store.people import Visibility

__all__ = ["build_filter"]


def build_filter(asked: SessionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition, and the values of its parameters."""
    values: dict[str, Any] = {}
    clauses = [
        "NOT row.null",  # lists have what something followed for
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
        yield "project = {project:String}"
    if asked.under is not None:
        base = asked.under.rstrip("/\\")
        below = {"slash": f"{base}/", "backslash": f"{base}\\"}
        values["under"] = pack_text(asked.under)
        values |= {name: pack_text(path) for name, path in below.items()}
        yield f"(project = {{under:String}} OR {' OR '.join(_begins('project', name) for name in below)})"
    if asked.session is not None:
        values["session"] = pack_text(asked.session)
        yield f"({' OR '.join(_begins(name, 'session') for name in ('key', 'session_id', 'told_id'))})"
    if asked.tags:
        values["tags"] = list(map(pack_text, asked.tags))
        yield "hasAll(tags, {tags:Array(String)})"


def _list_people(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    if asked.persons:
        values["persons"] = list(map(pack_text, asked.persons))
        yield "ifNull(person, '') IN {persons:Array(String)}"
    if asked.machines:
        values["machines"] = list(map(pack_text, asked.machines))
        yield "origin IN {machines:Array(String)}"
    if asked.visibility is not None:
        yield "shared" if asked.visibility is Visibility.TEAM else "NOT shared"


def _list_texts(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    """Yield what is compared whatever its case."""
    for name, text, condition in (
        ("name", asked.name, _begins("name_key", "name")),
        ("text", asked.text, f"({_has('title_key', 'text')} OR {_has('name_key', 'text')})"),
        ("project_text", asked.project_text, _has("project_key", "project_text")),
        ("model", asked.model, _any_has("model_keys", "model")),
        ("branch", asked.branch, _any_has("branch_keys", "branch")),
    ):
        if text is not None:
            values[name] = pack_text(text.casefold())
            yield condition


def _list_times(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    for name, moment, condition in (
        ("since", asked.since, "last_time >= {since:Int64}"),
        ("until", asked.until, "first_time < {until:Int64}"),
    ):
        if moment is not None:
            values[name] = moment
            yield condition


def _list_flags(asked: SessionFilter) -> Iterator[str]:
    for wanted, condition in (
        (asked.starred, "starred"),
        (asked.archived, "archived"),
        (asked.only_here, "NOT present"),
        (asked.errors, "errors > 0"),
        (asked.problems, "problems > 0"),
    ):
        if wanted is not None:
            yield condition if wanted else f"NOT ({condition})"


def _begins(column: str, name: str) -> str:
    return f"startsWith({column}, {{{name}:String}})"


def _has(column: str, name: str) -> str:
    return f"position({column}, {{{name}:String}}) > 0"


def _any_has(column: str, name: str) -> str:
    return f"arrayExists(each -> {_has('each', name)}, {column})"
