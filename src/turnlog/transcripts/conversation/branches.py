"""Where a conversation forks, its branches, and the way to where it stands."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from turnlog.messages import Line
from turnlog.transcripts.conversation.edges import Edges
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import Placement, Rule
from turnlog.transcripts.lines.categories import Author
from turnlog.transcripts.lines.kinds import Role

_PROMPT, _COMMAND, _MAIN = Rule.PROMPT, Rule.COMMAND, Lane.MAIN
SPOKEN = frozenset({Role.USER, Role.ASSISTANT, Role.TOOL_USE, Role.TOOL_RESULT, Role.SUMMARY})
_NOWHERE = -1


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


class Way:
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
        self._told: list[int] = []
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
        leaf = self._find_told()
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

    def _find_told(self) -> int | None:
        lines = self._lines
        for index in range(self._seen, len(lines)):
            if getattr(lines[index].entry, "is_active", None) is True:
                self._told.append(index)
        self._seen = len(lines)
        found = (self._placements[index].message for index in reversed(self._told))
        return next((message for message in found if message is not None), None)

    def _find_newest(self, last: int, first: int) -> int | None:
        messages = self._messages
        return next((own for own in range(last, first - 1, -1) if _is_newest(messages[own])), None)


def _is_newest(message: Message) -> bool:
    """Tell whether a message, being the last, is where the conversation stands."""
    return message.lane is not Lane.AGENT and message.rule is not Rule.WAITING and message.role in SPOKEN
