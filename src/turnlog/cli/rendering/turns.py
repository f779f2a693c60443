"""A session's turns as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.clock import duration_text, local_time
from turnlog.cli.rendering.figures import bill_text, count_text
from turnlog.cli.terminal import shorten
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.conversation.turns import Turn

__all__ = ["render_turns"]

_LONGEST_PROMPT = 60


def render_turns(turns: Sequence[Turn]) -> Iterator[RenderableType]:
    """Yield the table: a row for each turn."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    table.add_column("started", no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("prompt", overflow="fold")
    for name in ("messages", "calls", "agents", "files", "tokens in", "out", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for turn in turns:
        table.add_row(*_cells(turn))
    yield table


def _cells(turn: Turn) -> Iterator[Text]:
    tokens = turn.totals.tokens
    floor = "≥" if turn.totals.incomplete else ""
    changed = sum(file.changed for file in turn.files)
    failed = sum(call.state is CallState.FAILED for call in turn.calls)
    yield Text(str(turn.index + 1), "dim")
    yield Text("" if turn.started is None else f"{local_time(turn.started):%Y-%m-%d %H:%M}", "dim")
    yield Text("" if turn.duration is None else duration_text(turn.duration.total_seconds()))
    yield Text(shorten(turn.prompt.text, _LONGEST_PROMPT))
    yield Text(count_text(len(turn.messages)))
    yield Text(count_text(len(turn.calls)) + (f" ({failed} ✗)" if failed else ""))
    yield Text(count_text(len(turn.agents)))
    yield Text(count_text(len(turn.files)) + (f" ({changed} changed)" if changed else ""))
    yield Text(count_text(tokens.prompt))
    yield Text(floor + count_text(tokens.output))
    yield Text(bill_text(turn.bill))
