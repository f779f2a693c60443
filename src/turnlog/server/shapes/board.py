"""Mission control: who works, who waits for the person, and why."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from turnlog.server.board.columns import Column, Evidence, ProcessState
from turnlog.server.board.spans import SpanKind
from turnlog.server.shapes.conversations import StripBar
from turnlog.transcripts.hooks.phases import AgentPhase, Why

__all__ = ["BoardAgent", "BoardCard", "BoardSpan", "BoardStep", "MissionControl", "SpanInterval"]


class BoardStep(Struct, frozen=True, gc=False, kw_only=True):
    """What a session is at."""

    tool_name: str
    title: str
    """What the call is about; empty if that is not known."""
    since: datetime | None
    call_id: str | None
    """The id that Claude Code gave the call."""


class BoardAgent(Struct, frozen=True, gc=False, kw_only=True):
    """A sub-agent that works."""

    id: str
    type: str | None
    title: str | None
    since: datetime | None


class BoardCard(Struct, frozen=True, gc=False, kw_only=True):
    """A session in mission control."""

    session_id: str
    key: str
    """Names the session for good; its id, if only hooks have told of it so far."""
    title: str | None
    project: str | None
    git_branch: str | None
    model: str | None
    column: Column
    phase: AgentPhase
    why: Why | None
    """None unless the person is needed."""
    since: datetime | None
    """When it came to be so."""
    detail: str | None
    """In a line, what the person is needed for."""
    options: tuple[str, ...]
    """The answers that a question offers."""
    step: BoardStep | None
    agents: tuple[BoardAgent, ...]
    """Those that work."""
    turns: int
    started_at: datetime | None
    last_at: datetime | None
    cost_usd: float | None
    context_tokens: int | None
    """What the model read for its last answer."""
    context_limit: int | None
    """How much it could read; None if nobody knows."""
    compacts_at: int | None
    """Where automatic compaction begins, unless settings say otherwise."""
    strip: tuple[StripBar, ...]
    """The calls of its last turn."""
    process: ProcessState
    evidence: Evidence
    stopped_by: str | None
    """The error that it stopped at."""
    person: str | None
    """Whose it is; null if nobody said."""
    machine: str
    """Where it comes from; empty for the machine that the archive is kept on."""
    host: str
    """As that computer calls itself; empty if that is not known."""
    resume: str | None
    """The command that goes on with it; None if its id does not look like one."""


class SpanInterval(Struct, frozen=True, gc=False, kw_only=True, rename={"start": "from", "end": "to"}):
    """A while in which a session did the same."""

    start: datetime
    end: datetime
    kind: SpanKind


class BoardSpan(Struct, frozen=True, gc=False, kw_only=True):
    """What a session did in the last three hours."""

    session_id: str
    project: str | None
    branch: str | None
    intervals: tuple[SpanInterval, ...]


class MissionControl(Struct, frozen=True, gc=False, kw_only=True):
    """All sessions of the last 24 hours, 200 at most."""

    at: datetime
    waited_ms: int
    """How long sessions waited for the person today, all together."""
    sessions: tuple[BoardCard, ...]
    """Those that wait longest first, then those that work, then those that are done."""
    spans: tuple[BoardSpan, ...]
