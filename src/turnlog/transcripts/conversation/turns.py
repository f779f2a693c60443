"""Turns: a prompt and all that answers it.

A turn begins with what a person typed, with a command that is answered, or with news of a background task that
the model was woken for. What is delivered while a turn runs (queued prompts, interruptions, a compaction)
belongs to it. Messages belong to the turn of what they follow; those that follow nothing, to the last one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct

from turnlog.instants import find_moment
from turnlog.messages import Line
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.entries import AttachmentEntry
from turnlog.messages.envelope import read_microseconds
from turnlog.messages.system import TurnDuration
from turnlog.transcripts.calls import Call, TouchedFile, list_touched_files
from turnlog.transcripts.conversation.messages import Lane, Message, Rule
from turnlog.transcripts.conversation.tree import Tree
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.usage.prices import Bill, Ledger, Prices
from turnlog.transcripts.usage.tokens import MessageUsage, Totals, build_total


class Turn(Struct, frozen=True, gc=False, kw_only=True):
    """A prompt and all that answers it."""

    index: int
    messages: tuple[Message, ...]
    """The prompt first; those of sub-agents are with the agents."""
    usage: tuple[MessageUsage, ...]
    """What the model's answers used, with those of the agents that were started here."""
    agents: tuple[str, ...] = ()
    """The agents that were started here, and theirs."""
    told_duration: timedelta | None = None
    """What the program says it took."""
    prices: Prices

    def __repr__(self) -> str:
        return f"Turn(index={self.index}, prompt={self.prompt.id!r}, messages={len(self.messages)})"

    @property
    def prompt(self) -> Message:
        """What began it."""
        return self.messages[0]

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that the answers made."""
        return tuple(call for message in self.messages for call in message.calls)

    @property
    def started(self) -> datetime | None:
        """When it began, if a line says so."""
        return self.prompt.time

    @property
    def ended(self) -> datetime | None:
        """The latest time that any of its lines bears."""
        times = map(find_last_time, self.messages)
        return find_moment(max((time for time in times if time is not None), default=None))

    @property
    def duration(self) -> timedelta | None:
        """How long it took: as the program says, else from the first to the last line."""
        return measure_turn(self.told_duration, self.started, self.ended)

    @property
    def files(self) -> tuple[TouchedFile, ...]:
        """The files that its calls read or changed, each once."""
        return list_touched_files(self.calls)

    @property
    def totals(self) -> Totals:
        """What it used."""
        return build_total(self.usage)

    @property
    def bill(self) -> Bill:
        """What it cost, and what of that is not known."""
        return self.prices.build_bill(self.usage)

    @property
    def cost(self) -> Decimal:
        """What it cost in dollars, as far as it is known."""
        return self.bill.cost


class AgentWork(Struct, frozen=True, gc=False):
    """What a call's agents did: which they are, at any depth, and the ids of the answers that they got."""

    agents: tuple[str, ...]
    messages: tuple[str, ...]


def build_turns(
    lines: Sequence[Line],
    messages: Sequence[Message],
    tree: Tree,
    usage: Mapping[str, MessageUsage],
    work: Mapping[int, AgentWork],
    prices: Prices,
) -> tuple[Turn, ...]:
    """Return the turns of the main conversation.

    `usage` is by `message.id`; `work` is what the agents did that each message started, by its index.
    """
    turn_builder = TurnBuilder(lines, messages, tree.parents, tree.anchors)
    turn_builder.extend()
    return list_turns(turn_builder, messages, usage, work, prices)


def list_turns(
    turn_builder: TurnBuilder,
    messages: Sequence[Message],
    usage: Mapping[str, MessageUsage],
    work: Mapping[int, AgentWork],
    prices: Prices,
) -> tuple[Turn, ...]:
    """Return the turns into which messages were divided."""
    told = turn_builder.durations
    return tuple(
        _build_turn(number, [messages[own] for own in members], usage, work, told.get(number), prices)
        for number, members in enumerate(turn_builder.turns)
    )


def _build_turn(
    number: int,
    messages: Sequence[Message],
    usage: Mapping[str, MessageUsage],
    work: Mapping[int, AgentWork],
    told_duration: timedelta | None,
    prices: Prices,
) -> Turn:
    """Return a turn that has these messages."""
    done = [work[message.index] for message in messages if message.index in work]
    ids = dict.fromkeys(message.message_id for message in messages)
    ids |= dict.fromkeys(identity for one in done for identity in one.messages)
    return Turn(
        index=number,
        messages=tuple(messages),
        usage=tuple(usage[identity] for identity in ids if identity is not None and identity in usage),
        agents=tuple(dict.fromkeys(agent for one in done for agent in one.agents)),
        told_duration=told_duration,
        prices=prices,
    )


def find_last_time(message: Message) -> int | None:
    """Return the later of the times that the last lines of a message bear, in microseconds since 1970."""
    own = read_microseconds(getattr(message.lines[-1].entry, "timestamp", None))
    if not message.folded:
        return own
    other = read_microseconds(getattr(message.folded[-1].entry, "timestamp", None))
    return max(own, other) if own is not None and other is not None else own if other is None else other


def measure_turn(told: timedelta | None, started: datetime | None, ended: datetime | None) -> timedelta | None:
    """Return how long a turn took: as the program says, else from its beginning to its end."""
    if told is not None:
        return told
    return None if started is None or ended is None else max(ended - started, timedelta(0))


_ANSWERS = frozenset({Role.ASSISTANT, Role.TOOL_USE, Role.TOOL_RESULT})
_SAID = frozenset({Role.USER, Role.SUMMARY})
_NONE = -1
_AGENT, _COMMAND, _NOTICE, _PROMPT = Lane.AGENT, Rule.COMMAND, Rule.NOTICE, Rule.PROMPT


class TurnChanges(Struct, frozen=True, gc=False):
    """What of some turns is another than it was."""

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


class TurnBuilder:
    """Divides messages that become more into turns."""

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
        self._end_counts: Counter[int] = Counter()
        """How many ends each turn has."""
        self._seen = 0

    def extend(self, message: int = 0, line: int = 0) -> TurnChanges:
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
        return TurnChanges(count, frozenset(turn for turn in touched if turn < count), frozenset(moved))

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
                self._end_counts[end.turn] -= 1
                self.durations[end.turn] -= end.took
                if not self._end_counts[end.turn]:
                    del self.durations[end.turn], self._end_counts[end.turn]
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
                    self._end_counts[turn] += 1
                    self.durations[turn] = self.durations.get(turn, timedelta(0)) + took
        self._seen = len(self._lines)
        return touched


class TurnShare(Struct, frozen=True, gc=False):
    """What one message adds to its turn."""

    time: int | None = None
    """The latest that its lines bear, in microseconds since 1970."""
    calls: int = 0
    changed: tuple[str, ...] = ()
    """The files that its calls changed."""
    answers: tuple[str, ...] = ()
    """The model's answers, its own and those that its agents got."""
    agents: tuple[str, ...] = ()
    """The agents that it started, and theirs."""


class TurnTally:
    """A turn's messages, known by their numbers, and the sums of what they add."""

    def __init__(self, ledger: Ledger, find_usage: Callable[[str], MessageUsage | None]) -> None:
        """Begin with nothing, in a ledger of its own; `find_usage` tells what an answer used."""
        self.calls = 0
        self._ledger = ledger
        self._find_usage = find_usage
        self._numbers: list[int] = []
        self._shares: list[TurnShare] = []
        self._changed: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._usage: dict[str, MessageUsage] = {}

    @property
    def messages(self) -> int:
        """How many messages there are."""
        return len(self._numbers)

    @property
    def agents(self) -> int:
        """How many agents were started."""
        return len(self._agents)

    @property
    def files_changed(self) -> int:
        """How many files were changed."""
        return len(self._changed)

    @property
    def ended(self) -> int | None:
        """The latest time that any line bears."""
        times = [share.time for share in self._shares if share.time is not None]
        return max(times) if times else None

    @property
    def bill(self) -> Bill:
        """What it cost, and what of that is not known."""
        return self._ledger.build()

    def extend(self, numbers: Iterable[int], find_share: Callable[[int], TurnShare]) -> None:
        """Take the messages that the turn has, of which those before the first that is new are the same."""
        for number in numbers:
            share = find_share(number)
            self._numbers.append(number)
            self._shares.append(share)
            self._add(share, 1)

    def shorten(self, number: int) -> int:
        """Take back all messages from a number on; return how many are left."""
        left = bisect_left(self._numbers, number)
        for share in self._shares[left:]:
            self._add(share, -1)
        del self._numbers[left:], self._shares[left:]
        return left

    def put(self, number: int, share: TurnShare) -> None:
        """Take a message that has changed."""
        at = bisect_left(self._numbers, number)
        self._add(self._shares[at], -1)
        self._shares[at] = share
        self._add(share, 1)

    def refresh(self, answers: Iterable[str]) -> None:
        """Note that some answers used something else than before."""
        for answer in answers:
            if answer in self._answers:
                self._drop(answer)
                self._count(answer)

    def _add(self, share: TurnShare, sign: int) -> None:
        self.calls += sign * share.calls
        for counter, names in ((self._changed, share.changed), (self._agents, share.agents)):
            for name in names:
                counter[name] += sign
                if not counter[name]:
                    del counter[name]
        for answer in share.answers:
            self._answers[answer] += sign
            if not self._answers[answer]:
                del self._answers[answer]
                self._drop(answer)
            elif sign > 0 and self._answers[answer] == 1:
                self._count(answer)

    def _count(self, answer: str) -> None:
        used = self._find_usage(answer)
        if used is not None:
            self._usage[answer] = used
            self._ledger.add(used)

    def _drop(self, answer: str) -> None:
        used = self._usage.pop(answer, None)
        if used is not None:
            self._ledger.remove(used)
