"""Mission control: who works, who waits for the person, and why."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from turnlog.server.board.columns import Column, Evidence, ProcessState
from turnlog.server.board.spans import SpanKind
from turnlog.server.shapes.conversations import StripBar
from turnlog.transcripts.hooks.states import AgentPhase, Why


class BoardStep(Struct, frozen=True, gc=False, kw_only=True):
    """The current step of a session."""

    tool_name: str
    title: str
    """What the call is about; empty if unknown."""
    since: datetime | None
    call_id: str | None
    """The id that Claude Code gave the call."""


class BoardAgent(Struct, frozen=True, gc=False, kw_only=True):
    """A sub-agent at work."""

    id: str
    type: str | None
    title: str | None
    since: datetime | None


class BoardCard(Struct, frozen=True, gc=False, kw_only=True):
    """A session in mission control."""

    session_id: str
    key: str
    """Identifies the session permanently; its id if only hooks have reported it so far."""
    title: str | None
    project: str | None
    git_branch: str | None
    model: str | None
    column: Column
    phase: AgentPhase
    why: Why | None
    """None unless the user is needed."""
    since: datetime | None
    """Since when."""
    detail: str | None
    """What the user is needed for, in one line."""
    options: tuple[str, ...]
    """The answers that a question offers."""
    step: BoardStep | None
    agents: tuple[BoardAgent, ...]
    """Sub-agents at work."""
    turns: int
    started_at: datetime | None
    last_at: datetime | None
    cost_usd: float | None
    context_tokens: int | None
    """What the model read for its last answer."""
    context_limit: int | None
    """The limit of what it can read; None if unknown."""
    compacts_at: int | None
    """Where automatic compaction begins, unless settings say otherwise."""
    strip: tuple[StripBar, ...]
    """The calls of its last turn."""
    process: ProcessState
    evidence: Evidence
    stopped_by: str | None
    """The error that it stopped at."""
    person: str | None
    """The owner; null if there is none."""
    machine: str
    """The machine it comes from; empty for the machine with the archive."""
    host: str
    """That machine's host name; empty if unknown."""
    resume: str | None
    """The command that resumes it; None if its id does not look valid."""


class SpanInterval(Struct, frozen=True, gc=False, kw_only=True, rename={"start": "from", "end": "to"}):
    """A period in which a session's state did not change."""

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
    """How long sessions waited for the user today, in total."""
    sessions: tuple[BoardCard, ...]
    """Those that wait longest first, then those that work, then those that are done."""
    spans: tuple[BoardSpan, ...]
