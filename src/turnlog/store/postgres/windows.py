"""Windows of a conversation: ranges of an index, never a whole session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from turnlog.store.identity import Scope
from turnlog.store.packing import Cells, pack_text, unpack_row
from turnlog.store.postgres.chapters import (
    CHAPTER,
    SESSION,
    ChapterQueries,
    build_conditions,
    head,
    is_same,
    look_up,
)
from turnlog.store.rows import CallRow, DerivedRow, MessageRow
from turnlog.store.windows import EVERY_MESSAGE, MessageFilter

__all__ = ["Windows"]

R = TypeVar("R", bound=DerivedRow)


class Windows(ChapterQueries):
    """What `PostgresStore` tells of some messages and calls next to each other."""

    def count_messages(self, scope: Scope, key: str, *, source: str | None = None) -> int:
        """Return how many messages a chapter has; they are counted from 0 without gaps."""
        query = f"SELECT t.idx + 1 FROM messages AS t WHERE {CHAPTER} ORDER BY t.idx DESC LIMIT 1"
        return next((int(count) for (count,) in self._select(scope, key, source, query)), 0)

    def find_message(self, scope: Scope, key: str, id: str, *, source: str | None = None) -> MessageRow | None:
        """Return the message with an id, of one chapter or any; of several, the transcript's or the first."""
        query = f"""
        SELECT t.row FROM messages AS t WHERE {SESSION if source is None else CHAPTER}
        AND {is_same("t.id", "%(id)s::bytea")}
        ORDER BY {head("t.id")}, t.source IS DISTINCT FROM %(main)s, t.source, t.idx LIMIT 1
        """
        rows = self._select(scope, key, source, query, {"id": pack_text(id)})
        return next(iter(_unpack(MessageRow, rows)), None)

    def list_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[MessageRow]:
        """Return the messages that have some indexes, in order; those that are not there are left out."""
        return _unpack(MessageRow, self._select_by("messages", "idx", scope, key, indexes, source))

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
        clauses, values = _filter(where)
        query = f"""
        SELECT t.row FROM messages AS t WHERE {CHAPTER} AND t.idx >= %(first)s{clauses}
        ORDER BY t.idx LIMIT %(count)s
        """
        rows = self._select(scope, key, source, query, {"first": first, "count": count, **values})
        return _unpack(MessageRow, rows)

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
        clauses, values = _filter(where)
        query = f"""
        SELECT t.row FROM messages AS t WHERE {CHAPTER} AND t.idx < %(last)s{clauses}
        ORDER BY t.idx DESC LIMIT %(count)s
        """
        rows = self._select(scope, key, source, query, {"last": last, "count": count, **values})
        return _unpack(MessageRow, rows[::-1])

    def list_calls_of(
        self, scope: Scope, key: str, messages: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls that some messages of a chapter made, in order."""
        return _unpack(CallRow, self._select_by("calls", "message", scope, key, messages, source))

    def list_calls_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls of a chapter that have some indexes, in order."""
        return _unpack(CallRow, self._select_by("calls", "idx", scope, key, indexes, source))

    def _select_by(
        self, table: str, column: str, scope: Scope, key: str, numbers: Sequence[int], source: str | None
    ) -> list[Cells]:
        query = f"""
        SELECT found.row FROM unnest(%(numbers)s::bigint[]) AS w (number)
        CROSS JOIN LATERAL ({look_up("t.idx, t.row", table, column, "w.number")}) AS found ORDER BY found.idx
        """
        return self._select(scope, key, source, query, {"numbers": sorted(set(numbers))})


def _unpack(kind: type[R], rows: Sequence[Cells]) -> list[R]:
    return [unpack_row(kind, row) for (row,) in rows]


def _filter(where: MessageFilter) -> tuple[str, dict[str, Any]]:
    return build_conditions(
        {
            "lane": where.lanes,
            "role": where.roles,
            "category": where.categories,
            "agent": where.agent_id,
            "branch": where.branch,
            "active": where.active,
        }
    )
