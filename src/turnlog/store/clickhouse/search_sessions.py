"""Filters that ask for something of the session, as the engine can decide them: which sessions may have hits.

Nobody is to look at all sessions to answer a question about one of them. The engine knows the small letters of
ASCII only, so names with other characters are let through. What is let through is decided by the matcher.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from turnlog.store.clickhouse.texts import FILES
from turnlog.store.search.clauses import ANYTHING, join_clauses
from turnlog.store.search.filters import build_test
from turnlog.store.search.language import And, Filter, Node, Or
from turnlog.store.search.normal import normalise
from turnlog.store.search.settings import Setting

__all__ = ["Hosts", "build_session_clause"]

_NO_BRANCH = "head"
"""What lines say where there is no branch; lists leave it out."""
_SESSIONS = "session IN (SELECT session FROM summaries FINAL WHERE owner = {{owner:String}} AND ({}))"
# Only of the one transcript that a session has it is known which branches its lines name.
_UNKNOWN_BRANCHES = f"""
(session, file) IN (
    SELECT session, toInt64(bitAnd(source, {FILES})) FROM sources FINAL WHERE kind <> 'transcript'
) OR session IN (
    SELECT session FROM sources FINAL WHERE kind = 'transcript' GROUP BY session HAVING count() > 1
)
"""

Hosts = Mapping[str, str]
"""What machines call themselves, by origin."""


def build_session_clause(root: Node, values: dict[str, Any], find_hosts: Callable[[], Hosts]) -> str:
    """Return the condition for texts of files that filters on sessions let through; values are added."""

    def build(node: Node) -> str:
        if isinstance(node, Filter):
            return _build(node, values, find_hosts)
        if isinstance(node, And):
            return join_clauses(map(build, node.parts))
        if isinstance(node, Or):
            parts = list(map(build, node.parts))
            return ANYTHING if ANYTHING in parts else f"({' OR '.join(f'({part})' for part in parts)})"
        return ANYTHING

    return build(root)


def _build(part: Filter, values: dict[str, Any], find_hosts: Callable[[], Hosts]) -> str:
    if part.name == "machine":
        known = _list_machines(part, find_hosts())
        clauses = [f"origin IN {{{_bind(values, known)}:Array(String)}}"]
        clauses += [_begins("origin", value, values) for value in _list_values(part)]
        return _SESSIONS.format(" OR ".join(clauses))
    build = _BUILDERS.get(part.name)
    return ANYTHING if build is None else build(_list_values(part), values)


def _build_project(wanted: list[str], values: dict[str, Any]) -> str:
    return _SESSIONS.format(" OR ".join(_holds("project", value, values) for value in wanted))


def _build_session(wanted: list[str], values: dict[str, Any]) -> str:
    names = ("key", "session_id", "told_id")
    return _SESSIONS.format(" OR ".join(_begins(name, value, values) for name in names for value in wanted))


def _build_person(wanted: list[str], values: dict[str, Any]) -> str:
    return _SESSIONS.format(" OR ".join(_is("person", value, values) for value in wanted))


def _build_branch(wanted: list[str], values: dict[str, Any]) -> str:
    if any(value in _NO_BRANCH for value in wanted):
        return ANYTHING
    each = " OR ".join(_holds("branch", value, values) for value in wanted)
    return f"({_SESSIONS.format(f'arrayExists(branch -> {each}, branches)')} OR {_UNKNOWN_BRANCHES})"


_BUILDERS: Mapping[str, Callable[[list[str], dict[str, Any]], str]] = {
    "project": _build_project,
    "session": _build_session,
    "person": _build_person,
    "branch": _build_branch,
}


def _list_values(part: Filter) -> list[str]:
    return [normalise(value) for value in part.values]


def _list_machines(part: Filter, hosts: Hosts) -> list[str]:
    """Return the origins of machines that are called as a filter says."""
    test = build_test(part)
    return [origin for origin, host in hosts.items() if test(Setting(machine=(origin, host)))]


def _holds(name: str, value: str, values: dict[str, Any]) -> str:
    return _let_odd(name, f"position(lower({name}), {{{_bind(values, value)}:String}}) > 0")


def _begins(name: str, value: str, values: dict[str, Any]) -> str:
    return _let_odd(name, f"startsWith(lower({name}), {{{_bind(values, value)}:String}})")


def _is(name: str, value: str, values: dict[str, Any]) -> str:
    escaped = value.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_").replace("*", "%")
    return _let_odd(name, f"lower({name}) LIKE {{{_bind(values, escaped)}:String}}")


def _let_odd(name: str, condition: str) -> str:
    return f"ifNull({condition} OR NOT isValidASCII({name}), false)"


def _bind(values: dict[str, Any], value: Any) -> str:
    name = f"asked{len(values)}"
    values[name] = value
    return name
