"""Going through a chapter: which messages a window has, in both directions from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
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

__all__ = ["Asked", "Chapter", "Found", "ask_window", "build_filter", "find_chapter", "find_window"]

_END = "end"
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

    def list_before(self, last: int, count: int) -> list[MessageRow]:
        """Return messages above an index."""
        return self.store.list_before(
            self.scope, self.key, source=self.source, last=last, count=count, where=self.where
        )

    def list_after(self, first: int, count: int) -> list[MessageRow]:
        """Return messages from an index on."""
        return self.store.list_after(
            self.scope, self.key, source=self.source, first=first, count=count, where=self.where
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


def ask_window(store: Store, scope: Scope, key: str, asked: Asked, where: MessageFilter) -> Found:
    """Return the messages of the window that is asked for; raises `RequestError` for what cannot be."""
    if sum(each is not None for each in (asked.around, asked.before, asked.after)) > 1:
        raise InvalidRequestError("Only one of around, before and after can be given")
    if asked.source is not None and asked.agent is not None:
        raise InvalidRequestError("Only one of source and agent can be given")
    chapter = find_chapter(Chapter(store, scope, key, asked.source, where), asked.agent)
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
    above = chapter.list_before(at, limit - len(below))
    return Found(chapter, [*above, *below], len(above) if below else max(len(above) - 1, 0), at)


def _find_middle(chapter: Chapter, around: str) -> tuple[Chapter, int]:
    if around == _END:
        return chapter, chapter.count()
    if around.isascii() and around.isdigit() and len(around) <= _LONGEST_INDEX:
        return chapter, int(around)
    found = chapter.store.find_message(chapter.scope, chapter.key, around, source=chapter.source)
    if found is None:
        raise NotFoundError("There is no such message")
    return replace(chapter, source=found.source), found.index


def _words(given: Sequence[StrEnum] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(each.value for each in given)
