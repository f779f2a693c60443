"""One message of a session, with some around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.text import Text

from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.output import Row
from turnlog.cli.rendering.conversation import Nested, render_conversation
from turnlog.cli.rendering.messages import Detail
from turnlog.cli.terminal import clean_line
from turnlog.transcripts.agents.agent import Agent
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.tree import Tree
from turnlog.transcripts.session import Session

__all__ = ["Excerpt", "find_excerpt", "render_excerpt"]

_USUAL = 3


class Excerpt(Struct, frozen=True):
    """Messages of a conversation that follow on each other."""

    conversation: Conversation
    agent: str | None
    chosen: int
    """The index of the message that was asked for."""
    first: int
    end: int

    @property
    def messages(self) -> Sequence[Message]:
        """What is shown."""
        return self.conversation.messages[self.first : self.end]

    @property
    def tree(self) -> Tree:
        """Of the whole conversation."""
        return self.conversation.tree


def find_excerpt(session: Session, message: str, agent: str | None, context: int | None) -> Excerpt:
    """Return a message with some around it.

    It is known by its id, in whichever conversation of the session it stands, or by its index in the main one,
    or in that of an agent. Raises `NothingFoundError` for what is not there.
    """
    around = _USUAL if context is None else context
    for name, conversation in _list_conversations(session, agent):
        found = _find(conversation.messages, message, by_index=name == agent)
        if found is not None:
            count = len(conversation.messages)
            return Excerpt(conversation, name, found, max(found - around, 0), min(found + around + 1, count))
    where = "the session" if agent is None else f"the agent {agent}"
    raise NothingFoundError(f"{where} has no message {message}")


def render_excerpt(excerpt: Excerpt, detail: Detail) -> Iterator[Row]:
    """Yield the messages, and what is left out before and behind them; agents are not opened."""
    messages, count = excerpt.messages, len(excerpt.conversation.messages)
    whose = "" if excerpt.agent is None else f" of the agent {clean_line(excerpt.agent)}"
    yield Row(Text(f"messages {excerpt.first} to {excerpt.end - 1} of {count:,}, from 0{whose}", "dim"))
    yield Row(Text())
    remarks = {excerpt.chosen: f"◀ message {excerpt.chosen}"}
    compactions = [
        each for each in excerpt.conversation.compactions if excerpt.first <= each.messages[0] < excerpt.end
    ]
    yield from render_conversation(Nested(Text(), messages, compactions, remarks), lambda _: (), detail)


def _list_conversations(session: Session, agent: str | None) -> Iterator[tuple[str | None, Conversation]]:
    """Yield where to look: the main conversation and then those of agents, or that of one agent."""
    if agent is None:
        yield None, session.conversation
        yield from ((each.id, session.open(each)) for each in session.agents if not each.inline)
        return
    yield agent, session.open(_find_agent(session, agent))


def _find_agent(session: Session, prefix: str) -> Agent:
    found = [each for each in session.agents if each.id == prefix] or [
        each for each in session.agents if each.id.startswith(prefix)
    ]
    if not found:
        raise NothingFoundError(f"the session has no agent {prefix}")
    if len(found) > 1:
        names = ", ".join(each.id for each in found[:5])
        raise MisuseError(f"{len(found)} agents begin with {prefix}: {names}")
    return found[0]


def _find(messages: Sequence[Message], name: str, *, by_index: bool) -> int | None:
    if by_index and name.isdecimal():
        index = int(name)
        return index if index < len(messages) else None
    return next((each.index for each in messages if each.id == name), None)
