"""Turns: a prompt and all that answers it.

A turn begins with what a person typed, with a command that is answered, or with news of a background task that
the model was woken for. What is delivered while a turn runs (queued prompts, interruptions, a compaction)
belongs to it. Messages belong to the turn of what they follow; those that follow nothing, to the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.entries import AttachmentEntry
from turnlog.messages.envelope import instant
from turnlog.messages.system import TurnDuration
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.touched import Touched, list_touched
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.conversation.tree import Tree
from turnlog.transcripts.lines.categories import Role
from turnlog.transcripts.usage.fold import MessageUsage, Totals, build_total
from turnlog.transcripts.usage.pricing import Bill, Prices

__all__ = ["AgentWork", "Turn", "build_turns"]


_ANSWERS = frozenset({Role.ASSISTANT, Role.TOOL_USE, Role.TOOL_RESULT})
_SAID = frozenset({Role.USER, Role.SUMMARY})


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
        stamps = (
            instant(getattr(line.entry, "timestamp", None))
            for message in self.messages
            for line in (*message.lines[-1:], *message.folded[-1:])
        )
        return max((stamp for stamp in stamps if stamp is not None), default=None)

    @property
    def duration(self) -> timedelta | None:
        """How long it took: as the program says, else from the first to the last line."""
        if self.told_duration is not None:
            return self.told_duration
        started, ended = self.started, self.ended
        return None if started is None or ended is None else max(ended - started, timedelta(0))

    @property
    def files(self) -> tuple[Touched, ...]:
        """The files that its calls read or changed, each once."""
        return list_touched(self.calls)

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
    members = _divide(messages, tree)
    turn_of = {message.index: number for number, turn in enumerate(members) for message in turn}
    durations = _read_durations(lines, tree, turn_of)
    turns = []
    for number, turn in enumerate(members):
        done = [work[message.index] for message in turn if message.index in work]
        ids = dict.fromkeys(message.message_id for message in turn)
        ids |= dict.fromkeys(identity for one in done for identity in one.messages)
        turns.append(
            Turn(
                index=number,
                messages=tuple(turn),
                usage=tuple(usage[identity] for identity in ids if identity is not None and identity in usage),
                agents=tuple(dict.fromkeys(agent for one in done for agent in one.agents)),
                told_duration=durations.get(number),
                prices=prices,
            )
        )
    return tuple(turns)


def _divide(messages: Sequence[Message], tree: Tree) -> list[list[Message]]:
    """Return the messages of each turn, in file order."""
    turns: list[list[Message]] = []
    turn_of: dict[int, int] = {}
    for message in messages:
        if message.lane is Lane.AGENT:
            continue
        if _begins(message, messages, tree):
            turn_of[message.index] = len(turns)
            turns.append([message])
            continue
        parent = tree.parents[message.index]
        # What follows a message further down, as do those that a compaction kept, stays where it stands.
        number = len(turns) - 1 if parent is None or parent > message.index else turn_of.get(parent, -1)
        if number >= 0:
            turn_of[message.index] = number
            turns[number].append(message)
    return turns


def _begins(message: Message, messages: Sequence[Message], tree: Tree) -> bool:
    if message.rule is Rule.COMMAND:
        return _is_answered(message, messages, tree)
    if message.rule is Rule.NOTICE:
        entry = message.lines[0].entry
        return not (isinstance(entry, AttachmentEntry) and isinstance(entry.attachment, QueuedCommand))
    return message.rule is Rule.PROMPT


def _is_answered(message: Message, messages: Sequence[Message], tree: Tree) -> bool:
    """Tell whether an answer follows, be it behind what the system has to say."""
    todo = [*tree.children.get(message.index, ())]
    while todo:
        index = todo.pop()
        if messages[index].role in _ANSWERS:
            return True
        if messages[index].role not in _SAID:
            todo += tree.children.get(index, ())
    return False


def _read_durations(lines: Sequence[Line], tree: Tree, turn_of: Mapping[int, int]) -> dict[int, timedelta]:
    """Return how long turns took, where the program says so; what woke again in between adds up."""
    found: dict[int, timedelta] = {}
    for index, line in enumerate(lines):
        entry = line.entry
        if type(entry) is TurnDuration and isinstance(entry.duration_ms, int | float):
            anchor = tree.anchors[index]
            turn = None if anchor is None else turn_of.get(anchor)
            if turn is not None:
                found[turn] = found.get(turn, timedelta(0)) + timedelta(milliseconds=entry.duration_ms)
    return found
