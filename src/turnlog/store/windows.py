"""Windows of a conversation: some messages next to each other, wherever they are, and what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from turnlog.store.identity import Place, Scope
from turnlog.store.rows import CallRow, MessageRow

__all__ = [
    "EVERY_CALL",
    "EVERY_MESSAGE",
    "AnswerUse",
    "BranchRange",
    "CallFilter",
    "CallOutline",
    "CallRange",
    "FileCounts",
    "FlawedLine",
    "MessageFilter",
    "MessageOutline",
    "TurnCall",
    "WindowedStore",
]


class MessageFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which messages of a chapter are wanted; None is any."""

    lanes: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    branch: int | None = None
    agent_id: str | None = None
    """Of the sub-agent that they are of."""
    active: bool | None = None
    """Those on the way to the newest message, or the others."""


EVERY_MESSAGE = MessageFilter()


class CallFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which calls are wanted; None is any."""

    categories: tuple[str, ...] | None = None
    states: tuple[str, ...] | None = None
    name: str | None = None
    """Of the tool."""


EVERY_CALL = CallFilter()


class CallRange(Struct, frozen=True, gc=False):
    """Some calls next to each other."""

    calls: tuple[CallRow, ...]
    total: int
    """How many are wanted in all."""


class MessageOutline(Struct, frozen=True, gc=False, array_like=True):
    """What of a message says where it belongs; all those of a long chapter can be looked at."""

    index: int
    role: str
    lane: str
    parent: int | None


class CallOutline(Struct, frozen=True, gc=False, array_like=True):
    """What of a call is counted."""

    index: int
    message: int | None
    category: str
    state: str
    started: int | None
    ended: int | None


class TurnCall(Struct, frozen=True, gc=False, array_like=True):
    """What of a call is shown of a turn at a glance."""

    turn: int
    category: str
    state: str
    started: int | None
    ended: int | None


class FileCounts(Struct, frozen=True, gc=False, kw_only=True):
    """How much there is, of the newest generations."""

    sessions: int
    only_here: int
    """Sessions of which no file is still outside."""
    files: int
    bytes: int
    lines: int


class BranchRange(Struct, frozen=True, gc=False, kw_only=True):
    """A branch of a chapter, as its messages tell it."""

    index: int
    first: int
    """The index of its first message."""
    last: int
    parent: int | None
    """The message that its first one follows."""
    messages: int
    active: bool
    """Whether it leads to the newest message."""


class FlawedLine(Struct, frozen=True, gc=False, kw_only=True):
    """A line in which something is wrong or unknown."""

    place: Place
    number: int
    path: str
    """Of its file, where it was last seen."""


class AnswerUse(Struct, frozen=True, gc=False, kw_only=True):
    """What one answer of the model used, as it is counted."""

    message_id: str
    """The API's id, or what stands for it."""
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: int | None
    """In pico-dollars; None if its model has no price."""


class WindowedStore(Protocol):
    """What is asked to show a part of a session; the work depends on the part, not on the session."""

    def count_messages(self, scope: Scope, key: str, *, source: str | None = None) -> int:
        """Return how many messages a chapter has: without `source`, the transcript."""

    def find_message(self, scope: Scope, key: str, id: str, *, source: str | None = None) -> MessageRow | None:
        """Return the message with an id, of one chapter or any; of several, the transcript's or the first."""

    def list_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[MessageRow]:
        """Return the messages that have some indexes, in order; those that are not there are left out."""

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

    def list_calls_of(
        self, scope: Scope, key: str, messages: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls that some messages of a chapter made, in order."""

    def list_calls_at(
        self, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        """Return the calls of a chapter that have some indexes, in order."""

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
        """Return some of the calls that are wanted, in the order of `list_calls`.

        Without `source`, they are those of all chapters.
        """

    def list_outline(
        self, scope: Scope, key: str, *, source: str | None = None, first: int = 0, count: int | None = None
    ) -> list[MessageOutline]:
        """Return how the messages of a chapter belong together, from an index on."""

    def list_call_outline(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallOutline]:
        """Return what is counted of a chapter's calls."""

    def count_turns(self, scope: Scope, key: str) -> int:
        """Return how many turns a session has."""

    def list_turn_calls(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[TurnCall]:
        """Return the calls that the transcript's messages of some turns made: by turn, and then in order."""

    def count_files(self, scope: Scope) -> FileCounts:
        """Return how much there is of all sessions."""

    def list_branches(self, scope: Scope, key: str, *, source: str | None = None) -> list[BranchRange]:
        """Return the branches of a chapter, by their numbers."""

    def list_flawed(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[FlawedLine]:
        """Return lines of the newest generations that have problems, by source and number."""

    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""

    def find_usage_version(self, scope: Scope, key: str) -> int:
        """Return a number that is another one as soon as `find_answers` tells otherwise of a session's answers.

        Answers stand in several sessions, and each counts once: what it used may change with a session that
        is not this one, whose revision stays as it is.
        """

    def measure_lines(self, scope: Scope, places: Sequence[Place]) -> list[int]:
        """Return how long lines are, one for each place; raises `KeyError` where no line begins."""

    def read_lines(self, scope: Scope, places: Sequence[Place]) -> list[bytes]:
        """Return lines as they stand, one for each place.

        Raises `KeyError` where no line begins, and `ArchiveError` for what is damaged.
        """
