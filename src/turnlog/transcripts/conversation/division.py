"""Which messages belong to which turn, kept up as more come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.entries import AttachmentEntry
from turnlog.messages.system import TurnDuration
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.lines.kinds import Role

_ANSWERS = frozenset({Role.ASSISTANT, Role.TOOL_USE, Role.TOOL_RESULT})
_SAID = frozenset({Role.USER, Role.SUMMARY})
_NONE = -1
_AGENT, _COMMAND, _NOTICE, _PROMPT = Lane.AGENT, Rule.COMMAND, Rule.NOTICE, Rule.PROMPT


class Divided(Struct, frozen=True, gc=False):
    """What of a division is another than it was."""

    turn: int
    """From which turn on all may be others: those have members that are new or moved."""
    turns: frozenset[int] = frozenset()
    """Turns before that got or lost members, or are told to have taken another time."""
    messages: frozenset[int] = frozenset()
    """Messages, before those that are new, that are in another turn now."""


class _End(Struct, frozen=True, gc=False):
    """A line that tells how long a turn took."""

    line: int
    turn: int
    took: timedelta
    highest: int
    """The highest message that it, or one before it, is about."""


class Division:
    """The turns of messages that become more."""

    def __init__(
        self,
        lines: Sequence[Line],
        messages: Sequence[Message],
        parents: Sequence[int | None],
        anchors: Sequence[int | None],
    ) -> None:
        """Take lines, messages, what each message follows, and the message at or above each line."""
        self.turns: list[list[int]] = []
        """The messages of each turn, in file order."""
        self.turn_of: list[int] = []
        """The turn of each message; -1 for those of none."""
        self.durations: dict[int, timedelta] = {}
        """What the program says that turns took; what woke again in between adds up."""
        self._lines = lines
        self._messages = messages
        self._parents = parents
        self._anchors = anchors
        self._answered: dict[int, None] = {}
        """Commands that were answered, in the order in which that was seen."""
        self._witnesses: list[int] = []
        """The answers by which that was seen."""
        self._ends: list[_End] = []
        self._told: Counter[int] = Counter()
        """How many ends each turn has."""
        self._seen = 0

    def extend(self, message: int = 0, line: int = 0) -> Divided:
        """Take messages from one on, which are new, and lines from one on, which may be about others now."""
        changed = self._find_answered(message)
        low = min((message, *(command for command in changed if command < message)))
        before = self.turn_of[low:message]
        touched = self._shorten(low)
        touched |= self._forget_ends(low, line)
        count = len(self.turns)
        for own in [message.index for message in self._messages[low:]]:  # numbers that are there already
            turn = self._choose(own)
            self.turn_of.append(turn)
            if turn == len(self.turns):
                self.turns.append([own])
            elif turn >= 0:
                self.turns[turn].append(own)
                touched.add(turn)
        touched |= self._read_ends()
        moved = {own for own, turn in enumerate(before, low) if self.turn_of[own] != turn}
        return Divided(count, frozenset(turn for turn in touched if turn < count), frozenset(moved))

    def _find_answered(self, message: int) -> set[int]:
        """Find the commands that are answered, behind what the system has to say; return those that changed."""
        lost: set[int] = set()
        while self._witnesses and self._witnesses[-1] >= message:
            self._witnesses.pop()
            lost.add(self._answered.popitem()[0])
        found: set[int] = set()
        messages, parents = self._messages, self._parents
        for own in range(message, len(messages)):
            above = parents[own] if messages[own].role in _ANSWERS else None
            while above is not None:
                if messages[above].rule is _COMMAND and above not in self._answered:
                    self._answered[above] = None
                    self._witnesses.append(own)
                    found.add(above)
                role = messages[above].role
                above = None if role in _ANSWERS or role in _SAID else parents[above]
        return lost ^ found

    def _shorten(self, low: int) -> set[int]:
        """Take back all messages from one on; return the turns that had them."""
        touched: set[int] = set()
        while len(self.turn_of) > low:
            turn = self.turn_of.pop()
            if turn >= 0:
                touched.add(turn)
                self.turns[turn].pop()
        while self.turns and not self.turns[-1]:
            self.turns.pop()
        return touched

    def _choose(self, own: int) -> int:
        """Return the turn of a message; the next one if it begins one."""
        message, parent = self._messages[own], self._parents[own]
        if message.lane is _AGENT:
            return _NONE
        if self._begins(message):
            return len(self.turns)
        # What follows a message further down, as do those that a compaction kept, stays where it stands.
        return len(self.turns) - 1 if parent is None or parent > own else self.turn_of[parent]

    def _begins(self, message: Message) -> bool:
        if message.rule is _COMMAND:
            return message.index in self._answered
        if message.rule is _NOTICE:
            entry = message.lines[0].entry
            return not (isinstance(entry, AttachmentEntry) and isinstance(entry.attachment, QueuedCommand))
        return message.rule is _PROMPT

    def _forget_ends(self, low: int, line: int) -> set[int]:
        touched: set[int] = set()
        self._seen = min(self._seen, line)
        while self._ends and (self._ends[-1].highest >= low or self._ends[-1].line >= line):
            end = self._ends.pop()
            self._seen = min(self._seen, end.line)
            if end.turn >= 0:
                touched.add(end.turn)
                self._told[end.turn] -= 1
                self.durations[end.turn] -= end.took
                if not self._told[end.turn]:
                    del self.durations[end.turn], self._told[end.turn]
        return touched

    def _read_ends(self) -> set[int]:
        """Read how long turns took, where the program says so."""
        touched: set[int] = set()
        for index in range(self._seen, len(self._lines)):
            entry = self._lines[index].entry
            if type(entry) is TurnDuration and isinstance(entry.duration_ms, int | float):
                anchor = self._anchors[index]
                turn = _NONE if anchor is None else self.turn_of[anchor]
                took = timedelta(milliseconds=entry.duration_ms)
                before = self._ends[-1].highest if self._ends else _NONE
                highest = before if anchor is None else max(anchor, before)
                self._ends.append(_End(index, turn, took, highest))
                if turn >= 0:
                    touched.add(turn)
                    self._told[turn] += 1
                    self.durations[turn] = self.durations.get(turn, timedelta(0)) + took
        self._seen = len(self._lines)
        return touched
