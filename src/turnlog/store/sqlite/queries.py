"""What can be asked of the store. Every query is about one owner's data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import apsw

from turnlog.store.checkpoints import decode_checkpoint
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import ChangeEntry, ChangeKind, Feed, KnownSession, KnownSource
from turnlog.store.sqlite.lists import Lists
from turnlog.store.sqlite.sources import NEWEST
from turnlog.store.sqlite.values import unpack_text

__all__ = ["Queries"]


class Queries:
    """Asks one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.lists = Lists(connection)

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

    def list_changes(self, scope: Scope, after: int, limit: int) -> tuple[ChangeEntry, ...]:
        """Return entries of the feed."""
        query = """
        SELECT seq, kind, session, revision, at_ns FROM changes WHERE seq > ? AND owner = ? ORDER BY seq LIMIT ?
        """
        return tuple(
            ChangeEntry(seq=seq, kind=ChangeKind(kind), session=session, revision=revision, at_ns=at_ns)
            for seq, kind, session, revision, at_ns in self.connection.execute(
                query, (after, scope.owner, limit)
            )
        )

    def find_feed(self, scope: Scope) -> Feed:
        """Return the name of the feed, and its last number."""
        # From the end on: with one owner, the last entry is the first that is looked at.
        last = "SELECT seq FROM changes WHERE owner = ? ORDER BY seq DESC LIMIT 1"
        [found] = self.connection.execute(f"SELECT epoch, ifnull(({last}), 0) FROM feed", (scope.owner,))
        return Feed(*found)


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
