"""The part of the embedded store that shows conversations, window by window."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.identity import Place, Scope
from turnlog.store.rows import CallRow, MessageRow, TurnRow
from turnlog.store.sqlite.acting import Acting
from turnlog.store.sqlite.archive import SqliteArchive
from turnlog.store.sqlite.connection import translate
from turnlog.store.sqlite.outlines import Outlines
from turnlog.store.sqlite.windows import Windows
from turnlog.store.windows import (
    EVERY_CALL,
    EVERY_MESSAGE,
    AnswerUse,
    BranchRange,
    CallFilter,
    CallOutline,
    CallRange,
    FileCounts,
    FlawedLine,
    MessageFilter,
    MessageOutline,
    TurnCall,
)

__all__ = ["Browsing"]


class Browsing(Acting):
    """What `SqliteStore` tells of a part of a session."""

    _archive: SqliteArchive

    def count_messages(self, scope: Scope, key: str, *, source: str | None = None) -> int:
        """Return how many messages a chapter has: without `source`, the transcript."""
        with translate(self._path):
            return self._windows(scope).count_messages(scope, key, source)

    def find_message(self, scope: Scope, key: str, id: str, *, source: str | None = None) -> MessageRow | None:
        """Return the message with an id, of one chapter or any; of several, the transcript's or the first."""
        with translate(self._path):
            return self._windows(scope).find_message(scope, key, id, source)

    def list_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[MessageRow]:
        """Return the messages that have some indexes, in order; those that are not there are left out."""
        with translate(self._path):
            return self._windows(scope).list_at(scope, key, indexes, source)

    def list_after(
        self,
        scope: Scope,
        key: str,
        *,
        source: str | None = None,
        first: int = 0,
        count: int = 100,
        where: MessageFilter = EVERY_MESSAGE,
    ) -> list[MessageRow]:
        """Return the messages from an index on that are wanted, in order."""
        with translate(self._path):
            return self._windows(scope).list_after(scope, key, source, first, count, where)

    def list_before(
        self,
        scope: Scope,
        key: str,
        *,
        source: str | None = None,
        last: int,
        count: int = 100,
        where: MessageFilter = EVERY_MESSAGE,
    ) -> list[MessageRow]:
        """Return the last messages before an index that are wanted, in order."""
        with translate(self._path):
            return self._windows(scope).list_before(scope, key, source, last, count, where)

    def list_calls_of(
        self, scope: Scope, key: str, messages: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls that some messages of a chapter made, in order."""
        with translate(self._path):
            return self._windows(scope).list_calls_of(scope, key, messages, source)

    def list_calls_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls of a chapter that have some indexes, in order."""
        with translate(self._path):
            return self._windows(scope).list_calls_at(scope, key, indexes, source)

    def find_calls(
        self,
        scope: Scope,
        key: str,
        where: CallFilter = EVERY_CALL,
        *,
        source: str | None = None,
        first: int = 0,
        count: int = 100,
    ) -> CallRange:
        """Return some of the calls that are wanted; without `source`, of all chapters."""
        with translate(self._path):
            return self._outlines(scope).find_calls(scope, key, where, source, first, count)

    def list_outline(
        self, scope: Scope, key: str, *, source: str | None = None, first: int = 0, count: int | None = None
    ) -> list[MessageOutline]:
        """Return how the messages of a chapter belong together, from an index on."""
        with translate(self._path):
            return self._outlines(scope).list_outline(scope, key, source, first, count)

    def list_call_outline(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallOutline]:
        """Return what is counted of a chapter's calls."""
        with translate(self._path):
            return self._outlines(scope).list_call_outline(scope, key, source)

    def list_branches(self, scope: Scope, key: str, *, source: str | None = None) -> list[BranchRange]:
        """Return the branches of a chapter, by their numbers."""
        with translate(self._path):
            return self._outlines(scope).list_branches(scope, key, source)

    def list_turns(self, scope: Scope, key: str, *, first: int = 0, count: int | None = None) -> list[TurnRow]:
        """Return a session's turns, from one on."""
        with translate(self._path):
            return self._outlines(scope).list_turns(scope, key, first, count)

    def count_turns(self, scope: Scope, key: str) -> int:
        """Return how many turns a session has."""
        with translate(self._path):
            return self._outlines(scope).count_turns(scope, key)

    def list_turn_calls(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[TurnCall]:
        """Return the calls that the transcript's messages of some turns made: by turn, and then in order."""
        with translate(self._path):
            return self._outlines(scope).list_turn_calls(scope, key, first, count)

    def count_files(self, scope: Scope) -> FileCounts:
        """Return how much there is of all sessions."""
        with translate(self._path):
            return self._outlines(scope).count_files(scope)

    def list_flawed(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[FlawedLine]:
        """Return lines of the newest generations that have problems, by source and number."""
        with translate(self._path):
            return self._windows(scope).list_flawed(scope, key, first, count)

    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        with translate(self._path):
            return self._windows(scope).find_answers(scope, ids)

    def find_usage_version(self, scope: Scope, key: str) -> int:
        """Return a number that changes when another session changes what is told of this one's answers."""
        with translate(self._path):
            return self._windows(scope).find_usage_version(scope, key)

    def measure_lines(self, scope: Scope, places: Sequence[Place]) -> list[int]:
        """Return how long lines are, one for each place."""
        with translate(self._path):
            return self._windows(scope).measure_lines(scope, places)

    def read_lines(self, scope: Scope, places: Sequence[Place]) -> list[bytes]:
        """Return lines as they stand, one for each place."""
        with translate(self._path):
            return self._windows(scope).read_lines(scope, places)

    def _windows(self, scope: Scope) -> Windows:
        asked = self._ask(scope)
        return Windows(asked.connection, asked.context, self._archive)

    def _outlines(self, scope: Scope) -> Outlines:
        asked = self._ask(scope)
        return Outlines(asked.connection, asked.context)
