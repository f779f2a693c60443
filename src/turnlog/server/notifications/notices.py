"""What is told, and when: at each transition once. Nothing here sends anything.

Nothing of a transcript is told but the session's title, where it works, and why it waits.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from importlib.metadata import version

from msgspec import Struct

from turnlog.config import Occasion
from turnlog.server.board.columns import Column, StateChange
from turnlog.transcripts.hooks.states import AgentPhase, Why

_FRESH_NS = 120 * 1_000_000_000
"""What began longer ago was found by a sync, and is no news."""
_VERSION = version("turnlog")
_NEEDS = {
    Why.PERMISSION: "needs a permission",
    Why.QUESTION: "asks a question",
    Why.PLAN: "has a plan for you to review",
    Why.IDLE: "is waiting for you",
    Why.FAILED: "stopped at an error",
}


class Notice(Struct, frozen=True, gc=False, kw_only=True):
    """What is told; webhooks get it as JSON."""

    event: str
    """`waits`, `ends` or `test`."""
    session_id: str | None
    title: str | None
    project: str | None
    why: str | None
    """`permission`, `question`, `plan`, `idle` or `failed`; of what ends, `turn_ended` or null."""
    text: str
    """All of it in a sentence."""
    at: datetime
    turnlog: str = _VERSION


def find_occasion(change: StateChange, wanted: Collection[Occasion], now_ns: int) -> Occasion | None:
    """Return what a change is an occasion for; None if it is none, or nobody wants to know."""
    state = change.state
    if state.since_ns is None or now_ns - state.since_ns > _FRESH_NS:
        return None
    if state.column is Column.NEEDS_YOU and change.before is not Column.NEEDS_YOU:
        # A minute after a turn ended, Claude Code says that it waits; who was told of the end knows.
        is_known = state.why is Why.IDLE and change.before is Column.DONE and Occasion.ENDS in wanted
        return Occasion.WAITS if Occasion.WAITS in wanted and not is_known else None
    was_busy = change.before in (Column.WORKING, Column.NEEDS_YOU)
    has_ended = state.phase is AgentPhase.ENDED or state.why is Why.TURN_ENDED
    return Occasion.ENDS if was_busy and has_ended and Occasion.ENDS in wanted else None


def build_notice(occasion: Occasion, change: StateChange) -> Notice:
    """Return what is told of a change."""
    state = change.state
    if occasion is Occasion.WAITS:
        said = _NEEDS.get(state.why, "is waiting for you") if state.why is not None else "is waiting for you"
    else:
        said = "ended" if state.phase is AgentPhase.ENDED else "is done"
    name = change.title or change.project or change.session_id
    return Notice(
        event=occasion,
        session_id=change.session_id,
        title=change.title,
        project=change.project,
        why=state.why,
        text=f"{name} {said}",
        at=datetime.fromtimestamp((state.since_ns or 0) // 1_000_000 / 1000, UTC),
    )


def build_test_notice() -> Notice:
    """Return what is told to see whether it arrives."""
    return Notice(
        event="test",
        session_id=None,
        title=None,
        project=None,
        why=None,
        text="turnlog can reach you here",
        at=datetime.now(UTC),
    )
