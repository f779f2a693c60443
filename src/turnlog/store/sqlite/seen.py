"""What somebody sees who may not see everything: views in the place of the tables.

A connection for viewers has a table with one row, which says who looks, and temporary views with the names of
the tables, which SQLite takes before the tables themselves. So all queries stay as they are, and none can
forget it. What has no view is found only by numbers of sessions, files and groups, which nobody learns but from
a view.

A view has no index that a statement could name. So there is one more view for each index of those tables, and
a statement that names the index is given that view.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import apsw

from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.sqlite.queries import Queries

_VIEWER = """
CREATE TEMP TABLE viewer (owner TEXT NOT NULL, person TEXT, team INTEGER NOT NULL, session TEXT);
INSERT INTO temp.viewer VALUES ('', NULL, 0, NULL);
"""
_AUDIENCE = f"('{ChangeKind.SESSION_FORGOTTEN}', '{ChangeKind.SESSION_ACCESS}')"


def _sees(session: str) -> str:
    """Return the condition that the session with a number may be seen."""
    return f"""EXISTS (
        SELECT 1 FROM temp.viewer AS v LEFT JOIN main.access AS a ON a.session = {session}
        WHERE a.person = v.person OR (v.team AND a.shared) OR (v.session IS NOT NULL AND {session} = (
            SELECT id FROM main.sessions WHERE owner = v.owner AND key = v.session
        ))
    )"""


def _told(id: str) -> str:
    """Return the condition that a hook told something that may be seen, of a session with an id.

    The machine is the viewer's, or a session is seen that has that id, and whose person the machine's is.
    """
    machine = "main.machines AS m WHERE m.owner = t.owner AND m.origin = ifnull(t.origin, '')"
    of_sessions = " OR ".join(
        f"""EXISTS (
            SELECT 1 FROM main.{table} AS e LEFT JOIN main.access AS b ON b.session = e.{number}
            WHERE e.owner = t.owner AND e.session_id = t.{id} AND b.person IS (SELECT m.person FROM {machine})
                AND {_sees(f"e.{number}")}
        )"""
        for table, number in (("sessions", "id"), ("summaries", "session"))
    )
    return (
        f"(EXISTS (SELECT 1 FROM {machine} AND m.person = (SELECT person FROM temp.viewer)) OR {of_sessions})"
    )


_CHANGES = f"""CASE
    WHEN t.kind IN {_AUDIENCE} THEN EXISTS (
        SELECT 1 FROM temp.viewer AS v WHERE t.person = v.person OR t.former = v.person
            OR (v.team AND t.shared) OR (t.session = v.session AND t.owner = v.owner)
    )
    WHEN t.kind = '{ChangeKind.HOOK_DELIVERED}' THEN {_told("session")}
    ELSE EXISTS (
        SELECT 1 FROM main.sessions AS e WHERE e.owner = t.owner AND e.key = t.session AND {_sees("e.id")}
    )
END"""
_COPIED = f"""(
    SELECT c.key FROM main.sessions AS c WHERE c.owner = t.owner AND c.key = t.copied_from AND {_sees("c.id")}
    AND (SELECT person FROM main.access WHERE session = c.id) IS
        (SELECT person FROM main.access WHERE session = t.session)
)"""
_GROUPS = f"""
{_sees("t.session")} AND (t.audience = 0 OR t.audience = 2 - EXISTS (
    SELECT 1 FROM main.access AS b WHERE b.session = t.session AND b.person = (SELECT person FROM temp.viewer)
))
"""

SHADOWED = {
    "sessions": _sees("t.id"),
    "sources": _sees("t.session"),
    "summaries": _sees("t.session"),
    "marks": _sees("t.session"),
    "access": _sees("t.session"),
    "reported_costs": _sees("t.session"),
    "usage_groups": _GROUPS,
    "usage_prices": "EXISTS (SELECT 1 FROM temp.usage_groups)",
    "hook_deliveries": _told("session_id"),
    "changes": _CHANGES,
    "tombstones": "t.person = (SELECT person FROM temp.viewer)",
    "machines": """
        t.person = (SELECT person FROM temp.viewer)
        OR (t.owner, t.origin) IN (SELECT owner, origin FROM temp.sessions)
    """,
    "backups": "false",
    "lease": "false",
}
"""The tables of which not everybody sees everything, each with the condition for its rows `t`.

Those that others are made of come first.
"""
_INSTEAD = {("sources", "copied_from"): _COPIED, ("usage_groups", "audience"): "0"}
"""Columns that do not show what they have to everybody."""
UNSHADOWED = frozenset({
    "migrations", "feed", "rules", "words",
    "source_paths", "generations", "checkpoints", "frames", "tail_frames",
    "segments", "segment_data", "outlines", "absent_sessions", "answers", "usage_rollup", "usage_versions",
    "shared_answers",
    "cells", "new_cells", "text_runs", "vocabulary", "search_state",
})  # fmt: skip
"""The other tables: everybody may know what is in them, or it is found only by a number that a view gave."""

_HINT = re.compile(r"(?<![.\w])(\w+)((?:\s+AS\s+\w+)?)\s+INDEXED\s+BY\s+(\w+)")


class SeenConnection(apsw.Connection):
    """A connection for viewers; `make_views` makes it one."""

    def execute(self, statements: str, *values: Any, **options: Any) -> Any:
        """Run a statement; of a table that is a view, an index that it names is a view as well."""
        if "INDEXED BY" in statements:
            statements = _HINT.sub(_name_view, statements)
        return super().execute(statements, *values, **options)


def _name_view(found: re.Match[str]) -> str:
    table, alias, index = found.groups()
    return f"temp.seen_{index}{alias or f' AS {table}'}" if table in SHADOWED else found[0]


def make_views(connection: apsw.Connection) -> None:
    """Put views in the place of the tables; nothing is seen until `set_viewer` was called."""
    connection.execute(_VIEWER)
    for table, condition in SHADOWED.items():
        names = [
            name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
        ]
        columns = ", ".join(f"{_INSTEAD.get((table, name), f't.{name}')} AS {name}" for name in names)
        hints = [("", table)]
        query = "SELECT name FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
        hints += [(f" INDEXED BY {name}", f"seen_{name}") for (name,) in connection.execute(query, (table,))]
        for hint, view in hints:
            connection.execute(
                f"CREATE TEMP VIEW {view} AS SELECT {columns} FROM main.{table} AS t{hint} WHERE {condition}"
            )


def set_viewer(connection: apsw.Connection, scope: Scope) -> None:
    """Say who looks."""
    viewer = scope.viewer
    assert viewer is not None, "whoever sees everything needs no views"
    connection.execute(
        "UPDATE temp.viewer SET owner = ?, person = ?, team = ?, session = ?",
        (scope.owner, viewer.person, viewer.team, viewer.session),
    )


_KEPT = 3
"""How many connections for viewers a thread has, if none is busy."""


class Viewing:
    """What one thread asks."""

    def __init__(self, connect: Callable[[bool], apsw.Connection]) -> None:
        """Begin without connections; `connect` opens one, and is told whether it is for viewers."""
        self._connect = connect
        self._whole: Queries | None = None
        self._seen: list[tuple[Scope, Queries]] = []
        """Those for viewers, the one that was used last in front."""

    def ask(self, scope: Scope | None = None) -> Queries:
        """Return what answers within a scope; without one, what sees everything."""
        if scope is None or scope.viewer is None:
            if self._whole is None:
                self._whole = Queries(self._connect(False))
            return self._whole
        if not self._seen or self._seen[0][0] != scope:
            self._seen.insert(0, (scope, self._choose(scope)))
        return self._seen[0][1]

    def _choose(self, scope: Scope) -> Queries:
        for at, (known, queries) in enumerate(self._seen):
            if known == scope:
                del self._seen[at]
                return queries
        if len(self._seen) >= _KEPT:
            for at in reversed(range(len(self._seen))):
                queries = self._seen[at][1]
                if queries.connection.txn_state("main") == apsw.SQLITE_TXN_NONE:
                    del self._seen[at]
                    set_viewer(queries.connection, scope)
                    return queries
        connection = self._connect(True)
        make_views(connection)
        set_viewer(connection, scope)
        return Queries(connection)
