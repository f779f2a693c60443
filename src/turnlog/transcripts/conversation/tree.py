"""The conversation as a tree: which message follows which, where it forks, and which branch is in use.

Messages follow each other as their lines do; what is hidden is passed through. A node with several children is
hardly ever a fork: parallel calls, hooks and retries make most of them. A fork is two prompts that a person
typed at different times under one parent, be it that one of them was never answered. Commands that nothing
follows (`/status`) never reached the model, and make no fork. Where there are several roots, each is a
conversation of its own.

Branches are cut at the forks: the trunk ends where the first fork is, and each prompt of a fork begins a
branch. The active one is where the lines say so (`is_active`, spec 004), else where the newest message stands.

Messages that come later hang below others. Where they change the parents of earlier ones, or make a fork, the
tree is built anew.

Spec 003 shows two columns: what is said, and beside it what was done for it. The main flow keeps prompts and
every answer that says something. What an answer did, and what was done after it without a word, is grouped
under it. Work that began without a word is grouped under its own first message.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.calls import Call
from turnlog.transcripts.conversation.lineage import Lineage, cut_circles, is_forward, list_in_order
from turnlog.transcripts.conversation.messages import DISPLAYS, Lane, LineDisplay, Message, Placement, Rule
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.lines.content import Author

_OWN = frozenset(
    {rule for rule, display in DISPLAYS.items() if display is LineDisplay.SHOWN} | {Rule.PART, Rule.THINKING}
)
"""The rules of lines that a message is made of, and that are not merely shown with it."""
_NOWHERE = -1


class Edges:
    """The parents and children of messages that become more."""

    def __init__(
        self,
        lineage: Sequence[int | None],
        forward: bool,
        messages: Sequence[Message],
        placements: Sequence[Placement],
    ) -> None:
        """Take the line that each line follows, whether any follows one further down, and the messages."""
        self.parents: list[int | None] = []
        self._child = array("i")
        """The first message that follows each, or `_NOWHERE`."""
        self._others: dict[int, list[int]] = {}
        """Further ones, in file order: most messages have none."""
        self.nearest: list[int | None] = []
        """The message of each line, or for a line without one the message that it follows."""
        self._above: list[int | None] = []
        self._begun = bytearray()
        self._givers: list[int] = []
        """The line by which each message follows another."""
        self._lineage = lineage
        self._order: list[int] | None = [*list_in_order(lineage)] if forward else None
        self._messages = messages
        self._placements = placements

    def extend(self, message: int, line: int) -> bool:
        """Take messages and lines from one on; return False if earlier messages now follow others."""
        lines = len(self._lineage)
        steady = self._shorten(message)
        self._begun += bytes(len(self._messages) - len(self._begun))
        self.nearest[line:] = self._above[line:] = [None] * (lines - line)
        order: Sequence[int] = range(line, lines)
        if self._order is not None:
            self._order += range(len(self._order), lines)
            order = self._order[line:]
            steady = steady and (not line or order == [*range(line, lines)])
        self._link_lines(order)
        steady = self._link_messages(message, line) and steady
        new = range(message, len(self.parents))
        steady = steady and not any(map(is_forward, new, self.parents[message:]))
        if not message and (not steady or self._order is not None):
            cut_circles(self.parents)
        self._child.extend(_NOWHERE for _ in new)
        for own, parent in zip(new, self.parents[message:], strict=True):
            if parent is not None and self._child[parent] == _NOWHERE:
                self._child[parent] = own
            elif parent is not None:
                self._others.setdefault(parent, []).append(own)
        return steady

    def list_children(self, message: int) -> list[int]:
        """Return the messages that follow one, in file order."""
        return [self._child[message], *self._others.get(message, ())] if self.has_children(message) else []

    def has_children(self, message: int) -> bool:
        """Tell whether any message follows one."""
        return self._child[message] != _NOWHERE

    def finish(self) -> None:
        """Let go of all but the parents: nothing comes any more."""
        self._others.clear()
        del self._child[:]
        self.nearest.clear()
        self._above.clear()
        self._givers.clear()
        self._begun.clear()
        self._order, self._lineage = None, ()

    def _shorten(self, message: int) -> bool:
        """Take back all messages from one on; return False if an earlier one follows any of them."""
        steady = True
        for own in range(len(self.parents) - 1, message - 1, -1):
            parent = self.parents.pop()
            if parent is not None and parent < message:
                others = self._others.get(parent)
                if others is None:
                    self._child[parent] = _NOWHERE
                else:
                    others.pop()
                    if not others:
                        del self._others[parent]
            steady = steady and not any(child < message for child in self.list_children(own))
            self._others.pop(own, None)
        del self._begun[message:], self._givers[message:], self._child[message:]
        return steady

    def _link_lines(self, order: Iterable[int]) -> None:
        """Find the message at or above each line."""
        nearest, above, begun = self.nearest, self._above, self._begun
        lineage, placements, messages = self._lineage, self._placements, self._messages
        for index in order:
            parent, placement = lineage[index], placements[index]
            # Each number is kept once, however many lines are below it.
            own = None if placement.message is None else messages[placement.message].index
            over = above[index] = None if parent is None else nearest[parent]
            if own is None:
                nearest[index] = over
                continue
            if placement.rule in _OWN:
                begun[own] = True
            # What is folded into a message that begins only later says nothing of where that message stands.
            nearest[index] = own if begun[own] else over

    def _link_messages(self, message: int, line: int) -> bool:
        """Find what each message follows: what the first of its lines does that follows another message.

        Return False if that is something else for one before `message`.
        """
        missing = len(self._messages) - message
        self.parents += [None] * missing
        self._givers += [_NOWHERE] * missing
        parents, givers, above = self.parents, self._givers, self._above
        earlier: dict[int, int | None] = {}
        for index in range(len(self._lineage) - 1, line - 1, -1):
            placement, found = self._placements[index], above[index]
            own = placement.message
            if own is None or placement.rule not in _OWN:
                continue
            if own < message:
                if not 0 <= givers[own] < line:
                    earlier.setdefault(own, None)
                    if found is not None and found != own:
                        earlier[own], givers[own] = found, index
            elif found is not None and found != own:
                parents[own], givers[own] = found, index
        return all(parents[own] == found for own, found in earlier.items())


_PROMPT, _COMMAND, _MAIN = Rule.PROMPT, Rule.COMMAND, Lane.MAIN
SPOKEN = frozenset({Role.USER, Role.ASSISTANT, Role.TOOL_USE, Role.TOOL_RESULT, Role.SUMMARY})


class Forks:
    """The prompts that were typed under one message, at different times."""

    def __init__(self, messages: Sequence[Message], edges: Edges) -> None:
        self.found: dict[int, tuple[int, ...]] = {}
        """For each message with several."""
        self._messages = messages
        self._edges = edges
        self._typed: dict[int, list[int]] = {}
        """The prompts under each message, in file order."""
        self._under: dict[int, int] = {}
        """Under which message each prompt was typed."""
        self._count = 0
        self._commands: set[int] = set()
        self._changed: set[int] = set()

    def shorten(self, message: int) -> None:
        """Take back all messages from one on; the edges must be as they were."""
        for own in range(message, self._count):
            parent = self._edges.parents[own]
            if parent is not None and parent < message and self._messages[parent].rule is _COMMAND:
                self._commands.add(parent)
            self._take_back(own)
        self._count = min(self._count, message)

    def extend(self, message: int) -> bool:
        """Take all messages from one on; return whether the forks are others now."""
        parents, has_children, messages = self._edges.parents, self._edges.has_children, self._messages
        for own in range(message, len(messages)):
            rule, parent = messages[own].rule, parents[own]
            if rule is _PROMPT or (rule is _COMMAND and has_children(own)):
                self._add(own)
            if parent is not None and parent < message and messages[parent].rule is _COMMAND:
                self._commands.add(parent)
        for own in self._commands:  # what was typed counts as soon as anything follows it
            if has_children(own) and own not in self._under:
                self._add(own)
            elif not has_children(own):
                self._take_back(own)
        self._commands.clear()
        self._count = len(messages)
        return self._find()

    def _add(self, own: int) -> None:
        if self._messages[own].lane is not _MAIN:
            return
        parent = self._find_spoken(own)
        if parent is not None:
            typed = self._typed.setdefault(parent, [])
            typed.append(own)
            if len(typed) > 1 and typed[-2] > own:
                typed.sort()
            self._under[own] = parent
            self._changed.add(parent)

    def _take_back(self, own: int) -> None:
        parent = self._under.pop(own, None)
        if parent is not None:
            self._typed[parent].remove(own)
            self._changed.add(parent)

    def _find(self) -> bool:
        before = {parent: self.found.pop(parent, ()) for parent in self._changed}
        for parent in sorted(self._changed):
            typed = self._typed[parent]
            if len(typed) > 1:
                by_hand = [own for own in typed if self._messages[own].author is Author.HUMAN]
                if len({getattr(self._messages[own].lines[0].entry, "timestamp", own) for own in by_hand}) > 1:
                    self.found[parent] = tuple(by_hand)
        self._changed.clear()
        return any(self.found.get(parent, ()) != prompts for parent, prompts in before.items())

    def _find_spoken(self, own: int) -> int | None:
        """Return the nearest message above that is part of what was said, or None."""
        above = self._edges.parents[own]
        while above is not None and self._messages[above].role not in SPOKEN:
            above = self._edges.parents[above]
        return above


class Branches:
    """The stretches between forks, numbered from the trunk on."""

    def __init__(self, edges: Edges) -> None:
        self.branch_of: list[int] = []
        self.origins: list[tuple[int | None, int | None]] = []
        """The branch that each one leaves, and the message behind which it begins."""
        self._edges = edges
        self._firsts: list[int] = []

    def shorten(self, message: int) -> bool:
        """Take back all messages from one on; return False if branches before have other numbers then."""
        while self._firsts and self._firsts[-1] >= message:
            self._firsts.pop()
            self.origins.pop()
        del self.branch_of[message:]
        return max(self._firsts, default=-1) < message

    def extend(self, message: int, forks: Mapping[int, tuple[int, ...]]) -> bool:
        """Take all messages from one on; return False if only building anew gives the right numbers."""
        starts = {prompt: fork for fork, prompts in forks.items() for prompt in prompts}
        parents = self._edges.parents
        if not message:
            self._number_all(starts)
            return True
        for own in range(message, len(parents)):
            parent = parents[own]
            if own in starts:
                return False
            if parent is None:
                self._begin(own, None, None)
            self.branch_of.append(len(self.origins) - 1 if parent is None else self.branch_of[parent])
        return True

    def _begin(self, own: int, parent: int | None, fork: int | None) -> None:
        self.origins.append((parent, fork))
        self._firsts.append(own)

    def _number_all(self, starts: Mapping[int, int]) -> None:
        parents = self._edges.parents
        branch_of = self.branch_of = [0] * len(parents)
        todo = [own for own in reversed(range(len(parents))) if parents[own] is None]
        while todo:
            own = todo.pop()
            parent = parents[own]
            if parent is None or own in starts:
                branch_of[own] = len(self.origins)
                self._begin(own, None if parent is None else branch_of[parent], starts.get(own))
            else:
                branch_of[own] = branch_of[parent]
            todo += reversed(self._edges.list_children(own))


class ActivePath:
    """The way to where the conversation stands: to the message that is the newest, or said to be it.

    Where nobody but sub-agents speaks, it is the way to the last message.
    """

    def __init__(
        self,
        lines: Sequence[Line],
        messages: Sequence[Message],
        placements: Sequence[Placement],
        edges: Edges,
    ) -> None:
        self.path: list[int] = []
        """From a root on."""
        self._places = array("i")
        """Of each message its place on the way; `_NOWHERE` if it is not on it."""
        self.is_active = False
        """Whether somebody speaks who is no sub-agent."""
        self._lines = lines
        self._messages = messages
        self._placements = placements
        self._edges = edges
        self._marked: list[int] = []
        self._seen = 0
        self._newest: int | None = None

    def shorten(self, message: int) -> None:
        """Take back all messages from one on; the rest of the way is one still."""
        path = self.path
        while path and path[-1] >= message:
            self._places[path.pop()] = _NOWHERE
        if self._newest is not None and self._newest >= message:
            self._newest = self._find_newest(message - 1, 0)

    def extend(self, message: int) -> frozenset[int]:
        """Go where the messages from one on lead; return those before that came on the way or off it."""
        self._places.extend(_NOWHERE for _ in range(len(self._messages) - len(self._places)))
        newest = self._find_newest(len(self._messages) - 1, message)
        if newest is not None:
            self._newest = newest
        leaf = self._find_marked()
        leaf = self._newest if leaf is None else leaf
        self.is_active = leaf is not None
        if leaf is None and self._messages:
            leaf = len(self._messages) - 1
        return frozenset(own for own in self._go(leaf) if own < message)

    def __contains__(self, message: int) -> bool:
        return self._places[message] != _NOWHERE

    def _go(self, leaf: int | None) -> list[int]:
        ahead: list[int] = []
        at = leaf
        while at is not None and at not in self:
            ahead.append(at)
            at = self._edges.parents[at]
        stay = 0 if at is None else self._places[at] + 1
        left = self.path[stay:]
        del self.path[stay:]
        for own in left:
            self._places[own] = _NOWHERE
        for own in reversed(ahead):
            self._places[own] = len(self.path)
            self.path.append(own)
        return left + ahead

    def _find_marked(self) -> int | None:
        lines = self._lines
        for index in range(self._seen, len(lines)):
            if getattr(lines[index].entry, "is_active", None) is True:
                self._marked.append(index)
        self._seen = len(lines)
        found = (self._placements[index].message for index in reversed(self._marked))
        return next((message for message in found if message is not None), None)

    def _find_newest(self, last: int, first: int) -> int | None:
        messages = self._messages
        return next((own for own in range(last, first - 1, -1) if _is_newest(messages[own])), None)


def _is_newest(message: Message) -> bool:
    """Tell whether a message, being the last, is where the conversation stands."""
    return message.lane is not Lane.AGENT and message.rule is not Rule.WAITING and message.role in SPOKEN


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
        self.active_path = ActivePath(lines, messages, placements, self.edges)
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
        self.active_path.shorten(message)
        self._forks.shorten(message)
        steady = self._branches.shorten(message)
        steady = self.edges.extend(message, line) and steady
        steady = not self._forks.extend(message) and steady
        if message and not steady:
            return None
        if not self._branches.extend(message, self._forks.found):
            return None
        return self.active_path.extend(message)

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
            active=tuple(self.active_path.path) if self.active_path.is_active else (),
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
        active = frozenset(self.active_path.path) if self.active_path.is_active else frozenset[int]()
        return tuple(
            Branch(number, parent, fork, tuple(members[number]), not active.isdisjoint(members[number]))
            for number, (parent, fork) in enumerate(self._branches.origins)
        )


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
