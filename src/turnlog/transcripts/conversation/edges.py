"""Which message follows which: as their lines do, with what is hidden passed through."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.order import cut_circles, is_forward, list_in_order
from turnlog.transcripts.conversation.placements import FATES, Fate, Placement, Rule

_OWN = frozenset({rule for rule, fate in FATES.items() if fate is Fate.SHOWN} | {Rule.PART, Rule.THINKING})
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
