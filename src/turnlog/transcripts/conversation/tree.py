"""The conversation as a tree: which message follows which, where it forks, and which branch is in use.

Messages follow each other as their lines do (`lineage`); what is hidden is passed through. A node with several
children is hardly ever a fork: parallel calls, hooks and retries make most of them. A fork is two prompts that
a person typed at different times under one parent, be it that one of them was never answered. Commands that
nothing follows (`/status`) never reached the model, and make no fork. Where there are several roots, each is a
conversation of its own.

Branches are cut at the forks: the trunk ends where the first fork is, and each prompt of a fork begins a
branch. The active one is where the lines say so (`is_active`, spec 004), else where the newest message stands.

Messages that come later hang below others. Where they change the parents of earlier ones, or make a fork, the
tree is built anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.conversation.branches import Branches, Forks, Way
from turnlog.transcripts.conversation.edges import Edges
from turnlog.transcripts.conversation.lineage import Lineage
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Placement


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
    builder = TreeBuilder(lines, lineage.parents, lineage.forward, messages, placements)
    builder.extend(0, 0)
    return builder.build(lineage)


class TreeBuilder:
    """The tree of messages that become more."""

    def __init__(
        self,
        lines: Sequence[Line],
        lineage: Sequence[int | None],
        forward: bool,
        messages: Sequence[Message],
        placements: Sequence[Placement],
    ) -> None:
        """Take lines, the line that each follows, whether any follows one further down, and the messages."""
        self.edges = Edges(lineage, forward, messages, placements)
        self.way = Way(lines, messages, placements, self.edges)
        self._forks = Forks(messages, self.edges)
        self._branches = Branches(self.edges)

    @property
    def branch_of(self) -> Sequence[int]:
        """The branch of each message."""
        return self._branches.branch_of

    def extend(self, message: int, line: int) -> frozenset[int] | None:
        """Take all messages from one on, which are new, and lines from one on, which may have moved.

        Return the messages before that came on the active way or off it; None if more has changed, so that all
        has to be built anew.
        """
        self.way.shorten(message)
        self._forks.shorten(message)
        steady = self._branches.shorten(message)
        steady = self.edges.extend(message, line) and steady
        steady = not self._forks.extend(message) and steady
        if message and not steady:
            return None
        if not self._branches.extend(message, self._forks.found):
            return None
        return self.way.extend(message)

    def build(self, lineage: Lineage) -> Tree:
        """Return the tree; `lineage` is that of its lines."""
        parents = self.edges.parents
        return Tree(
            parents=tuple(parents),
            children={
                own: tuple(found) for own in range(len(parents)) if (found := self.edges.list_children(own))
            },
            roots=tuple([index for index, parent in enumerate(parents) if parent is None]),
            branches=self._list_branches(),
            branch_of=tuple(self.branch_of),
            forks=dict(self._forks.found),
            active=tuple(self.way.path) if self.way.is_active else (),
            anchors=tuple(self.edges.nearest),
            lineage=lineage,
        )

    def finish(self) -> None:
        """Let go of all but parents, branches and the way."""
        self.edges.finish()
        self._forks = Forks((), self.edges)

    def _list_branches(self) -> tuple[Branch, ...]:
        members: list[list[int]] = [[] for _ in self._branches.origins]
        for message, branch in enumerate(self.branch_of):
            members[branch].append(message)
        active = frozenset(self.way.path) if self.way.is_active else frozenset[int]()
        return tuple(
            Branch(number, parent, fork, tuple(members[number]), not active.isdisjoint(members[number]))
            for number, (parent, fork) in enumerate(self._branches.origins)
        )
