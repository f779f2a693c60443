"""What a session is doing, and in which column of mission control that puts it. Nothing is read here.

Hooks report states directly. A transcript tells when something ended, and not what is waited for: a call
without a result may run, or wait for a permission. So a session without hooks needs the person only where the
transcript says so: at a question or a plan without an answer, and where a request failed for good.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from turnlog.transcripts.agent_status import AgentPhase, AgentStatus, Why

_SECOND = 1_000_000_000
_FORGOTTEN_NS = 3600 * _SECOND
"""After an hour without a sign, nobody believes that a session works whose process is not known."""


class Column(StrEnum):
    """The column a session is in."""

    NEEDS_YOU = "needs_you"
    WORKING = "working"
    DONE = "done"


class ListedState(StrEnum):
    """What a session is doing, as one word for lists."""

    NEEDS_YOU = "needs_you"
    WORKING = "working"
    DONE = "done"
    STOPPED = "stopped"
    """By an error, or because its process ended in the middle of the work."""
    IDLE = "idle"
    """It was opened, and nobody asked anything yet; or nobody has seen a sign of it for an hour."""


class Evidence(StrEnum):
    """Where a state comes from."""

    HOOKS = "hooks"
    TRANSCRIPT = "transcript"


class ProcessState(StrEnum):
    """What is known about a session's process."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


class SessionState(Struct, frozen=True, gc=False, kw_only=True):
    """What a session does."""

    phase: AgentPhase
    why: Why | None = None
    since_ns: int | None
    detail: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_since_ns: int | None = None
    agent_id: str | None = None
    """The sub-agent that waits for the person."""
    evidence: Evidence
    seen_ns: int
    """The last sign of it."""
    cut_off: bool = False
    """Whether its process ended in the middle of the work."""

    @property
    def column(self) -> Column:
        """Where it stands."""
        return find_column(self.phase, self.why)


class StateChange(Struct, frozen=True, gc=False, kw_only=True):
    """A session that stands elsewhere, or for another reason."""

    session_id: str
    key: str | None = None
    """None if only hooks have told of it."""
    before: Column | None
    """None if nobody knew of it."""
    state: SessionState
    title: str | None
    project: str | None


def find_column(phase: AgentPhase, why: Why | None) -> Column:
    """Return where a session stands: one whose turn ended waits for nothing that it has begun."""
    if phase is AgentPhase.NEEDS_YOU and why is not Why.TURN_ENDED:
        return Column.NEEDS_YOU
    return Column.WORKING if phase is AgentPhase.AUTONOMOUS else Column.DONE


def name_state(state: SessionState) -> ListedState:
    """Return what a session does, in a word."""
    if state.cut_off or state.why is Why.FAILED:
        return ListedState.STOPPED
    if state.phase is AgentPhase.IDLE:
        return ListedState.IDLE
    return ListedState(state.column.value)


def from_hooks(status: AgentStatus, seen_ns: int) -> SessionState:
    """Return the state that hooks report."""
    return SessionState(
        phase=status.phase,
        why=status.why,
        since_ns=status.since_ns,
        detail=status.detail,
        tool_name=status.tool_name,
        tool_use_id=status.tool_use_id,
        tool_since_ns=status.tool_since_ns if status.tool_since_ns is not None else status.since_ns,
        agent_id=status.agent_id,
        evidence=Evidence.HOOKS,
        seen_ns=seen_ns,
    )


def settle(
    hooks: SessionState | None, transcript: SessionState | None, process: ProcessState, now_ns: int
) -> SessionState | None:
    """Return the state of a session from all that is known; None if nothing is.

    Hooks know more, but not all: Esc fires none, and they may have been taken away. So what the transcript
    tells counts where it began after the last hook. Whoever's process is gone has ended, whatever was told.
    """
    known = transcript if hooks is None else hooks
    if hooks is not None and transcript is not None and _is_later(transcript, hooks):
        known = transcript
    if known is None or known.phase is AgentPhase.ENDED:
        return known
    seen_ns = max(state.seen_ns for state in (hooks, transcript) if state is not None)
    if process is ProcessState.GONE:
        return _end(known, AgentPhase.ENDED, seen_ns)
    if (
        process is ProcessState.UNKNOWN
        and known.phase is AgentPhase.AUTONOMOUS
        and now_ns - seen_ns > _FORGOTTEN_NS
    ):
        return _end(known, AgentPhase.IDLE, seen_ns)
    return known


def _is_later(transcript: SessionState, hooks: SessionState) -> bool:
    """Tell whether the transcript knows of something that came after the last hook, and is not the same."""
    since = transcript.since_ns
    if since is None or since <= hooks.seen_ns + _SECOND:
        return False
    return (transcript.phase, transcript.why) != (hooks.phase, hooks.why)


def _end(known: SessionState, phase: AgentPhase, seen_ns: int) -> SessionState:
    return SessionState(
        phase=phase,
        since_ns=seen_ns,
        evidence=known.evidence,
        seen_ns=seen_ns,
        cut_off=phase is AgentPhase.ENDED and known.phase is AgentPhase.AUTONOMOUS,
    )


_SILENCE_NS = 120 * 1_000_000_000
"""After so long without anything more, an answer that does not say whether it is complete is taken for it."""
_ASKING = {"AskUserQuestion": Why.QUESTION, "ExitPlanMode": Why.PLAN, "exit_plan_mode": Why.PLAN}


class LastKind(StrEnum):
    """What kind of message is the last one."""

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
    """Return the state that follows from a transcript, at a time."""
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
