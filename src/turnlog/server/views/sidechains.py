"""Spec 003's second column: what was done, grouped under what was said, from outlines alone.

`transcripts.build_panel` has the rule; here it is followed without reading a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from turnlog.store.windows import CallOutline, MessageOutline
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.lines.categories import Category, Role

__all__ = ["Group", "group_calls"]

_HEADS = frozenset({Role.USER.value, Role.SUMMARY.value})
_AGENT, _ASSISTANT, _TOOL_USE = Lane.AGENT.value, Role.ASSISTANT.value, Role.TOOL_USE.value


class Group(Struct, frozen=True, gc=False):
    """What was done for one message."""

    head: int
    """The index of that message."""
    calls: tuple[CallOutline, ...]

    @property
    def failed(self) -> int:
        """How many of the calls failed."""
        return sum(call.state == CallState.FAILED for call in self.calls)

    @property
    def categories(self) -> dict[Category, int]:
        """How many calls there are of each category."""
        return dict(sorted(Counter(Category(call.category) for call in self.calls).items()))

    @property
    def took(self) -> tuple[int | None, int | None]:
        """When the first call began, and the last one ended."""
        started = [call.started for call in self.calls if call.started is not None]
        ended = [call.ended for call in self.calls if call.ended is not None]
        return min(started, default=None), max(ended, default=None)


def group_calls(messages: Iterable[MessageOutline], calls: Iterable[CallOutline]) -> list[Group]:
    """Return the groups of the main conversation, in the order of what they go with."""
    heads: dict[int, int] = {}
    for message in messages:
        if message.lane != _AGENT:
            head = _find_head(message, heads)
            if head is not None:
                heads[message.index] = head
    done: dict[int, list[CallOutline]] = {}
    for call in calls:
        head = None if call.message is None else heads.get(call.message)
        if head is not None:
            done.setdefault(head, []).append(call)
    return [Group(head, tuple(of_head)) for head, of_head in sorted(done.items())]


def _find_head(message: MessageOutline, heads: dict[int, int]) -> int | None:
    if message.role == _ASSISTANT:
        return message.index
    if message.role in _HEADS:
        return None
    above = None if message.parent is None else heads.get(message.parent)
    return message.index if above is None and message.role == _TOOL_USE else above
