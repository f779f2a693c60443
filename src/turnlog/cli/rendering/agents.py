"""Agents: under the calls that started them, and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.rendering.conversation import Nested
from turnlog.cli.rendering.figures import count_text
from turnlog.cli.terminal import clean_line, shorten
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import (
    count_agent_calls,
    list_agent_usage,
    open_agent,
    read_agent_prompt,
)
from turnlog.transcripts.records import AgentRecord
from turnlog.transcripts.usage.election import build_total
from turnlog.transcripts.usage.prices import Prices, bill_text

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


def list_in_order(agents: Sequence[AgentRecord]) -> Iterator[AgentRecord]:
    """Yield all agents, each behind the one that started it."""
    children: dict[str | None, list[AgentRecord]] = {}
    for agent in agents:
        children.setdefault(agent.parent_id, []).append(agent)
    todo = children.pop(None, [])[::-1]
    while todo:
        agent = todo.pop()
        yield agent
        todo += reversed(children.pop(agent.id, []))


def render_agents(session: SessionRecords, agents: Sequence[AgentRecord]) -> Iterator[RenderableType]:
    """Yield a table of agents, each under the one that started it."""
    prices = Prices()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "type", "for"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "tokens in", "out", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("linked by")
    for agent in list_in_order(agents):
        table.add_row(*_cells(session, agent, prices))
    yield table


def _cells(session: SessionRecords, agent: AgentRecord, prices: Prices) -> Iterator[Text]:
    used = list_agent_usage(session, agent)
    total = build_total(used)
    indent = "  " * min(agent.depth - 1, _DEEPEST)
    yield Text.assemble(indent, _MARKS[AgentState(agent.state)], " ", clean_line(agent.id))
    yield Text(clean_line(agent.type or ""))
    yield Text(shorten(agent.description or read_agent_prompt(session, agent) or "", _LONGEST_TEXT))
    yield Text(count_text(count_agent_calls(session, agent)))
    yield Text(count_text(total.tokens.prompt))
    yield Text(("≥" if total.incomplete else "") + count_text(total.tokens.output))
    yield Text(bill_text(prices.build_bill(used)))
    yield Text("no call" if agent.linked_by is None else agent.linked_by, "dim")


def nest(session: SessionRecords, agent: AgentRecord) -> Nested:
    """Return an agent's conversation, to be shown inside another."""
    thread = open_agent(session, agent)
    return Nested(_title(agent), thread, thread.compactions)


def _title(agent: AgentRecord) -> Text:
    mark, color = _MARKS[AgentState(agent.state)]
    title = Text.assemble(
        (f"{mark} ", color), ("agent ", "magenta"), (clean_line(agent.type or agent.id), "bold magenta")
    )
    if agent.description:
        title.append(f"  {shorten(agent.description, _LONGEST_TEXT)}")
    if agent.background:
        title.append("  in the background", "dim")
    return title
