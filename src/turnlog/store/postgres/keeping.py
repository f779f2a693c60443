"""The part of the store that keeps up with files, and gives back what it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turnlog.store.batch import SessionBatch
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeEntry, KnownSession, Twin
from turnlog.store.postgres.archive import PostgresArchive
from turnlog.store.postgres.connection import Connected
from turnlog.store.postgres.feed import find_epoch, find_last_change, list_changes
from turnlog.store.postgres.kinds import AGENTS, CALLS, MESSAGES, PLACEMENTS, SIGHTINGS
from turnlog.store.postgres.known import (
    list_chapter,
    list_every_sighting,
    list_known,
    list_lines,
    list_rows,
    list_twins,
)
from turnlog.store.postgres.writing import write_batches
from turnlog.store.rows import AgentRow, CallRow, LineFact, MessageRow, PlacementRow, SightingRow

__all__ = ["Keeping"]


class Keeping(Connected):
    """What `PostgresStore` does to keep up."""

    _archive: PostgresArchive

    @property
    def archive(self) -> PostgresArchive:
        """The bytes behind the rows."""
        return self._archive

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        """Write batches, all or nothing, and return the last `seq` of the feed."""
        # What was applied already changes nothing.
        return self._database.write(
            lambda connection: write_batches(connection, self._archive, batches), is_repeatable=True
        )

    def find_known(self, scope: Scope, key: str) -> KnownSession | None:
        """Return what is known of a session's files."""
        return next(iter(self._ask(scope, list_known, scope, key)), None)

    def list_known(self, scope: Scope, origin: str | None = None) -> Iterator[KnownSession]:
        """Yield what is known of all sessions' files, or of those of one machine, by their keys."""
        return iter(self._ask(scope, list_known, scope, None, origin))

    def list_twins(self, scope: Scope, uuid: str) -> list[Twin]:
        """Return the sessions whose transcripts begin with a message, by key."""
        return self._ask(scope, list_twins, scope, uuid)

    def list_lines(
        self, scope: Scope, source: str, generation: int, *, first: int = 0, count: int | None = None
    ) -> list[LineFact]:
        """Return lines of a generation, in order."""
        return self._read(scope, list_lines, scope, source, generation, first, count)

    def list_messages(
        self, scope: Scope, key: str, *, source: str | None = None, first: int = 0, count: int | None = None
    ) -> list[MessageRow]:
        """Return a window of the messages of a chapter: without `source`, of the transcript."""
        return self._read(scope, list_chapter, MESSAGES, scope, key, source, first, count)

    def list_placements(
        self, scope: Scope, key: str, source: str, *, first: int = 0, count: int | None = None
    ) -> list[PlacementRow]:
        """Return where lines of a chapter went, from a line's number on."""
        return self._read(scope, list_chapter, PLACEMENTS, scope, key, source, first, count)

    def list_calls(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallRow]:
        """Return the calls of a chapter; without `source`, of all."""
        if source is None:
            return self._read(scope, list_rows, CALLS, scope, key)
        return self._read(scope, list_chapter, CALLS, scope, key, source)

    def list_agents(self, scope: Scope, key: str) -> list[AgentRow]:
        """Return a session's agents."""
        return self._read(scope, list_rows, AGENTS, scope, key)

    def list_sightings(
        self, scope: Scope, key: str | None = None, *, source: str | None = None
    ) -> Iterator[SightingRow]:
        """Yield what files say about usage: of a chapter, of one session, or of all."""
        if key is None:
            with self._reading(scope) as connection:
                yield from list_every_sighting(connection, scope)
        elif source is not None:
            yield from self._read(scope, list_chapter, SIGHTINGS, scope, key, source)
        else:
            yield from self._read(scope, list_rows, SIGHTINGS, scope, key)

    def list_changes(self, scope: Scope, after: int = 0, limit: int = 1000) -> list[ChangeEntry]:
        """Return entries of the feed, each once and in order."""
        return self._ask(scope, list_changes, scope, after, limit)

    def find_last_change(self, scope: Scope) -> int:
        """Return the last `seq` of the feed; 0 if nothing happened yet."""
        return self._ask(scope, find_last_change, scope)

    def find_epoch(self) -> str:
        """Return the name of the feed."""
        return self._database.ask(find_epoch)
