"""What hooks told, put between the messages of a session, and the lines that tell of hooks as well.

A hook event stands under the message that made the call which it is about, in any file of the session that has
that message. Any other stands under the last message that is not later: the last one of its file whose
`reached` is not behind the time at which the event came. It is of the file of the sub-agent in which it
happened, if that has one; the start and the end of a sub-agent are of the main conversation. So its place
follows from what is there, whatever came first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from turnlog.store.identity import Place, Scope
from turnlog.store.rows import PlacementRow
from turnlog.transcripts.hooks.matching import Told

__all__ = [
    "FIRST_EVENTS",
    "LONGEST_CONTEXT",
    "PARENTS_EVENTS",
    "HookFact",
    "EventFact",
    "HookPlace",
    "HooksUnder",
    "TimelineStore",
    "rank_hook",
]

PARENTS_EVENTS = ("SubagentStart", "SubagentStop")
"""Events that name a sub-agent, but are of whoever started it."""
FIRST_EVENTS = ("PreToolUse", "PermissionRequest")
"""Events about a call that stand right behind the message which makes it."""
LONGEST_CONTEXT = 60_000
"""Characters; a longer context is left out."""


class HookFact(Struct, frozen=True, gc=False, kw_only=True):
    """A hook delivery without its payload."""

    id: int
    """Its number in this store."""
    delivery_id: str
    received_ns: int
    event_name: str
    notification_type: str | None
    tool_name: str | None
    label: str | None
    group_name: str | None
    context: str | None
    """As JSON; None also if it is too long."""
    tool_use_id: str | None
    agent_id: str | None

    @property
    def told(self) -> Told:
        """What decides which lines tell of the same event."""
        return Told(self.event_name, self.tool_use_id, self.received_ns // 1000, self.delivery_id)


class HooksUnder(Struct, frozen=True):
    """Hook events under some messages."""

    hooks: tuple[tuple[int | None, HookFact], ...]
    """Each with the index of its message, None above the first; in the order in which they stand."""
    total: int
    """How many there are, also those that are too many."""


class HookPlace(Struct, frozen=True, gc=False):
    """Where a hook event stands in a session."""

    source: str | None
    """The file; None if the session has none for it."""
    message: int | None


class EventFact(Struct, frozen=True, gc=False):
    """A line by which something happened."""

    row: PlacementRow
    place: Place
    """Where the line begins."""

    @property
    def told(self) -> Told:
        """If it tells of a hook event, what decides which delivery tells of the same."""
        return Told(self.row.hook or "", self.row.tool_use_id, self.row.time)


def rank_hook(fact: HookFact, is_of_call: bool) -> tuple[bool, int, str]:
    """Return what hook events under one message are ordered by."""
    return (not (is_of_call and fact.event_name in FIRST_EVENTS), fact.received_ns, fact.delivery_id)


class TimelineStore(Protocol):
    """What is asked to show a part of the timeline; the work depends on the part, not on the session."""

    def list_hooks_under(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        messages: Sequence[int],
        *,
        source: str | None = None,
        above: bool = False,
        count: int = 1000,
    ) -> HooksUnder:
        """Return the hook events that stand under messages of a chapter; with `above`, those before the first.

        No more than `count`: then those that came first.
        """

    def list_hooks_at(self, scope: Scope, session_id: str, ids: Sequence[int]) -> list[HookFact]:
        """Return hook events of a session by their numbers, in the order of these."""

    def find_hook_places(
        self, scope: Scope, key: str, session_id: str, ids: Sequence[int]
    ) -> dict[int, HookPlace]:
        """Return where hook events stand, by their numbers: in the transcript, or else in an agent's file."""

    def list_hooks_near(self, scope: Scope, session_id: str, lines: Sequence[Told]) -> list[HookFact]:
        """Return the hook events that lines may tell of: about the same call, or near in time."""

    def list_hook_lines(self, scope: Scope, key: str, hooks: Sequence[Told]) -> list[EventFact]:
        """Return the lines of a session that may tell of hook events, by file and number."""

    def list_events_at(self, scope: Scope, key: str, lines: Sequence[tuple[str, int]]) -> list[EventFact]:
        """Return lines of a session by file and number, in the order of these; only those that are events."""

    def find_turns(self, scope: Scope, key: str, times: Sequence[int]) -> dict[int, int]:
        """Return the turn that was under way at times, in microseconds; before all prompts there is none."""
