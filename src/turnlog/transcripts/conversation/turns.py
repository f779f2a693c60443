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

from turnlog.instants import find_moment
from turnlog.messages import Line
from turnlog.messages.envelope import read_microseconds
from turnlog.transcripts.calls.call import Call, Touched, list_touched
from turnlog.transcripts.conversation.division import Division
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.tree import Tree
from turnlog.transcripts.usage.election import MessageUsage, Totals, build_total
from turnlog.transcripts.usage.ledger import Bill
from turnlog.transcripts.usage.pricing import Prices


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
    division = Division(lines, messages, tree.parents, tree.anchors)
    division.extend()
    return list_turns(division, messages, usage, work, prices)


def list_turns(
    division: Division,
    messages: Sequence[Message],
    usage: Mapping[str, MessageUsage],
    work: Mapping[int, AgentWork],
    prices: Prices,
) -> tuple[Turn, ...]:
    """Return the turns into which messages were divided."""
    told = division.durations
    return tuple(
        _build_turn(number, [messages[own] for own in members], usage, work, told.get(number), prices)
        for number, members in enumerate(division.turns)
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
