"""Agents: under the calls that started them, and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.rendering.conversation import Nested
from turnlog.cli.rendering.figures import bill_text, count_text
from turnlog.cli.terminal import clean_line, shorten
from turnlog.transcripts.agents.agent import Agent
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.agents.workflows import Workflow
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.usage.fold import UsageFold, build_total
from turnlog.transcripts.usage.pricing import Prices

__all__ = ["AgentIndex", "build_conversation", "list_in_order", "render_agents"]

_MARKS: Mapping[AgentState, tuple[str, str]] = MappingProxyType(
    {
        AgentState.DONE: ("✓", "green"),
        AgentState.FAILED: ("✗", "red"),
        AgentState.STOPPED: ("■", "yellow"),
        AgentState.RUNNING: ("…", "cyan"),
        AgentState.UNKNOWN: ("?", "dim"),
    }
)
_LONGEST_TEXT = 60
_DEEPEST = 12


class AgentIndex:
    """Which agents a call started. Each agent is given out once: what is left has no call that is shown."""

    def __init__(self, agents: Sequence[Agent], workflows: Iterable[Workflow]) -> None:
        runs = {workflow.run_id: workflow.call for workflow in workflows}
        self._by_call: dict[object, list[Agent]] = {}
        self._left: dict[int, Agent] = {}
        for index, agent in enumerate(agents):
            self._left[index] = agent
            call = agent.call or runs.get(agent.run_id or "")
            if call is not None:
                self._by_call.setdefault(_key(call), []).append(agent)
        self._index = {id(agent): index for index, agent in enumerate(agents)}
        attached = (agent for agents in self._by_call.values() for agent in agents if agent.inline)
        self._inline = {id(line) for agent in attached for line in agent.lines}

    def find_nested(self, call: Call) -> Iterator[Nested]:
        """Yield the conversations of the agents that a call started."""
        for agent in self._by_call.get(_key(call), ()):
            if self._left.pop(self._index[id(agent)], None) is not None:
                yield _nest(agent)

    def list_main(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages that are not shown under a call."""
        return [
            message
            for message in messages
            if message.lane is not Lane.AGENT or id(message.lines[0]) not in self._inline
        ]

    def take_left(self) -> Iterator[Nested]:
        """Yield the conversations of the agents that were not given out and stand in no other place."""
        while self._left:
            agent = self._left.pop(next(iter(self._left)))
            if not agent.inline or id(agent.lines[0]) in self._inline:
                yield _nest(agent)


def build_conversation(agent: Agent) -> Conversation:
    """Return an agent's own conversation, without what it has from its parent."""
    return Conversation(agent.lines[agent.inherited :])


def list_in_order(agents: Sequence[Agent]) -> Iterator[Agent]:
    """Yield all agents, each behind the one that started it."""
    children: dict[str | None, list[Agent]] = {}
    for agent in agents:
        children.setdefault(agent.parent_id, []).append(agent)
    todo = children.pop(None, [])[::-1]
    while todo:
        agent = todo.pop()
        yield agent
        todo += reversed(children.pop(agent.id, []))


def render_agents(agents: Sequence[Agent], prices: Prices) -> Iterator[RenderableType]:
    """Yield a table of agents, each under the one that started it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "type", "for"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "tokens in", "out", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("linked by")
    for agent in list_in_order(agents):
        table.add_row(*_cells(agent, prices))
    yield table


def _cells(agent: Agent, prices: Prices) -> Iterator[Text]:
    used = UsageFold(agent.lines[agent.inherited :]).list_messages()
    total = build_total(used)
    indent = "  " * min(agent.depth - 1, _DEEPEST)
    yield Text.assemble(indent, _MARKS[agent.state], " ", clean_line(agent.id))
    yield Text(clean_line(agent.type or ""))
    yield Text(shorten(agent.description or agent.prompt or "", _LONGEST_TEXT))
    yield Text(count_text(len(agent.calls)))
    yield Text(count_text(total.tokens.prompt))
    yield Text(("≥" if total.incomplete else "") + count_text(total.tokens.output))
    yield Text(bill_text(prices.build_bill(used)))
    yield Text("no call" if agent.linked_by is None else str(agent.linked_by), "dim")


def _nest(agent: Agent) -> Nested:
    conversation = build_conversation(agent)
    return Nested(_title(agent), conversation.messages, conversation.compactions)


def _title(agent: Agent) -> Text:
    mark, color = _MARKS[agent.state]
    title = Text.assemble(
        (f"{mark} ", color), ("agent ", "magenta"), (clean_line(agent.type or agent.id), "bold magenta")
    )
    if agent.description:
        title.append(f"  {shorten(agent.description, _LONGEST_TEXT)}")
    if agent.background:
        title.append("  in the background", "dim")
    return title


def _key(call: Call) -> object:
    """Return by what a call is known in whichever conversation was built from its line."""
    return call.id or (id(call.place.line), call.place.index)
