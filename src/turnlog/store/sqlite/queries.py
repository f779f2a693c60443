"""What can be asked of the store. Every query is about one owner's data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

import apsw

from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import (
    ChangeEntry,
    ChangeKind,
    KnownSession,
    KnownSource,
    SessionOrder,
    StoredSession,
)
from turnlog.store.rows import DerivedRow, LineFact, SightingRow
from turnlog.store.sqlite.derived_kinds import SESSIONS, SIGHTINGS
from turnlog.store.sqlite.kinds import Kind, UnpackContext
from turnlog.store.sqlite.sources import NEWEST
from turnlog.store.sqlite.values import (
    Cells,
    Names,
    Words,
    decode_checkpoint,
    pack_text,
    unpack_text,
    unpack_uuid,
)

__all__ = ["Queries"]

R = TypeVar("R", bound=DerivedRow)

_ALL = -1
"""A limit that is none, for SQLite."""

_ORDERS = {
    SessionOrder.NEWEST: "t.last_time DESC, e.key",
    SessionOrder.OLDEST: "t.last_time IS NULL, t.last_time, e.key",
    SessionOrder.TITLE: "t.title_key IS NULL, t.title_key, e.key",
    SessionOrder.COST: "CAST(t.cost AS REAL) DESC, e.key",
}


class Queries:
    """Asks one connection; what it learns of words and names it keeps."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._context = UnpackContext(Words(connection), Names(connection))

    def list_known(self, scope: Scope, key: str | None = None) -> Iterator[KnownSession]:
        """Yield what is known of the files of one session, or of all."""
        query = f"""
        SELECT e.key, e.revision, s.source, s.kind, p.path, p.present, g.generation, c.length, c.consumed,
            c.in_array, c.lines, c.checkpoint, s.agent_id, s.run_id, s.copied_from
        {NEWEST.replace("FROM sources AS s", "FROM sessions AS e JOIN sources AS s ON s.session = e.id")}
        WHERE e.owner = ?{"" if key is None else " AND e.key = ?"} ORDER BY e.key, s.source
        """
        rows = self.connection.execute(query, (scope.owner,) if key is None else (scope.owner, key))
        for (found, revision), group in groupby(rows, itemgetter(0, 1)):
            yield KnownSession(key=found, revision=revision, sources=tuple(map(_unpack_known, group)))

    def find_sessions(self, scope: Scope, prefix: str) -> list[StoredSession]:
        """Return the sessions whose id or key begins with a prefix."""
        clauses = [_begins(column) for column in ("e.key", "e.session_id", "t.session_id")]
        query = f"({' OR '.join(clauses)})"
        return self._list_stored(scope, query, (pack_text(prefix),) * 6, SessionOrder.NEWEST, _ALL, 0)

    def list_sessions(
        self, scope: Scope, project: str | None, order: SessionOrder, limit: int, offset: int
    ) -> list[StoredSession]:
        """Return a page of sessions."""
        if project is None:
            return self._list_stored(scope, "true", (), order, limit, offset)
        return self._list_stored(scope, "t.project = ?", (pack_text(project),), order, limit, offset)

    def list_lines(
        self, scope: Scope, source: str, generation: int, first: int, count: int | None
    ) -> list[LineFact]:
        """Return lines of a generation, in order."""
        query = """
        SELECT l.start, l.length, l.number, l.dialect, l.type, l.uuid, l.parent, l.session, l.agent,
            l.message_id, l.time, l.sidechain, l.problems
        FROM sources AS s JOIN generations AS g ON g.source = s.id JOIN lines AS l ON l.generation = g.id
        WHERE s.owner = ? AND s.source = ? AND g.generation = ? AND l.number >= ? ORDER BY l.number LIMIT ?
        """
        limit = _ALL if count is None else count
        rows = self.connection.execute(query, (scope.owner, source, generation, first, limit))
        return [self._unpack_line(row) for row in rows]

    def list_rows(
        self, kind: Kind[R], scope: Scope, key: str, first: int = 0, count: int | None = None
    ) -> list[R]:
        """Return derived rows of a session, from an index on."""
        query = f"""
        {kind.select} WHERE t.session = (SELECT id FROM sessions WHERE owner = ? AND key = ?)
        AND t.idx >= ? ORDER BY t.idx LIMIT ?
        """
        limit = _ALL if count is None else count
        rows = self.connection.execute(query, (scope.owner, key, first, limit))
        unpack, context = kind.unpack, self._context
        return [unpack(row, context) for row in rows]

    def list_sightings(self, scope: Scope) -> Iterator[SightingRow]:
        """Yield the sightings of all sessions, by their keys."""
        query = f"""
        {SIGHTINGS.select} JOIN sessions AS e ON e.id = t.session WHERE e.owner = ? ORDER BY e.key, t.idx
        """
        for row in self.connection.execute(query, (scope.owner,)):
            yield SIGHTINGS.unpack(row, self._context)

    def list_changes(self, scope: Scope, after: int, limit: int) -> list[ChangeEntry]:
        """Return entries of the feed."""
        query = """
        SELECT seq, kind, session, revision, at_ns FROM changes WHERE seq > ? AND owner = ? ORDER BY seq LIMIT ?
        """
        return [
            ChangeEntry(seq=seq, kind=ChangeKind(kind), session=session, revision=revision, at_ns=at_ns)
            for seq, kind, session, revision, at_ns in self.connection.execute(
                query, (after, scope.owner, limit)
            )
        ]

    def find_last_change(self, scope: Scope) -> int:
        """Return the last number of the feed."""
        # From the end on: with one owner, the last entry is the first that is looked at.
        query = "SELECT seq FROM changes WHERE owner = ? ORDER BY seq DESC LIMIT 1"
        return next((int(seq) for (seq,) in self.connection.execute(query, (scope.owner,))), 0)

    def _list_stored(
        self,
        scope: Scope,
        where: str,
        values: tuple[str | bytes | None, ...],
        order: SessionOrder,
        limit: int,
        offset: int,
    ) -> list[StoredSession]:
        select = SESSIONS.select.replace(
            "SELECT", "SELECT e.key, e.revision, e.project_folder, p.path, p.present,"
        )
        query = f"""
        {select} JOIN sessions AS e ON e.id = t.session
        LEFT JOIN sources AS s ON s.owner = e.owner AND s.source = e.key
        LEFT JOIN source_paths AS p ON p.id = (SELECT max(id) FROM source_paths WHERE source = s.id)
        WHERE t.owner = ? AND {where} ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?
        """
        rows = self.connection.execute(query, (scope.owner, *values, limit, offset))
        return [self._unpack_stored(row) for row in rows]

    def _unpack_stored(self, cells: Cells) -> StoredSession:
        key, revision, folder, path, present, *row = cells
        return StoredSession(
            key=key,
            revision=revision,
            project_folder=unpack_text(folder),
            path=unpack_text(path) or "",
            present=bool(present),
            row=SESSIONS.unpack(tuple(row), self._context),
        )

    def _unpack_line(self, cells: Cells) -> LineFact:
        (
            offset, length, number, dialect, type, uuid, parent, session, agent, message_id, time, sidechain,
            problems,
        ) = cells  # fmt: skip
        word = self._context.words
        return LineFact(
            offset=offset, length=length, number=number, dialect=word[dialect], type=word[type],
            uuid=unpack_uuid(uuid), parent_uuid=unpack_uuid(parent), session_id=word[session],
            agent_id=word[agent], message_id=message_id, time=time, is_sidechain=bool(sidechain),
            problems=problems,
        )  # fmt: skip


def _begins(column: str) -> str:
    # A range, unlike LIKE, is about exact characters and can use an index.
    return f"({column} >= ? AND {column} < ? || char(1114111))"


def _unpack_known(cells: tuple[Any, ...]) -> KnownSource:
    (
        _key, _revision, source, kind, path, present, generation, length, consumed, in_array, lines, checkpoint,
        agent_id, run_id, copied_from,
    ) = cells  # fmt: skip
    return KnownSource(
        source=source, kind=SourceKind(kind), path=unpack_text(path), present=bool(present),
        generation=generation, length=length, consumed=consumed, in_array=bool(in_array), lines=lines,
        checkpoint=decode_checkpoint(checkpoint), agent_id=unpack_text(agent_id), run_id=unpack_text(run_id),
        copied_from=copied_from,
    )  # fmt: skip
