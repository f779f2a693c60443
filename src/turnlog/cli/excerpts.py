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
from turnlog.transcripts.conversation.compactions import COMPACTED
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import Thread, open_agent, open_main
from turnlog.transcripts.records import AgentRecord, MessageRecord

_USUAL = 3


class Excerpt(Struct, frozen=True):
    """Messages of a conversation that follow on each other."""

    thread: Thread
    agent: str | None
    chosen: int
    """The place of the message that was asked for in its conversation, from 0."""
    first: int
    end: int

    @property
    def records(self) -> list[MessageRecord]:
        """What is shown."""
        return self.thread.list_some(self.first, self.end)


def find_excerpt(session: SessionRecords, message: str, agent: str | None, context: int | None) -> Excerpt:
    """Return a message with some around it.

    It is known by its id, in whichever conversation of the session it stands, or by its index in the main one,
    or in that of an agent. Raises `NothingFoundError` for what is not there.
    """
    around = _USUAL if context is None else context
    for name, thread in _list_threads(session, agent):
        count = len(thread.messages)
        if name == agent and message.isdecimal():
            found = int(message) if int(message) < count else None
        else:
            found = thread.find_place(message)
        if found is not None:
            return Excerpt(thread, name, found, max(found - around, 0), min(found + around + 1, count))
    where = "the session" if agent is None else f"the agent {agent}"
    raise NothingFoundError(f"{where} has no message {message}")


def render_excerpt(excerpt: Excerpt, detail: Detail) -> Iterator[Row]:
    """Yield the messages, and what is left out before and behind them; agents are not opened."""
    thread, records, count = excerpt.thread, excerpt.records, len(excerpt.thread.messages)
    whose = "" if excerpt.agent is None else f" of the agent {clean_line(excerpt.agent)}"
    yield Row(Text(f"messages {excerpt.first} to {excerpt.end - 1} of {count:,}, from 0{whose}", "dim"))
    yield Row(Text())
    chosen = records[excerpt.chosen - excerpt.first].index
    compactions = thread.compactions if any(row.rule in COMPACTED for row in records) else ()
    nested = Nested(
        Text(), thread, compactions, records, {chosen: f"◀ message {excerpt.chosen}"}, has_notes=False
    )
    yield from render_conversation(nested, lambda _: (), detail)


def _list_threads(session: SessionRecords, agent: str | None) -> Iterator[tuple[str | None, Thread]]:
    """Yield where to look: the main conversation and then those of agents, or that of one agent."""
    agents = session.list_agents()
    if agent is None:
        yield None, open_main(session)
        own = [each for each in agents if not each.inline]
    else:
        own = [_find_agent(agents, agent)]
    for each in own:
        yield each.id if agent is None else agent, open_agent(session, each, inherited=True)


def _find_agent(agents: Sequence[AgentRecord], prefix: str) -> AgentRecord:
    found = [each for each in agents if each.id == prefix] or [
        each for each in agents if each.id.startswith(prefix)
    ]
    if not found:
        raise NothingFoundError(f"the session has no agent {prefix}")
    if len(found) > 1:
        names = ", ".join(each.id for each in found[:5])
        raise MisuseError(f"{len(found)} agents begin with {prefix}: {names}")
    return found[0]
