"""What stands above an exported session: what it is, when it was, what it took."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from turnlog.export.plain import plural
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.prices import cost_text


class Heading(Struct, frozen=True, gc=False, kw_only=True):
    """A session at a glance, for readers."""

    title: str
    session_id: str
    project: str | None
    branch: str | None
    models: tuple[str, ...]
    started_at: datetime | None
    ended_at: datetime | None
    turns: int
    calls: int
    agents: int
    cost: str
    """In dollars, with what is not known of it; empty if nothing was answered."""

    @property
    def counts(self) -> tuple[str, ...]:
        """How much there is of what, and what it cost."""
        counts = ((self.turns, "turn"), (self.calls, "call"), (self.agents, "agent"))
        return (*(plural(count, noun) for count, noun in counts), *filter(None, (self.cost,)))


def build_heading(session: SessionRecords, summary: Summary, name: str | None = None) -> Heading:
    """Return what stands above a session; `name` is one that somebody gave it."""
    main = session.main
    return Heading(
        title=name or (summary.title.text if summary.title is not None else summary.id or "Session"),
        session_id=summary.id or "",
        project=summary.project,
        branch=summary.branches[-1] if summary.branches else None,
        models=summary.models,
        started_at=summary.first_time,
        ended_at=summary.last_time,
        turns=session.count_turns(),
        calls=0 if main is None else main.count_calls,
        agents=len(session.list_agents()),
        cost=_tell_cost(summary),
    )


def _tell_cost(summary: Summary) -> str:
    """Return what a session cost, with what is not known of it; nothing, if there were no answers."""
    if not summary.totals.messages:
        return ""
    unpriced = sorted(each.model or "an unknown model" for each in summary.model_totals if each.cost is None)
    if len(unpriced) == len(summary.model_totals) or summary.cost is None:
        return "unpriced"
    is_floor = bool(summary.totals.incomplete or unpriced)
    cost = cost_text(summary.cost, bool(summary.unpriced_terms), is_floor)
    return f"{cost} without {', '.join(unpriced)}" if unpriced and summary.cost else cost
