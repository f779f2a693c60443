"""Agents: under the calls that started them, and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.rendering.conversation import Nested
from turnlog.cli.rendering.figures import bill_text, count_text
from turnlog.cli.terminal import clean_line, shorten
from turnlog.transcripts.agents.agent import Agent
from turnlog.transcripts.agents.places import build_conversation
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.usage.fold import UsageFold, build_total
from turnlog.transcripts.usage.pricing import Prices

__all__ = ["list_in_order", "nest", "render_agents"]

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


def nest(agent: Agent) -> Nested:
    """Return an agent's conversation, to be shown inside another."""
    conversation = build_conversation(agent)
    return Nested(_title(agent), conversation.messages, conversation.compactions, notes=conversation.notes)


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
