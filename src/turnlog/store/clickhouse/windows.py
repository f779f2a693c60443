"""Windows of a conversation: ranges of the primary key, never a whole session.

Messages of a chapter are counted from 0 without gaps, so a window without a filter is a range of indexes. With
one, few columns are looked at to find out which indexes are meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnlog.store.clickhouse.chapters import (
    CHAPTER,
    ChapterQueries,
    build_conditions,
    rows_like,
    rows_of,
    unpack_rows,
)
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.kinds import CALLS, MESSAGES
from turnlog.store.clickhouse.row_lists import in_range
from turnlog.store.identity import Scope
from turnlog.store.packing import pack_text, unpack_row
from turnlog.store.rows import CallRow, MessageRow
from turnlog.store.windows import EVERY_MESSAGE, MessageFilter

__all__ = ["Windows"]

_AT = f"{CHAPTER} AND idx IN {{numbers:Array(Int64)}}"


class Windows(ChapterQueries):
    """What `ClickHouseStore` tells of some messages and calls next to each other."""

    def count_messages(self, scope: Scope, key: str, *, source: str | None = None) -> int:
        """Return how many messages a chapter has: without `source`, the transcript."""
        usual = number(scope.owner, key if source is None else source)
        count = self._count(scope, key, MESSAGES, usual)
        look = self._look(scope, key) if source is None and not count else None
        if look is None or look.main in (None, usual):
            return count
        return self._count(scope, key, MESSAGES, look.main, look)

    def find_message(self, scope: Scope, key: str, id: str, *, source: str | None = None) -> MessageRow | None:
        """Return the message with an id, of one chapter or any; of several, the transcript's or the first."""
        query = rows_like(MESSAGES, "source, id, row", "id = {id:String}", None if source is None else CHAPTER)
        values = {"id": pack_text(id)}
        if source is not None:
            values["chapter"] = number(scope.owner, source)
        found = self._select(scope, key, query, values)
        if len(found) > 1:
            look = self._look(scope, key)
            found = [each for each in found if look is not None and each[0] == look.main] or found
        rows = (unpack_row(MessageRow, row) for _, _, row in found)
        return min(rows, key=lambda row: (row.source, row.index), default=None)

    def list_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[MessageRow]:
        """Return the messages that have some indexes, in order; those that are not there are left out."""
        if not indexes:
            return []
        rows = self._select_chapter(
            scope, key, source, rows_of(MESSAGES, "row", _AT), {"numbers": sorted(set(indexes))}
        )
        return unpack_rows(MESSAGES, (row for (row,) in rows))

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
        if where == EVERY_MESSAGE:
            return self._list_range(scope, key, source, first, first + count)
        within = f"{CHAPTER} AND idx >= {{first:Int64}}"
        return self._list_wanted(scope, key, source, where, within, "idx", {"first": first, "count": count})

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
        if where == EVERY_MESSAGE:
            rows = self._list_range(scope, key, source, last - count, last)
            if len(rows) == min(count, last):
                return rows  # else there are not so many
        within = f"{CHAPTER} AND idx < {{last:Int64}}"
        return self._list_wanted(scope, key, source, where, within, "idx DESC", {"last": last, "count": count})

    def list_calls_of(
        self, scope: Scope, key: str, messages: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls that some messages of a chapter made, in order."""
        if not messages:
            return []
        query = rows_like(CALLS, "message, row", "message IN {numbers:Array(Int64)}")
        rows = self._select_chapter(scope, key, source, query, {"numbers": sorted(set(messages))})
        return unpack_rows(CALLS, (row for _, row in rows))

    def list_calls_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls of a chapter that have some indexes, in order."""
        if not indexes:
            return []
        rows = self._select_chapter(
            scope, key, source, rows_of(CALLS, "row", _AT), {"numbers": sorted(set(indexes))}
        )
        return unpack_rows(CALLS, (row for (row,) in rows))

    def _list_range(self, scope: Scope, key: str, source: str | None, first: int, end: int) -> list[MessageRow]:
        first = max(first, 0)
        within, values = in_range(first, end - first)
        query = rows_of(MESSAGES, "row", within)
        rows = self._select_chapter(scope, key, source, query, values) if first < end else []
        return unpack_rows(MESSAGES, (row for (row,) in rows))

    def _list_wanted(
        self,
        scope: Scope,
        key: str,
        source: str | None,
        where: MessageFilter,
        within: str,
        order: str,
        values: dict[str, Any],
    ) -> list[MessageRow]:
        wanted = {
            "lane": where.lanes,
            "role": where.roles,
            "category": where.categories,
            "agent": where.agent_id,
            "branch": where.branch,
            "active": where.active,
        }
        conditions, given = build_conditions(wanted)
        asked = ", ".join(("idx", *(column for column, value in wanted.items() if value is not None)))
        found = f"""
        SELECT idx FROM ({rows_of(MESSAGES, asked, within)}) WHERE {conditions or "true"}
        ORDER BY {order} LIMIT {{count:UInt64}}
        """
        query = rows_of(MESSAGES, "row", f"{CHAPTER} AND idx IN ({found})")
        rows = self._select_chapter(scope, key, source, query, {**values, **given})
        return unpack_rows(MESSAGES, (row for (row,) in rows))
