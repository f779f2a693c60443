"""A session at a glance, in a few lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.text import Text

from turnlog.cli.clock import duration_text, local_time
from turnlog.cli.rendering.figures import count_text
from turnlog.cli.terminal import clean_line
from turnlog.export.plain import plural
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.prices import cost_text, money_text


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
    yield _join(summary.branches)
    yield f"session {clean_line(summary.id)}" if summary.id else ""


def _list_times(summary: Summary) -> Iterator[str]:
    first, last = summary.first_time, summary.last_time
    if first is not None and last is not None:
        begin, end = local_time(first), local_time(last)
        ending = f"{end:%H:%M}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M}"
        yield f"{begin:%Y-%m-%d %H:%M} to {ending}"
        yield duration_text((last - first).total_seconds())
    yield f"Claude Code {_join(summary.versions)}" if summary.versions else ""
    yield _join(summary.models)


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
        yield f"without {_join(unpriced)}" if unpriced else ""
    if summary.reported_cost is not None:
        yield f"Claude Code says {money_text(summary.reported_cost)}"


def _join(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(clean_line(name) for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
