"""A session's turns as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.clock import duration_text, local_time
from turnlog.cli.rendering.figures import count_text
from turnlog.cli.terminal import shorten
from turnlog.instants import from_microseconds
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import TurnUse, list_turn_uses, read_prompts
from turnlog.transcripts.usage.prices import Prices, bill_text

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
        table.add_row(*_cells(turn, prompt, prices))
    yield table


def _cells(turn: TurnUse, prompt: str, prices: Prices) -> Iterator[Text]:
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
