"""The conversation as a tree: which message follows which, where it forks, and which branch is in use.

Messages follow each other as their lines do (`lineage`); what is hidden is passed through. A node with several
children is hardly ever a fork: parallel calls, hooks and retries make most of them. A fork is two prompts that
a person typed at different times under one parent, be it that one of them was never answered. Commands that
nothing follows (`/status`) never reached the model, and make no fork. Where there are several roots, each is a
conversation of its own.

Branches are cut at the forks: the trunk ends where the first fork is, and each prompt of a fork begins a
branch. The active one is where the lines say so (`is_active`, spec 004), else where the newest message stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.conversation.lineage import Lineage, cut_circles
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import FATES, Fate, Placement, Rule
from turnlog.transcripts.lines.authors import Author
from turnlog.transcripts.lines.categories import Role

__all__ = ["Branch", "Tree", "build_tree"]

_OWN = frozenset({rule for rule, fate in FATES.items() if fate is Fate.SHOWN} | {Rule.PART, Rule.THINKING})
"""The rules of lines that a message is made of, and that are not merely shown with it."""
_PROMPT, _COMMAND, _MAIN = Rule.PROMPT, Rule.COMMAND, Lane.MAIN
_SPOKEN = frozenset({Role.USER, Role.ASSISTANT, Role.TOOL_USE, Role.TOOL_RESULT, Role.SUMMARY})


class Branch(Struct, frozen=True, gc=False):
    """A stretch of the conversation between forks. Messages are known by their index."""

    index: int
    parent: int | None
    """The branch that it leaves."""
    fork: int | None
    """The message behind which it begins; None for a trunk."""
    messages: tuple[int, ...]
    """In file order; never empty."""
    active: bool
    """Whether the way to the active leaf leads through it."""


class Tree(Struct, frozen=True, gc=False):
    """Which message follows which; messages are known by their index."""

    parents: tuple[int | None, ...]
    children: Mapping[int, tuple[int, ...]]
    """Of those that have any, in file order."""
    roots: tuple[int, ...]
    branches: tuple[Branch, ...]
    branch_of: tuple[int, ...]
    """The branch of each message."""
    forks: Mapping[int, tuple[int, ...]]
    """The prompts that were typed under one message, for each message with several."""
    active: tuple[int, ...]
    """The way from a root to the message that is the newest, or said to be the active one."""
    anchors: tuple[int | None, ...]
    """The message of each line, or for a line without one the message that it follows."""
    lineage: Lineage
    """The same for lines, with every parent that is not an edge."""

    def list_path(self, message: int) -> list[int]:
        """Return the way from the root to a message, both included."""
        path = [message]
        while (above := self.parents[path[-1]]) is not None:
            path.append(above)
        return path[::-1]


def build_tree(
    lines: Sequence[Line], lineage: Lineage, messages: Sequence[Message], placements: Sequence[Placement]
) -> Tree:
    """Return the tree of the messages of some lines."""
    anchors, parents = _link_messages(lines, lineage, messages, placements)
    children: dict[int, list[int]] = {}
    for index, parent in enumerate(parents):
        if parent is not None:
            children.setdefault(parent, []).append(index)
    forks = _find_forks(messages, parents, children)
    active = _find_active(lines, messages, placements, parents)
    branches, branch_of = _build_branches(parents, children, forks, frozenset(active))
    return Tree(
        parents=tuple(parents),
        children={index: tuple(found) for index, found in children.items()},
        roots=tuple(index for index, parent in enumerate(parents) if parent is None),
        branches=branches,
        branch_of=branch_of,
        forks=forks,
        active=active,
        anchors=tuple(anchors),
        lineage=lineage,
    )


def _link_messages(
    lines: Sequence[Line], lineage: Lineage, messages: Sequence[Message], placements: Sequence[Placement]
) -> tuple[list[int | None], list[int | None]]:
    """Return the message at or above each line, and the one that each message follows."""
    nearest: list[int | None] = [None] * len(lines)
    above: list[int | None] = [None] * len(lines)
    begun = bytearray(len(messages))
    for index in lineage.list_in_order():
        parent, own = lineage.parents[index], placements[index].message
        above[index] = None if parent is None else nearest[parent]
        if own is not None:
            begun[own] |= placements[index].rule in _OWN
        # What is folded into a message that begins only later says nothing of where that message stands.
        nearest[index] = above[index] if own is None or not begun[own] else own
    parents: list[int | None] = [None] * len(messages)
    for index in reversed(range(len(lines))):
        message, found = placements[index].message, above[index]
        if message is not None and found is not None and found != message and placements[index].rule in _OWN:
            parents[message] = found
    if lineage.forward or any(parent is not None and parent >= own for own, parent in enumerate(parents)):
        cut_circles(parents)
    return nearest, parents


def _find_forks(
    messages: Sequence[Message], parents: Sequence[int | None], children: Mapping[int, list[int]]
) -> dict[int, tuple[int, ...]]:
    """Return the prompts under each message that has several, typed at different times."""
    typed: dict[int, list[int]] = {}
    for message in messages:
        counts = message.rule is _PROMPT or (message.rule is _COMMAND and message.index in children)
        if counts and message.lane is _MAIN:
            parent = _find_spoken(messages, parents, message.index)
            if parent is not None:
                typed.setdefault(parent, []).append(message.index)
    forks: dict[int, tuple[int, ...]] = {}
    for parent, found in typed.items():
        if len(found) > 1:
            by_hand = [index for index in found if messages[index].author is Author.HUMAN]
            if len({getattr(messages[index].lines[0].entry, "timestamp", index) for index in by_hand}) > 1:
                forks[parent] = tuple(by_hand)
    return forks


def _find_spoken(messages: Sequence[Message], parents: Sequence[int | None], index: int) -> int | None:
    """Return the nearest message above that is part of what was said, or None."""
    above = parents[index]
    while above is not None and messages[above].role not in _SPOKEN:
        above = parents[above]
    return above


def _is_newest(message: Message) -> bool:
    """Tell whether a message, being the last, is where the conversation stands."""
    return message.lane is not Lane.AGENT and message.rule is not Rule.WAITING and message.role in _SPOKEN


def _find_active(
    lines: Sequence[Line],
    messages: Sequence[Message],
    placements: Sequence[Placement],
    parents: Sequence[int | None],
) -> tuple[int, ...]:
    told = [at for at, line in enumerate(lines) if getattr(line.entry, "is_active", None) is True]
    at = next((found for index in reversed(told) if (found := placements[index].message) is not None), None)
    if at is None:
        at = next((message.index for message in reversed(messages) if _is_newest(message)), None)
    path: list[int] = []
    while at is not None:
        path.append(at)
        at = parents[at]
    return tuple(path[::-1])


def _build_branches(
    parents: Sequence[int | None],
    children: Mapping[int, list[int]],
    forks: Mapping[int, tuple[int, ...]],
    active: frozenset[int],
) -> tuple[tuple[Branch, ...], tuple[int, ...]]:
    starts = {prompt: fork for fork, prompts in forks.items() for prompt in prompts}
    branch_of = [0] * len(parents)
    origins: list[tuple[int | None, int | None]] = []
    members: list[list[int]] = []
    todo = [index for index in reversed(range(len(parents))) if parents[index] is None]
    while todo:
        index = todo.pop()
        parent = parents[index]
        if parent is None or index in starts:
            branch_of[index] = len(origins)
            origins.append((None if parent is None else branch_of[parent], starts.get(index)))
            members.append([])
        else:
            branch_of[index] = branch_of[parent]
        members[branch_of[index]].append(index)
        todo += reversed(children.get(index, ()))
    branches = tuple(
        Branch(number, origin, fork, tuple(sorted(members[number])), not active.isdisjoint(members[number]))
        for number, (origin, fork) in enumerate(origins)
    )
    return branches, tuple(branch_of)
