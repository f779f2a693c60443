"""Reading on somebody's behalf: every statement has the conditions of what they may see, whatever it asks.

A statement about many sessions sees the rows of those that the viewer may see. One about a single session is
made through `Within`, which was given only for a session that may be seen, and has the rows of that one.

The conditions go with the statement as filters on tables, which the engine applies wherever a table is named;
those on sessions are looked at once the newest row of each is found. What hooks told has no session that it
belongs to: it is seen by whose machine it was told on, and by who sees a session of theirs with that id.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from turnlog.store.clickhouse.connection import Engine, Values, spell_text
from turnlog.store.clickhouse.ids import NOWHERE, number
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.session_schema import SESSIONS
from turnlog.store.clickhouse.usage_schema import see_usage
from turnlog.store.identity import Scope
from turnlog.store.packing import Cells, unpack_text

__all__ = [
    "ACCESS",
    "LISTED",
    "MARKED",
    "NAMED",
    "OF_SESSIONS",
    "Reading",
    "Within",
    "list_filters",
    "see_deliveries",
    "see_sessions",
]

OF_SESSIONS = ("sources", "source_paths", "generations", "frames", "lines", "rows", "sightings")
"""The tables whose rows are those of a session that is named by `session`."""
NAMED = (
    "owner", "id", "write", "born", "key", "origin", "session_id", "project_folder", "revision", "derivation",
    "person", "shared",
)  # fmt: skip
"""What a session is called, whose it is, and in which revision."""
ACCESS = (*NAMED, "chosen", "rule")
"""With all that says who may see it."""
MARKED = (*NAMED, "name", "tags", "starred", "note", "archived")
"""With what people said about it."""
LISTED = (*MARKED, "present", "path", "transcript_present", "copied_from", "row")
"""With what lists tell."""
# What is looked for comes first: an engine that finds the newest row itself reads all columns of many others.
# Who sees it is asked of the newest row, and not of those before it.
_FIND = """
SELECT {columns} FROM (
    SELECT {columns} FROM sessions WHERE owner = {{owner:String}} AND id IN {{ids:Array(UInt128)}}
    ORDER BY write DESC LIMIT 1 BY id
) WHERE {seen}
"""
_MOST_AT_ONCE = 10_000
"""How many sessions are asked for by one statement: servers bound how long its values are."""
_FIND_SOURCE = "SELECT DISTINCT session FROM sources WHERE source = {source:UInt128}"


def see_sessions(scope: Scope, retention_days: int | None = None) -> str:
    """Return the condition for rows of `sessions` and `summaries` that a scope may see."""
    mine = _is_kept(scope, retention_days)
    viewer = scope.viewer
    if viewer is None:
        return mine
    seen = ["false"]
    if viewer.person is not None:
        seen.append(f"person = {spell_text(viewer.person)}")
    if viewer.team:
        seen.append("shared")
    if viewer.session is not None:
        seen.append(f"key = {spell_text(viewer.session)}")
    return f"{mine} AND ({' OR '.join(seen)})"


def see_deliveries(scope: Scope, retention_days: int | None = None) -> str:
    """Return the condition for rows of `deliveries` that a scope may see."""
    mine = _is_kept(scope, retention_days)
    viewer = scope.viewer
    if viewer is None:
        return mine
    seen = f"""
    (session_id, ifNull(toString(person), '')) IN (
        SELECT arrayJoin([session_id, ifNull(told_id, session_id)]), ifNull(toString(person), '')
        FROM sessions FINAL WHERE {see_sessions(scope, retention_days)}
    )"""
    own = "false" if viewer.person is None else f"person = {spell_text(viewer.person)}"
    return f"{mine} AND ({own} OR {seen})"


def list_filters(scope: Scope, retention_days: int | None = None) -> dict[str, str]:
    """Return the conditions for all tables."""
    sessions = see_sessions(scope, retention_days)
    seen = f"session IN (SELECT id FROM sessions FINAL WHERE {sessions})"
    mine = _is_kept(scope, retention_days)
    texts = mine if scope.viewer is None else f"{mine} AND (session = {NOWHERE} OR {seen})"
    return {
        **dict.fromkeys(("sessions", "summaries"), sessions),
        **dict.fromkeys(OF_SESSIONS, seen),
        "texts": texts,  # those of hooks are known by the numbers that deliveries have
        **see_usage(scope, sessions),
        **_list_hook_filters(scope, retention_days),
    }


def _list_hook_filters(scope: Scope, retention_days: int | None) -> dict[str, str]:
    deliveries = see_deliveries(scope, retention_days)
    numbers = f"owner = {spell_text(scope.owner)}"
    if scope.viewer is not None:
        numbers = f"{numbers} AND digest IN (SELECT digest FROM deliveries FINAL WHERE {deliveries})"
    return {"deliveries": deliveries, "delivery_numbers": numbers}


def _is_kept(scope: Scope, retention_days: int | None) -> str:
    """Return the condition for rows of an owner that are not about to be dropped for their age."""
    mine = f"owner = {spell_text(scope.owner)}"
    return mine if retention_days is None else f"{mine} AND born + INTERVAL {retention_days} DAY > today()"


class Within(Struct, frozen=True):
    """One session, and what may be asked of its rows."""

    engine: Engine
    session: Session
    reading: Reading
    """What whoever asks sees besides."""

    def query(self, statement: str, values: Values | None = None) -> list[Cells]:
        """Return the rows of a statement about this session.

        `{session:UInt128}` and `{revision:UInt64}` are given.
        """
        given = {"session": self.session.id, "revision": self.session.revision, **(values or {})}
        only = f"session = toUInt128('{self.session.id}')"
        scope, days = self.reading.scope, self.reading.retention_days
        sessions = see_sessions(scope, days)
        filters = {
            # All of them: of what hooks told, others may decide.
            **dict.fromkeys(("sessions", "summaries"), sessions),
            **dict.fromkeys((*OF_SESSIONS, "texts"), only),
            **{name: f"{only} AND {seen}" for name, seen in see_usage(scope, sessions).items()},
            **_list_hook_filters(scope, days),
        }
        return self.engine.query(statement, given, filters)


class Reading(Struct, frozen=True):
    """What a scope sees."""

    engine: Engine
    scope: Scope
    retention_days: int | None = None
    """How long sessions are seen, from the day on which they were first written; None if they always are."""

    def query(self, statement: str, values: Values | None = None) -> list[Cells]:
        """Return the rows of a statement about many sessions; `{owner:String}` is given."""
        given = {"owner": self.scope.owner, **(values or {})}
        return self.engine.query(statement, given, list_filters(self.scope, self.retention_days))

    def find(self, keys: Sequence[str], columns: Sequence[str] = SESSIONS.names) -> dict[str, Session]:
        """Return sessions by their keys, those that may be seen, with some columns: each takes its time.

        Whoever inserts them anew needs all.
        """
        found = self._find([number(self.scope.owner, key) for key in keys], columns)
        return {unpack_text(each.key): each for each in found}

    def find_listed(self, ids: Sequence[int]) -> list[Session]:
        """Return sessions by their numbers, those that may be seen, with what lists tell of them."""
        return self._find(ids, LISTED)

    def within(self, key: str, columns: Sequence[str] = SESSIONS.names) -> Within | None:
        """Return what may be asked of a session; None if it is not there, or may not be seen."""
        session = self.find([key], columns).get(key)
        return None if session is None else Within(self.engine, session, self)

    def within_source(self, source: str, columns: Sequence[str] = SESSIONS.names) -> Within | None:
        """Return what may be asked of the session that a file belongs to."""
        wanted = number(self.scope.owner, source)
        for (session,) in self.engine.query(_FIND_SOURCE, {"source": wanted}):
            for found in self._find([session], columns):
                return Within(self.engine, found, self)
        return None

    def tell_originals(self, copies: Sequence[tuple[bytes | None, bytes | None]]) -> list[bytes | None]:
        """Return what copies are told to be copies of, given the key of the original and whose the copy is.

        Whoever may not see everything is told so only of an original that they see, and of the same person.
        """
        originals = {key for key, _ in copies if key is not None}
        if self.scope.viewer is None or not originals:
            return [key for key, _ in copies]
        wanted = sorted(number(self.scope.owner, key) for key in originals)
        found = {(each.key, each.person) for each in self._find(wanted, NAMED)}
        return [copy[0] if copy in found else None for copy in copies]

    def _find(self, ids: Sequence[int], columns: Sequence[str]) -> list[Session]:
        """Return sessions with some of their columns."""
        seen = see_sessions(self.scope, self.retention_days)
        query = _FIND.format(columns=", ".join(columns), seen=seen)
        found = []
        for at in range(0, len(ids), _MOST_AT_ONCE):
            some = {"owner": self.scope.owner, "ids": list(ids[at : at + _MOST_AT_ONCE])}
            rows = self.engine.query(query, some)
            found += [Session(**dict(zip(columns, row, strict=True))) for row in rows]
        return found
