"""What somebody sees who may not see everything: views with the names of the tables, in a schema of their own.

A transaction for a viewer has that schema first in its path, and says in settings of its own who looks; both
are gone at its end. So all queries stay as they are, and none can forget it. Without the settings, there is
nothing to be seen.

A view knows the columns that its table had when it was made. So they are all made anew whenever a step of
`migrations` was done, or the tables are others by the same names, as after restoring a backup: the schema's
comment says what they were made from. If programs of several versions are on one database, the views are those
of the newest: what it lets nobody see, nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import LiteralString

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier, Literal

from turnlog.store.identity import Scope, Viewer
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import as_word
from turnlog.store.postgres.schema import HOOK_EVENTS
from turnlog.store.postgres.wire import SCHEMA
from turnlog.store.search.text_rows import HOOKS

__all__ = ["SEEN", "are_views_current", "begin_seen", "make_views", "own_only"]

SEEN = "turnlog_seen"
"""The schema of the views."""
_VERSION = 1
"""Of what is said here of the views: one more with each release in which that changes."""

_OWNER, _PERSON, _TEAM, _KEY = (
    f"nullif(current_setting('turnlog.{name}', true), '')" for name in ("owner", "person", "team", "session")
)
_YES = "yes"


def _is_for(row: str) -> str:
    """Return the condition that a row is about what its person, the team, or whoever has a link may see."""
    return f"({row}.person = {_PERSON} OR ({row}.shared AND {_TEAM} = '{_YES}'))"


def _of_session(row: str, column: str = "session") -> str:
    return f"EXISTS (SELECT 1 FROM {SEEN}.access AS a WHERE a.session = {row}.{column})"


def _of_file(row: str, column: str = "source") -> str:
    return f"""
    EXISTS (
        SELECT 1 FROM {SCHEMA}.sources AS s JOIN {SEEN}.access AS a ON a.session = s.session
        WHERE s.id = {row}.{column}
    )"""


def _one_by_one(condition: str) -> str:
    """Return a condition that is looked at row by row.

    Else the server joins, and may do so in an order in which it has to sort what an index has in order.
    """
    return f"({condition}) IS TRUE"


def _told_by(row: str, id: str) -> str:
    """Return the condition that a hook told something that may be seen, of the session with an id.

    The machine is the viewer's, or they see a session with that id whose person the machine's is.
    """
    machine = f"{SCHEMA}.machines AS m WHERE m.owner = {row}.owner AND m.origin = {row}.origin"
    sessions = (
        f"""EXISTS (
        SELECT 1 FROM {SCHEMA}.{table} AS e JOIN {SEEN}.access AS a ON a.session = e.{number}
        WHERE e.owner = {row}.owner AND e.session_id = {row}.{id}
            AND substring(e.session_id from 1 for 64) = substring({row}.{id} from 1 for 64)
            AND coalesce(a.person, '') = coalesce((SELECT m.person FROM {machine}), '')
        )"""
        for table, number in (("sessions", "id"), ("summaries", "session"))
    )
    own = f"EXISTS (SELECT 1 FROM {machine} AND m.person = {_PERSON})"
    return f"{row}.owner = {_OWNER} AND ({own} OR {' OR '.join(sessions)})"


_CHANGE = f"""
t.owner = {_OWNER} AND CASE
    WHEN t.kind IN ('{ChangeKind.SESSION_FORGOTTEN}', '{ChangeKind.SESSION_ACCESS}')
        THEN {_is_for("t")} OR t.former = {_PERSON} OR t.session = convert_to({_KEY}, 'UTF8')
    WHEN t.kind = '{ChangeKind.HOOK_DELIVERED}' THEN {_told_by("t", "session")}
    ELSE EXISTS (
        SELECT 1 FROM {SCHEMA}.sessions AS e JOIN {SEEN}.access AS a ON a.session = e.id
        WHERE e.owner = t.owner AND e.key = convert_from(t.session, 'UTF8')
    )
END
"""
_TEXT = f"""
t.generation = {HOOKS} OR EXISTS (
    SELECT 1 FROM {SCHEMA}.generations AS g JOIN {SCHEMA}.sources AS s ON s.id = g.source
    JOIN {SEEN}.access AS a ON a.session = s.session WHERE g.id = t.generation
)
"""
_MACHINE = f"""
t.owner = {_OWNER} AND (t.person = {_PERSON} OR t.origin IN (
    SELECT e.origin FROM {SCHEMA}.sessions AS e JOIN {SEEN}.access AS a ON a.session = e.id
))
"""
_COUNTED = f"""
EXISTS (
    SELECT 1 FROM {SEEN}.access AS a WHERE a.session = t.session
    AND t.audience IN (0, CASE WHEN a.person = {_PERSON} THEN 1 ELSE 2 END)
)
"""
_GROUP = f"EXISTS (SELECT 1 FROM {SEEN}.usage_groups AS g WHERE g.id = t.grp)"
_COPIED = f"""
CASE WHEN EXISTS (
    SELECT 1 FROM {SEEN}.access AS c JOIN {SCHEMA}.access AS a ON a.person IS NOT DISTINCT FROM c.person
    WHERE c.owner = t.owner AND c.key = t.copied_from AND a.session = t.session
) THEN t.copied_from END
"""

_SEEN: Mapping[str, str] = {
    "access": f"t.owner = {_OWNER} AND ({_is_for('t')} OR t.key = {_KEY})",
    "sessions": _of_session("t", "id"),
    "sources": _of_session("t"),
    "source_paths": _of_file("t"),
    "generations": _of_file("t"),
    "summaries": _of_session("t"),
    "marks": _of_session("t"),
    **dict.fromkeys(("messages", "calls", "placements", "turns", "agents"), _one_by_one(_of_session("t"))),
    "sightings": _of_session("t"),
    "usage_groups": _COUNTED,
    "answers": _GROUP,
    "usage_rollup": _GROUP,
    "reported_costs": _of_session("t"),
    "usage_versions": f"t.session = 0 OR {_of_session('t')}",
    "hook_deliveries": _told_by("t", "session_id"),
    "texts": _TEXT,
    "changes": _CHANGE,
    "tombstones": f"t.owner = {_OWNER} AND t.person = {_PERSON}",
    "machines": _MACHINE,
}
"""The tables of which not everybody sees everything, each with the condition for its rows `t`.

Those that others are made of come first. Lines, bytes and digests are known by numbers that only rows of these
tables tell, as are texts of hooks, and the numbers of deliveries.
"""
_HIDDEN = ("backups", "leases")
"""Tables of which nobody sees anything who may not see everything."""
_INSTEAD: Mapping[tuple[str, str], str] = {
    ("sources", "copied_from"): _COPIED,
    ("usage_groups", "audience"): "0::smallint",  # it is for this viewer
}
"""What columns show that do not show what they have."""
_HOOK_EVENTS = f"""
CREATE VIEW {SEEN}.hook_events AS {HOOK_EVENTS.replace("FROM hook_deliveries", f"FROM {SEEN}.hook_deliveries")}
"""
_MARK = """
SELECT md5(string_agg(c.oid || a.attname, ',' ORDER BY c.oid, a.attnum)) FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = a.attrelid
WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND a.attnum > 0 AND NOT a.attisdropped
"""
_COLUMNS = """
SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
"""


def begin_seen(begin: LiteralString, scope: Scope) -> Composed:
    """Return what begins a transaction in which there is only what a scope may see."""
    viewer = scope.viewer or Viewer()
    settings = {
        "search_path": f"{SEEN}, {SCHEMA}, public",
        "turnlog.owner": scope.owner,
        "turnlog.person": viewer.person,
        "turnlog.team": _YES if viewer.team else None,
        "turnlog.session": viewer.session,
    }
    calls = [
        SQL("set_config({}, {}, true)").format(Literal(name), Literal(as_word(value or "") or ""))
        for name, value in settings.items()
    ]
    return SQL("{}; SELECT {}").format(SQL(begin), SQL(", ").join(calls))


def own_only(connection: Connection, scope: Scope, keys: Iterable[str]) -> list[str]:
    """Return the keys of sessions that may be changed: for a viewer, of their own; each once, in their order.

    Those that are not there may be among them.
    """
    names = [key for key in dict.fromkeys(keys) if as_word(key) is not None]
    if scope.viewer is None:
        return names
    query = f"SELECT key FROM {SCHEMA}.access WHERE owner = %s AND person = %s AND key = ANY(%s)"
    own = {key for (key,) in connection.execute(query, (scope.owner, scope.viewer.person, names))}
    return [name for name in names if name in own]


def are_views_current(connection: Connection) -> bool:
    """Tell whether the views are of the tables that there are, and made by this program or a newer one."""
    # Asked of the table: what `to_regnamespace` says may be from before others made it.
    query = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"
    rows = connection.execute(query, (SEEN,)).fetchall()
    if not rows or rows[0][0] is None:
        return False
    found, mark = str(rows[0][0]), _mark(connection)
    (version, tables, *_), (_, own_tables, *_) = found.split(), mark.split()
    return found == mark or (tables == own_tables and version.isdigit() and int(version) > _VERSION)


def make_views(connection: Connection) -> None:
    """Make all views anew, in the transaction of the caller."""
    connection.execute(f"DROP SCHEMA IF EXISTS {SEEN} CASCADE")
    connection.execute(f"CREATE SCHEMA {SEEN}")
    for table, condition in _SEEN.items():
        _make_view(connection, table, condition)
    for table in _HIDDEN:
        _make_view(connection, table, "false")
    connection.execute(_HOOK_EVENTS)
    connection.execute(SQL("COMMENT ON SCHEMA {} IS {}").format(Identifier(SEEN), Literal(_mark(connection))))


def _make_view(connection: Connection, table: str, condition: str) -> None:
    names = [name for (name,) in connection.execute(_COLUMNS, (f"{SCHEMA}.{table}",))]
    columns = ", ".join(f"{_INSTEAD.get((table, name), f't.{name}')} AS {name}" for name in names)
    connection.execute(
        f"CREATE VIEW {SEEN}.{table} AS SELECT {columns} FROM {SCHEMA}.{table} AS t WHERE {condition}"
    )


def _mark(connection: Connection) -> str:
    """Return what the views are made from, in short."""
    [(columns,)] = connection.execute(_MARK, (SCHEMA,))
    words = repr((sorted(_SEEN.items()), _HIDDEN, sorted(_INSTEAD.items()), _HOOK_EVENTS))
    return f"{_VERSION} {columns} {blake2b(words.encode(), digest_size=16).hexdigest()}"
