"""A session at a glance: its header, its turns as a table, its agents as a table."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.rendering import Nested
from turnlog.cli.terminal import clean_line, shorten
from turnlog.cli.units import count_text, duration_text, local_time
from turnlog.export.plain_text import plural
from turnlog.instants import from_microseconds
from turnlog.transcripts.kinds import AgentState
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import (
    TurnUse,
    count_agent_calls,
    list_agent_usage,
    list_turn_uses,
    open_agent,
    read_agent_prompt,
    read_prompts,
)
from turnlog.transcripts.records import AgentRecord
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.election import build_total
from turnlog.transcripts.usage.prices import Prices, bill_text, cost_text, money_text


def render_header(summary: Summary, turns: int, agents: int, problems: int, argument: str) -> Iterator[Text]:
    """Yield what a session is called, where and when it ran, and how much is in it.

    `argument` is what the session was asked for by: the command that lists its problems takes the same.
    """
    title = clean_line(summary.title.text) if summary.title else "(no title)"
    yield Text(title, "bold")
    for parts in (
        _list_places(summary),
        _list_times(summary),
        _list_counts(summary, turns, agents),
        _list_costs(summary),
    ):
        line = " · ".join(part for part in parts if part)
        if line:
            yield Text(line, "dim")
    if problems:
        command = clean_line(f"turnlog validate {shlex.quote(argument)} --severity note")
        yield Text(f"{plural(problems, 'problem')} in the data: see `{command}`", "yellow")
    yield Text()


def _list_places(summary: Summary) -> Iterator[str]:
    yield clean_line(summary.project or "")
    yield _join_names(summary.branches)
    yield f"session {clean_line(summary.id)}" if summary.id else ""


def _list_times(summary: Summary) -> Iterator[str]:
    first, last = summary.first_time, summary.last_time
    if first is not None and last is not None:
        begin, end = local_time(first), local_time(last)
        ending = f"{end:%H:%M}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M}"
        yield f"{begin:%Y-%m-%d %H:%M} to {ending}"
        yield duration_text((last - first).total_seconds())
    yield f"Claude Code {_join_names(summary.versions)}" if summary.versions else ""
    yield _join_names(summary.models)


def _list_counts(summary: Summary, turns: int, agents: int) -> Iterator[str]:
    counts = summary.counts
    yield plural(turns, "turn")
    yield plural(counts.answers, "answer")
    failed = f" ({counts.failed_calls:,} failed)" if counts.failed_calls else ""
    yield plural(counts.calls, "call") + failed
    yield plural(agents, "agent") if agents else ""
    yield plural(counts.compactions, "compaction") if counts.compactions else ""
    yield plural(counts.lines, "line")


def _list_costs(summary: Summary) -> Iterator[str]:
    totals = summary.totals
    if not totals.messages:
        return
    least = "≥" if totals.incomplete else ""
    yield f"{count_text(totals.tokens.prompt)} tokens in, {least}{count_text(totals.tokens.output)} out"
    if summary.cost is not None:
        unpriced = [each.model or "(no model)" for each in summary.model_totals if each.cost is None]
        floor = bool(totals.incomplete or unpriced)
        yield cost_text(summary.cost, bool(summary.unpriced_terms), floor)
        yield f"without {_join_names(unpriced)}" if unpriced else ""
    if summary.reported_cost is not None:
        yield f"Claude Code says {money_text(summary.reported_cost)}"


def _join_names(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(clean_line(name) for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


_LONGEST_PROMPT = 60


def render_turns(session: SessionRecords) -> Iterator[RenderableType]:
    """Yield the table: a row for each turn."""
    turns, prices = list_turn_uses(session), Prices()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    table.add_column("started", no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("prompt", overflow="fold")
    for name in ("messages", "calls", "agents", "files", "tokens in", "out", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for turn, prompt in zip(turns, read_prompts(session), strict=True):
        table.add_row(*_turn_cells(turn, prompt, prices))
    yield table


def _turn_cells(turn: TurnUse, prompt: str, prices: Prices) -> Iterator[Text]:
    record, bill = turn.record, prices.build_bill(turn.usage)
    floor = "≥" if bill.totals.incomplete else ""
    changed = sum(file.changed for file in turn.files)
    started = None if record.started is None else local_time(from_microseconds(record.started))
    yield Text(str(record.index + 1), "dim")
    yield Text("" if started is None else f"{started:%Y-%m-%d %H:%M}", "dim")
    yield Text("" if record.duration_ms is None else duration_text(record.duration_ms / 1000))
    yield Text(shorten(prompt, _LONGEST_PROMPT))
    yield Text(count_text(record.messages))
    yield Text(count_text(record.calls) + (f" ({turn.failed_calls} ✗)" if turn.failed_calls else ""))
    yield Text(count_text(record.agents))
    yield Text(count_text(len(turn.files)) + (f" ({changed} changed)" if changed else ""))
    yield Text(count_text(bill.totals.tokens.prompt))
    yield Text(floor + count_text(bill.totals.tokens.output))
    yield Text(bill_text(bill))


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
        table.add_row(*_agent_cells(session, agent, prices))
    yield table


def _agent_cells(session: SessionRecords, agent: AgentRecord, prices: Prices) -> Iterator[Text]:
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
    return Nested(_agent_title(agent), thread, thread.compactions)


def _agent_title(agent: AgentRecord) -> Text:
    mark, color = _MARKS[AgentState(agent.state)]
    title = Text.assemble(
        (f"{mark} ", color), ("agent ", "magenta"), (clean_line(agent.type or agent.id), "bold magenta")
    )
    if agent.description:
        title.append(f"  {shorten(agent.description, _LONGEST_TEXT)}")
    if agent.background:
        title.append("  in the background", "dim")
    return title
