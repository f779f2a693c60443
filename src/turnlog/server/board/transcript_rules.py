"""What a session does, told from its transcript alone. Nothing here asks anybody.

A transcript tells when something ended, and not what is waited for: a call without a result may run, or wait
for a permission. So a session without hooks needs the person only where the transcript says so: at a question
or a plan without an answer, and where a request failed for good.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from turnlog.server.board.columns import Evidence, SessionState
from turnlog.transcripts.hooks.states import AgentPhase, Why

_SILENCE_NS = 120 * 1_000_000_000
"""After so long without anything more, an answer that does not say whether it is complete is taken for it."""
_ASKING = {"AskUserQuestion": Why.QUESTION, "ExitPlanMode": Why.PLAN, "exit_plan_mode": Why.PLAN}


class LastKind(StrEnum):
    """What the last thing is that somebody said."""

    PROMPT = "prompt"
    ANSWER = "answer"
    INTERRUPTION = "interruption"


class LastMessage(Struct, frozen=True, gc=False, kw_only=True):
    """The last thing that somebody said in the main conversation."""

    kind: LastKind
    at_ns: int | None
    calls: int = 0
    """How many calls an answer makes."""
    results_ns: int | None = None
    """When the last of them had its result."""
    complete: bool | None = None
    """Whether an answer says that it is all; None if it says nothing."""
    aborted: bool = False
    error: str | None = None
    """What went wrong, if the program says this in the place of an answer."""
    words: str | None = None
    """How it begins."""


class OpenCall(Struct, frozen=True, gc=False, kw_only=True):
    """A call of the last turn that has no result."""

    name: str
    id: str | None
    started_ns: int | None
    detail: str | None = None
    """The question, or how the plan begins."""


class Transcript(Struct, frozen=True, gc=False, kw_only=True):
    """What is looked at."""

    last: LastMessage | None
    calls: tuple[OpenCall, ...] = ()
    seen_ns: int
    """When anything was written last."""


def judge(transcript: Transcript, now_ns: int) -> SessionState:
    """Return what a transcript tells, at a time."""
    last = transcript.last
    if last is None:
        return _tell(transcript, AgentPhase.IDLE, transcript.seen_ns)
    if last.kind is LastKind.INTERRUPTION or last.aborted:
        return _tell(transcript, AgentPhase.NEEDS_YOU, last.at_ns, Why.TURN_ENDED, last.words)
    asking = next((call for call in transcript.calls if call.name in _ASKING), None)
    if asking is not None:
        why = _ASKING[asking.name]
        return _tell(transcript, AgentPhase.NEEDS_YOU, asking.started_ns, why, asking.detail, asking)
    if transcript.calls:
        call = transcript.calls[-1]
        return _tell(transcript, AgentPhase.AUTONOMOUS, call.started_ns, call=call)
    if last.error is not None:
        return _tell(transcript, AgentPhase.NEEDS_YOU, last.at_ns, Why.FAILED, last.error)
    if last.kind is LastKind.ANSWER and _is_complete(last, transcript.seen_ns, now_ns):
        return _tell(transcript, AgentPhase.NEEDS_YOU, last.at_ns, Why.TURN_ENDED, last.words)
    return _tell(transcript, AgentPhase.AUTONOMOUS, last.results_ns or last.at_ns)


def _is_complete(last: LastMessage, seen_ns: int, now_ns: int) -> bool:
    if last.calls:
        return False
    return now_ns - seen_ns > _SILENCE_NS if last.complete is None else last.complete


def _tell(
    transcript: Transcript,
    phase: AgentPhase,
    since_ns: int | None,
    why: Why | None = None,
    detail: str | None = None,
    call: OpenCall | None = None,
) -> SessionState:
    return SessionState(
        phase=phase,
        why=why,
        since_ns=since_ns,
        detail=detail,
        tool_name=None if call is None else call.name,
        tool_use_id=None if call is None else call.id,
        tool_since_ns=None if call is None else call.started_ns,
        evidence=Evidence.TRANSCRIPT,
        seen_ns=transcript.seen_ns,
    )
