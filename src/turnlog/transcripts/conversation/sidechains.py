"""Spec 003's two columns: what is said, and beside it what was done for it.

The main flow keeps prompts and every answer that says something. What an answer did, and what was done after it
without a word, is grouped under it. Work that began without a word is grouped under its own first message.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.tree import Tree
from turnlog.transcripts.lines.kinds import Role

_HEADS = frozenset({Role.USER, Role.SUMMARY})


class SidechainGroup(Struct, frozen=True, gc=False):
    """What was done for one message."""

    head: Message
    """The answer that it goes with; where nothing was said, the first message that only calls tools."""
    calls: tuple[Call, ...]

    def __repr__(self) -> str:
        return f"SidechainGroup(head={self.head.id!r}, calls={len(self.calls)})"


class Panel(Struct, frozen=True, gc=False):
    """A conversation in two columns."""

    main: tuple[Message, ...]
    """What is said, in file order."""
    groups: tuple[SidechainGroup, ...]
    """What was done, in the order of what it goes with."""

    def __repr__(self) -> str:
        return f"Panel(main={len(self.main)}, groups={len(self.groups)})"


def build_panel(messages: Sequence[Message], tree: Tree, lane: Lane = Lane.MAIN) -> Panel:
    """Return the main conversation in two columns; with `Lane.AGENT`, that of sub-agents."""
    inside = [message for message in messages if (message.lane is Lane.AGENT) is (lane is Lane.AGENT)]
    heads: dict[int, int] = {}
    calls: dict[int, list[Call]] = {}
    for message in inside:
        head = _find_head(message, tree, heads)
        if head is not None:
            heads[message.index] = head
            calls.setdefault(head, []).extend(message.calls)
    return Panel(
        tuple(message for message in inside if message.role not in (Role.TOOL_USE, Role.TOOL_RESULT)),
        tuple(SidechainGroup(messages[head], tuple(done)) for head, done in sorted(calls.items()) if done),
    )


def _find_head(message: Message, tree: Tree, heads: dict[int, int]) -> int | None:
    """Return the message under which this one's calls are grouped; None where a new stretch begins."""
    if message.role in _HEADS:
        return None
    if message.role is Role.ASSISTANT:
        return message.index
    parent = tree.parents[message.index]
    above = None if parent is None else heads.get(parent)
    if above is None and message.role is Role.TOOL_USE:
        return message.index
    return above
