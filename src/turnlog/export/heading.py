"""What stands above an exported session: what it is, when it was, what it took."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from turnlog.export.plain import plural
from turnlog.transcripts.session import Session
from turnlog.transcripts.usage.ledger import bill_text

__all__ = ["Heading", "build_heading"]


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


def build_heading(session: Session, name: str | None = None) -> Heading:
    """Return what stands above a session; `name` is one that somebody gave it."""
    summary, bill = session.summary, session.bill
    unpriced = ", ".join(sorted(model or "an unknown model" for model in bill.unpriced))
    cost = bill_text(bill)
    if unpriced and bill.cost:
        cost += f" without {unpriced}"
    return Heading(
        title=name or (summary.title.text if summary.title is not None else session.id or "Session"),
        session_id=session.id or "",
        project=session.project,
        branch=summary.branches[-1] if summary.branches else None,
        models=summary.models,
        started_at=summary.first_time,
        ended_at=summary.last_time,
        turns=len(session.turns),
        calls=len(session.calls),
        agents=len(session.agents),
        cost=cost,
    )
