"""Going through a chapter: which messages a window has, in both directions from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from turnlog.server.errors import InvalidRequestError, NotFoundError
from turnlog.store.identity import Scope
from turnlog.store.interface import Store
from turnlog.store.rows import MessageRow
from turnlog.store.windows import MessageFilter
from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.lines.categories import Category, Role

__all__ = [
    "Asked",
    "Chapter",
    "Found",
    "ask_window",
    "build_filter",
    "find_chapter",
    "find_window",
    "name_result_lane",
]

_END = "end"
_AT_ONCE = 200
"""Messages that are looked through together for results."""
_TAKEN_OUT = re.compile(r"(.+)_(?:tool|result)_\d+", re.DOTALL)
_LONGEST_INDEX = 15
"""Digits; a longer number is no index, and may be an id."""


class Asked(Struct, frozen=True):
    """Where a window is to be, as people ask for it."""

    source: str | None
    agent: str | None
    around: str | None
    before: int | None
    after: int | None
    limit: int


class Chapter(Struct, frozen=True):
    """One file of a session, with what is wanted of it."""

    store: Store
    scope: Scope
    key: str
    source: str | None
    """None is the transcript."""
    where: MessageFilter
    has_results: bool = False
    """Whether results are asked for, which are no rows: then those messages are wanted that show some."""

    def list_before(self, last: int, count: int) -> list[MessageRow]:
        """Return messages above an index."""
        if not self.has_results:
            return self._list_before(last, count, self.where)
        found: list[MessageRow] = []
        while rows := self._list_before(last, _AT_ONCE, self._widen()):
            last = rows[0].index
            if self._take(found, reversed(rows), count):
                break
        return found[::-1]

    def list_after(self, first: int, count: int) -> list[MessageRow]:
        """Return messages from an index on."""
        if not self.has_results:
            return self._list_after(first, count, self.where)
        found: list[MessageRow] = []
        while rows := self._list_after(first, _AT_ONCE, self._widen()):
            first = rows[-1].index + 1
            if self._take(found, rows, count):
                break
        return found

    def is_wanted(self, row: MessageRow) -> bool:
        """Tell whether a message is wanted for itself, and not for the results that it shows."""
        where = self.where
        return not self.has_results or (
            (where.roles is None or row.role in where.roles)
            and (where.lanes is None or row.lane in where.lanes)
            and (where.categories is None or row.category in where.categories)
        )

    def is_shown_by(self, row: MessageRow) -> bool:
        """Tell whether the results are wanted that a message shows; they have no category."""
        lanes = self.where.lanes
        return self.where.categories is None and (lanes is None or name_result_lane(row) in lanes)

    def count_items(self, rows: Sequence[MessageRow]) -> int:
        """Return how many messages and results there are to tell of."""
        return sum(self._count_items(rows).values()) if self.has_results else len(rows)

    def _take(self, found: list[MessageRow], rows: Iterable[MessageRow], count: int) -> bool:
        """Take rows until there are so many items; tell whether there are. Results of a row stay together."""
        rows = list(rows)
        left = count - self.count_items(found)
        for row, items in zip(rows, self._count_items(rows).values(), strict=True):
            if items > left and found:
                return True
            if items:
                found.append(row)
                left -= items
        return left <= 0

    def _count_items(self, rows: Sequence[MessageRow]) -> dict[int, int]:
        counts = {row.index: int(self.is_wanted(row)) for row in rows}
        told = {row.index: row for row in rows if row.calls}
        if told:
            calls = self.store.list_calls_of(self.scope, self.key, sorted(told), source=rows[0].source)
            for call in calls:
                row = told.get(-1 if call.message is None else call.message)
                if row is not None and call.result_at is not None and call.result_at in row.lines:
                    counts[row.index] += self.is_shown_by(row)
        return counts

    def _widen(self) -> MessageFilter:
        return replace(self.where, roles=None, lanes=None, categories=None)

    def _list_before(self, last: int, count: int, where: MessageFilter) -> list[MessageRow]:
        return self.store.list_before(
            self.scope, self.key, source=self.source, last=last, count=count, where=where
        )

    def _list_after(self, first: int, count: int, where: MessageFilter) -> list[MessageRow]:
        return self.store.list_after(
            self.scope, self.key, source=self.source, first=first, count=count, where=where
        )

    def count(self) -> int:
        """Return how many messages there are, wanted or not."""
        return self.store.count_messages(self.scope, self.key, source=self.source)


class Found(Struct, frozen=True):
    """The messages of a window."""

    chapter: Chapter
    rows: Sequence[MessageRow]
    anchor: int
    """Which of them it is about."""
    at: int
    """The index at which it is, if there are none."""


def ask_window(
    store: Store, scope: Scope, key: str, asked: Asked, where: MessageFilter, *, has_results: bool = False
) -> Found:
    """Return the messages of the window that is asked for; raises `RequestError` for what cannot be.

    With `has_results` the role `tool_result` means the results that are shown with messages, too.
    """
    if sum(each is not None for each in (asked.around, asked.before, asked.after)) > 1:
        raise InvalidRequestError("Only one of around, before and after can be given")
    if asked.source is not None and asked.agent is not None:
        raise InvalidRequestError("Only one of source and agent can be given")
    has_results = has_results and where.roles is not None and Role.TOOL_RESULT in where.roles
    chapter = find_chapter(Chapter(store, scope, key, asked.source, where, has_results), asked.agent)
    return find_window(chapter, asked.around, asked.before, asked.after, asked.limit)


def build_filter(
    lanes: list[Lane] | None,
    roles: list[Role] | None,
    categories: list[Category] | None,
    branch: int | None,
    active: bool | None,
) -> MessageFilter:
    """Return which messages are wanted."""
    return MessageFilter(
        lanes=_words(lanes), roles=_words(roles), categories=_words(categories), branch=branch, active=active
    )


def find_chapter(chapter: Chapter, agent: str | None) -> Chapter:
    """Return the chapter of a sub-agent, or the given one if it is there; raises `NotFoundError`.

    An agent that speaks in the transcript is told apart by its id.
    """
    if agent is not None:
        for row in chapter.store.list_agents(chapter.scope, chapter.key):
            if row.id == agent:
                where = chapter.where if row.file is not None else replace(chapter.where, agent_id=agent)
                return replace(chapter, source=row.file, where=where)
        raise NotFoundError("There is no such agent")
    if chapter.source is not None and not chapter.count():
        known = chapter.store.find_known(chapter.scope, chapter.key)
        if known is None or all(each.source != chapter.source for each in known.sources):
            raise NotFoundError("There is no such file")
    return chapter


def find_window(
    chapter: Chapter, around: str | None, before: int | None, after: int | None, limit: int
) -> Found:
    """Return the messages of a window, at the start if nothing else is said; raises `NotFoundError`."""
    if before is not None:
        rows = chapter.list_before(before, limit)
        return Found(chapter, rows, max(len(rows) - 1, 0), before)
    if around is None:
        first = 0 if after is None else after + 1
        return Found(chapter, chapter.list_after(first, limit), 0, first)
    chapter, at = _find_middle(chapter, around)
    below = chapter.list_after(at, limit - limit // 2)
    left = limit - chapter.count_items(below)
    above = chapter.list_before(at, left) if left > 0 else []
    return Found(chapter, [*above, *below], len(above) if below else max(len(above) - 1, 0), at)


def _find_middle(chapter: Chapter, around: str) -> tuple[Chapter, int]:
    if around == _END:
        return chapter, chapter.count()
    if around.isascii() and around.isdigit() and len(around) <= _LONGEST_INDEX:
        return chapter, int(around)
    found = chapter.store.find_message(chapter.scope, chapter.key, around, source=chapter.source)
    taken = _TAKEN_OUT.fullmatch(around) if found is None else None
    if taken is not None:  # a call or a result, which is shown with the message that holds the call
        found = chapter.store.find_message(chapter.scope, chapter.key, taken[1], source=chapter.source)
    if found is None:
        raise NotFoundError("There is no such message")
    return replace(chapter, source=found.source), found.index


def name_result_lane(row: MessageRow) -> Lane:
    """Return the lane of the results that are shown with a message."""
    return Lane.AGENT if row.lane == Lane.AGENT else Lane.TOOL


def _words(given: Sequence[StrEnum] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(each.value for each in given)
