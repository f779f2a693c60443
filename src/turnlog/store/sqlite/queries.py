"""What can be asked of the store. Every query is about one owner's data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

import apsw

from turnlog.store.checkpoints import decode_checkpoint
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import ChangeEntry, ChangeKind, KnownSession, KnownSource
from turnlog.store.rows import DerivedRow, LineFact, SightingRow
from turnlog.store.sqlite.chapters import SESSION, Values, build_values, name_chapter
from turnlog.store.sqlite.derived_kinds import SIGHTINGS
from turnlog.store.sqlite.kinds import Kind, UnpackContext
from turnlog.store.sqlite.lists import Lists
from turnlog.store.sqlite.sources import NEWEST
from turnlog.store.sqlite.values import (
    Cells,
    Names,
    Words,
    unpack_text,
    unpack_uuid,
)

__all__ = ["Queries"]

R = TypeVar("R", bound=DerivedRow)

_ALL = -1
"""A limit that is none, for SQLite."""

_SESSION = "(SELECT id FROM sessions WHERE owner = ?1 AND key = ?2)"


class Queries:
    """Asks one connection; what it learns of words and names it keeps."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.context = UnpackContext(Words(connection), Names(connection))
        self.lists = Lists(connection, self.context)

    def list_known(
        self, scope: Scope, key: str | None = None, origin: str | None = None
    ) -> Iterator[KnownSession]:
        """Yield what is known of the files of one session, of those of one machine, or of all."""
        wanted = {"owner": scope.owner, "key": key, "origin": origin}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        query = f"""
        SELECT e.key, e.revision, e.session_id, e.project_folder, e.derivation, e.origin, s.source, s.kind,
            p.path, p.present, g.generation, c.length, c.consumed, c.in_array, c.lines, c.checkpoint,
            s.agent_id, s.run_id, s.copied_from
        {NEWEST.replace("FROM sources AS s", "FROM sessions AS e JOIN sources AS s ON s.session = e.id")}
        WHERE {" AND ".join(f"e.{name} = :{name}" for name in wanted)} ORDER BY e.key, s.source
        """
        rows = self.connection.execute(query, wanted)
        for (found, revision, session_id, folder, derivation, machine), group in groupby(
            rows, itemgetter(0, 1, 2, 3, 4, 5)
        ):
            yield KnownSession(
                key=found,
                revision=revision,
                session_id=unpack_text(session_id),
                project_folder=unpack_text(folder),
                derivation=derivation,
                sources=tuple(map(_unpack_known, group)),
                origin=machine,
            )

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

    def list_rows(self, kind: Kind[R], scope: Scope, key: str) -> list[R]:
        """Return derived rows of a session: of all chapters, the transcript's first."""
        query = f"""
        {kind.select} LEFT JOIN sources AS s ON s.id = t.source WHERE t.session = {_SESSION}
        ORDER BY s.kind <> '{SourceKind.TRANSCRIPT}', s.source, t.idx
        """
        return self._unpack(kind, query, (scope.owner, key))

    def list_chapter(
        self,
        kind: Kind[R],
        scope: Scope,
        key: str,
        source: str | None,
        first: int = 0,
        count: int | None = None,
    ) -> list[R]:
        """Return rows of one chapter, from an index on; without `source`, of the transcript."""
        query = f"""
        {kind.select} WHERE t.session = {SESSION} AND t.source = {name_chapter(source)} AND t.idx >= :first
        ORDER BY t.idx LIMIT :count
        """
        window: Values = {"first": first, "count": _ALL if count is None else count}
        return self._unpack(kind, query, build_values(scope, key, source) | window)

    def _unpack(self, kind: Kind[R], query: str, values: tuple[str | int | None, ...] | Values) -> list[R]:
        unpack, context = kind.unpack, self.context
        return [unpack(row, context) for row in self.connection.execute(query, values)]

    def list_sightings(self, scope: Scope) -> Iterator[SightingRow]:
        """Yield the sightings of all sessions, by their keys."""
        query = f"""
        {SIGHTINGS.select} JOIN sessions AS e ON e.id = t.session WHERE e.owner = ?
        ORDER BY e.key, t.source, t.idx
        """
        for row in self.connection.execute(query, (scope.owner,)):
            yield SIGHTINGS.unpack(row, self.context)

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

    def _unpack_line(self, cells: Cells) -> LineFact:
        (
            offset, length, number, dialect, type, uuid, parent, session, agent, message_id, time, sidechain,
            problems,
        ) = cells  # fmt: skip
        word = self.context.words
        return LineFact(
            offset=offset, length=length, number=number, dialect=word[dialect], type=word[type],
            uuid=unpack_uuid(uuid), parent_uuid=unpack_uuid(parent), session_id=word[session],
            agent_id=word[agent], message_id=message_id, time=time, is_sidechain=bool(sidechain),
            problems=problems,
        )  # fmt: skip


def _unpack_known(cells: tuple[Any, ...]) -> KnownSource:
    (
        source, kind, path, present, generation, length, consumed, in_array, lines, checkpoint, agent_id,
        run_id, copied_from,
    ) = cells[6:]  # fmt: skip
    return KnownSource(
        source=source, kind=SourceKind(kind), path=unpack_text(path), present=bool(present),
        generation=generation, length=length, consumed=consumed, in_array=bool(in_array), lines=lines,
        checkpoint=decode_checkpoint(checkpoint), agent_id=unpack_text(agent_id), run_id=unpack_text(run_id),
        copied_from=copied_from,
    )  # fmt: skip
