"""What an agent does, as hooks tell it: a pure fold over deliveries, one at a time.

What the main agent does by itself (`OwnState`) and who waits for the person (`Wait`) are kept apart: calls run
side by side, and sub-agents ask while the main agent works, so an answer to one question must not hide another.
Events of sub-agents do not change what the main agent does; but whoever asks the person, needs the person. No
event tells that a permission was given, so a session needs you until the call that asked for it returns. Esc
fires no event either: the next prompt shows it, or the failure of the call that it interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from turnlog.transcripts.hooks import HookDelivery, StateChange, decode_object, find_rule, find_text

_QUESTION_TOOL = "AskUserQuestion"
_PLAN_TOOL = "ExitPlanMode"
_MOST = 64
"""How many calls and waits are remembered at most, the newest of them."""
_LONGEST_DETAIL = 300
_OF_TOOLS = (
    "command",
    "file_path",
    "notebook_path",
    "url",
    "query",
    "pattern",
    "path",
    "description",
    "prompt",
)
"""The fields of a tool's input that say what is to be done, the most telling first."""
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_WORKS_ON = frozenset(
    {StateChange.WORKS, StateChange.CALLS, StateChange.RETURNS, StateChange.RETURNS_ALL, StateChange.COMPACTS}
    | {StateChange.WORKS_IF_ALIVE}
)
_REVIVES = frozenset({StateChange.STARTS, StateChange.WORKS, StateChange.CALLS})
_OF_AGENTS = frozenset(
    {StateChange.CALLS, StateChange.RETURNS, StateChange.RETURNS_ALL, StateChange.ASKS_PERMISSION}
    | {StateChange.ASKS, StateChange.ANSWERED, StateChange.AGENT_ENDS}
)


class AgentPhase(StrEnum):
    """What the agent does."""

    AUTONOMOUS = "autonomous"
    NEEDS_YOU = "needs_you"
    IDLE = "idle"
    ENDED = "ended"


class WaitReason(StrEnum):
    """Why the user is needed."""

    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"
    IDLE = "idle"
    FAILED = "failed"
    TURN_ENDED = "turn_ended"


class Wait(Struct, frozen=True, gc=False, kw_only=True):
    """Somebody who waits for the person in the middle of the work."""

    why: WaitReason
    since_ns: int
    agent_id: str | None = None
    """The sub-agent that waits; None for the main agent."""
    tool_name: str | None = None
    tool_use_id: str | None = None
    server: str | None = None
    """The MCP server that asks."""
    elicitation_id: str | None = None
    detail: str | None = None
    attributed: bool = True
    """Whether it is known for what; a notification does not say."""


class RunningCall(Struct, frozen=True, gc=False, kw_only=True):
    """A call that was begun; `digest` tells its input from those of other calls of the same tool."""

    tool_name: str
    tool_use_id: str | None
    agent_id: str | None
    since_ns: int
    digest: bytes


class OwnState(Struct, frozen=True, gc=False, kw_only=True):
    """What the main agent does, whoever waits in the middle of its work."""

    phase: AgentPhase
    since_ns: int
    why: WaitReason | None = None
    detail: str | None = None
    tidying: bool = False
    """It compacts because the person asked for that."""


class AgentStatus(Struct, frozen=True, kw_only=True):
    """What a session's agent does now, and what that was told from.

    `own`, `waits` and `calls` are what `advance` needs to go on; the rest is what people are shown. While
    somebody waits for the person, it tells of whoever has waited longest.
    """

    phase: AgentPhase
    why: WaitReason | None = None
    """None unless the user is needed."""
    since_ns: int
    """When this phase began, for this reason."""
    tool_name: str | None = None
    """The tool that runs, the last that was begun, or the one that waits for the person."""
    tool_use_id: str | None = None
    detail: str | None = None
    """In a line, what the person is needed for: the command, the question, the error, the last words."""
    agent_id: str | None = None
    """The sub-agent that waits for the person."""
    tool_since_ns: int | None = None
    """When the tool was begun."""
    own: OwnState
    waits: tuple[Wait, ...] = ()
    calls: tuple[RunningCall, ...] = ()


_Of = TypeVar("_Of", Wait, RunningCall)


def advance(status: AgentStatus | None, event: HookDelivery) -> AgentStatus:
    """Return the state after an event, given the one before; None before the first event of a session.

    Events must come in the order of `received_ns`.
    """
    if status is None:
        status = _build_status(OwnState(phase=AgentPhase.IDLE, since_ns=event.received_ns), (), ())
    change = find_rule(event.event_name, event.notification_type).change
    if not event.event_name:  # it could not be read
        return status
    if status.own.phase is AgentPhase.ENDED and change not in _REVIVES:
        return status
    if event.agent_id is not None and change not in _OF_AGENTS:
        return status
    own, waits, calls = status.own, status.waits, status.calls
    match change:
        case StateChange.CALLS:
            calls, waits = _add_call(calls, event), _add_asking_tool(waits, event)
        case StateChange.RETURNS:
            calls, waits = _drop_returned(calls, event), _drop_returned(waits, event)
        case StateChange.AGENT_ENDS if event.agent_id is None:
            pass  # versions of old do not say which
        case StateChange.RETURNS_ALL | StateChange.AGENT_ENDS:
            calls = tuple(call for call in calls if call.agent_id != event.agent_id)
            waits = tuple(wait for wait in waits if wait.agent_id != event.agent_id)
        case StateChange.ASKS_PERMISSION:
            waits = _add_permission(waits, calls, event)
        case StateChange.ASKS:
            waits = _add_elicitation(waits, event)
        case StateChange.ANSWERED:
            waits = _drop_answered(waits, event)
        case _ if event.agent_id is None:
            own, waits, calls = _change_main(own, waits, calls, change, event)
    if event.agent_id is None and change in _WORKS_ON:
        own = _work(own, event)
        waits = tuple(wait for wait in waits if wait.attributed)
    return _build_status(own, waits, calls)


def _change_main(
    own: OwnState,
    waits: tuple[Wait, ...],
    calls: tuple[RunningCall, ...],
    change: StateChange,
    event: HookDelivery,
) -> tuple[OwnState, tuple[Wait, ...], tuple[RunningCall, ...]]:
    """Return what becomes of the main agent by an event that is not about a single call."""
    of_others = tuple(wait for wait in waits if wait.agent_id is not None)
    calls_of_others = tuple(call for call in calls if call.agent_id is not None)
    match change:
        case StateChange.STARTS:
            if find_text(event.fields, "source") == "compact":
                return (_enter(own, AgentPhase.IDLE, event) if own.tidying else own), waits, calls
            return _enter(own, AgentPhase.IDLE, event), (), ()
        case StateChange.ENDS:
            return _enter(own, AgentPhase.ENDED, event), (), ()
        case StateChange.WORKS:
            return own, of_others, calls_of_others
        case StateChange.TURN_ENDS:
            return _need(own, WaitReason.TURN_ENDED, event), of_others, calls_of_others
        case StateChange.TURN_FAILS:
            return _need(own, WaitReason.FAILED, event), of_others, calls_of_others
        case StateChange.COMPACTED:
            return (_enter(own, AgentPhase.IDLE, event) if own.tidying else own), waits, calls
        case StateChange.NOTIFIES_IDLE:
            return _need(own, WaitReason.IDLE, event), of_others, calls_of_others
        case StateChange.NOTIFIES_SOMETHING if own.why is not None:
            return _need(own, WaitReason.IDLE, event), of_others, calls_of_others
        case StateChange.NOTIFIES_PERMISSION | StateChange.NOTIFIES_SOMETHING:
            return own, _add_unattributed(waits, WaitReason.PERMISSION, event), calls
        case StateChange.NOTIFIES_QUESTION:
            return own, _add_unattributed(waits, WaitReason.QUESTION, event), calls
        case _:
            return own, waits, calls


def _build_status(own: OwnState, waits: tuple[Wait, ...], calls: tuple[RunningCall, ...]) -> AgentStatus:
    if waits:
        wait = waits[0]
        return AgentStatus(
            phase=AgentPhase.NEEDS_YOU,
            why=wait.why,
            since_ns=wait.since_ns,
            tool_name=wait.tool_name,
            tool_use_id=wait.tool_use_id,
            detail=wait.detail,
            agent_id=wait.agent_id,
            own=own,
            waits=waits,
            calls=calls,
        )
    runs = own.phase is AgentPhase.AUTONOMOUS
    last = next((call for call in reversed(calls) if call.agent_id is None), None) if runs else None
    return AgentStatus(
        phase=own.phase,
        why=own.why,
        since_ns=own.since_ns,
        tool_name=None if last is None else last.tool_name,
        tool_use_id=None if last is None else last.tool_use_id,
        detail=own.detail,
        tool_since_ns=None if last is None else last.since_ns,
        own=own,
        waits=waits,
        calls=calls,
    )


def _enter(own: OwnState, phase: AgentPhase, event: HookDelivery) -> OwnState:
    since = own.since_ns if own.phase is phase else event.received_ns
    return OwnState(phase=phase, since_ns=since)


def _need(own: OwnState, why: WaitReason, event: HookDelivery) -> OwnState:
    since = own.since_ns if own.why is why else event.received_ns
    detail = _find_detail(event, why)
    return OwnState(phase=AgentPhase.NEEDS_YOU, why=why, since_ns=since, detail=detail)


def _work(own: OwnState, event: HookDelivery) -> OwnState:
    fields = event.fields if event.event_name in ("PostToolUseFailure", "PreCompact") else {}
    if bytes(fields.get("is_interrupt", b"")) == b"true":
        return _need(own, WaitReason.TURN_ENDED, event)
    tidying = find_text(fields, "trigger") == "manual"
    return replace(_enter(own, AgentPhase.AUTONOMOUS, event), tidying=tidying)


def _add_call(calls: tuple[RunningCall, ...], event: HookDelivery) -> tuple[RunningCall, ...]:
    """Add the call that is begun."""
    call = RunningCall(
        tool_name=event.tool_name or "",
        tool_use_id=event.tool_use_id,
        agent_id=event.agent_id,
        since_ns=event.received_ns,
        digest=_digest_input(event),
    )
    return (*calls, call)[-_MOST:]


def _drop_returned(things: tuple[_Of, ...], event: HookDelivery) -> tuple[_Of, ...]:
    """Leave out a call that returned, or whoever waited because of it."""
    return tuple(thing for thing in things if not _is_of(event, thing))


def _add_asking_tool(waits: tuple[Wait, ...], event: HookDelivery) -> tuple[Wait, ...]:
    """Add a wait if the tool of the main agent that is begun asks the person something."""
    why = _why_of(event.tool_name)
    if why is WaitReason.PERMISSION or event.agent_id is not None:
        return waits
    return (*waits, _make_wait(why, event, event.tool_use_id))[-_MOST:]


def _add_permission(
    waits: tuple[Wait, ...], calls: tuple[RunningCall, ...], event: HookDelivery
) -> tuple[Wait, ...]:
    """Add a wait for a permission, unless its call is waited for already."""
    tool_use_id = event.tool_use_id or _find_asking(waits, calls, event)
    if any(_is_of(event, wait) and wait.tool_use_id == tool_use_id for wait in waits):
        return waits
    known = tuple(wait for wait in waits if wait.attributed)
    return (*known, _make_wait(_why_of(event.tool_name), event, tool_use_id))[-_MOST:]


def _add_unattributed(waits: tuple[Wait, ...], why: WaitReason, event: HookDelivery) -> tuple[Wait, ...]:
    """Add a wait of which only a notification tells, unless somebody waits already: it may tell of that."""
    if waits:
        return waits
    detail = _find_detail(event, why)
    return (Wait(why=why, since_ns=event.received_ns, detail=detail, attributed=False),)


def _add_elicitation(waits: tuple[Wait, ...], event: HookDelivery) -> tuple[Wait, ...]:
    """Add a wait for an answer to a server."""
    fields = event.fields
    wait = Wait(
        why=WaitReason.QUESTION,
        since_ns=event.received_ns,
        agent_id=event.agent_id,
        server=find_text(fields, "mcp_server_name") or "",
        elicitation_id=find_text(fields, "elicitation_id"),
        detail=_find_detail(event, WaitReason.QUESTION),
    )
    return (*waits, wait)[-_MOST:]


def _drop_answered(waits: tuple[Wait, ...], event: HookDelivery) -> tuple[Wait, ...]:
    """Leave out the question that was answered; a notification answers all, as it does not say which."""
    fields = event.fields
    server, elicitation_id = find_text(fields, "mcp_server_name"), find_text(fields, "elicitation_id")

    def is_answered(wait: Wait) -> bool:
        if not wait.attributed:
            return wait.why is WaitReason.QUESTION
        if wait.server is None:
            return False
        if elicitation_id is not None and wait.elicitation_id is not None:
            return elicitation_id == wait.elicitation_id
        return server is None or server == wait.server

    return tuple(wait for wait in waits if not is_answered(wait))


def _why_of(tool_name: str | None) -> WaitReason:
    return {_QUESTION_TOOL: WaitReason.QUESTION, _PLAN_TOOL: WaitReason.PLAN}.get(
        tool_name or "", WaitReason.PERMISSION
    )


def _make_wait(why: WaitReason, event: HookDelivery, tool_use_id: str | None) -> Wait:
    return Wait(
        why=why,
        since_ns=event.received_ns,
        agent_id=event.agent_id,
        tool_name=event.tool_name or "",
        tool_use_id=tool_use_id,
        detail=_find_detail(event, why),
    )


def _is_of(event: HookDelivery, thing: Wait | RunningCall) -> bool:
    if thing.agent_id != event.agent_id or thing.tool_name is None:
        return False
    if thing.tool_use_id is not None and event.tool_use_id is not None:
        return thing.tool_use_id == event.tool_use_id
    return thing.tool_name == (event.tool_name or "")


def _find_asking(waits: tuple[Wait, ...], calls: tuple[RunningCall, ...], event: HookDelivery) -> str | None:
    """Return the id of the call that asks: the event does not name it, but has the same input."""
    alike = [call for call in calls if call.agent_id == event.agent_id and call.tool_name == event.tool_name]
    digest = _digest_input(event)
    exact = [call for call in alike if call.digest == digest] or alike
    waiting = {wait.tool_use_id for wait in waits if wait.why is WaitReason.PERMISSION}
    return next((call.tool_use_id for call in exact if call.tool_use_id not in waiting), None)


def _digest_input(event: HookDelivery) -> bytes:
    return blake2b(event.fields.get("tool_input", b""), digest_size=8).digest()


def _find_detail(event: HookDelivery, why: WaitReason) -> str | None:
    """Return what a person wants to read first: the command, the question, the error, the last words."""
    fields = event.fields
    match why:
        case WaitReason.PERMISSION | WaitReason.QUESTION | WaitReason.PLAN:
            said = _find_asked(fields) or find_text(fields, "message")
        case WaitReason.FAILED:
            said = find_text(fields, "error_details") or find_text(fields, "error")
        case WaitReason.TURN_ENDED:
            said = find_text(fields, "last_assistant_message")
        case WaitReason.IDLE:
            said = find_text(fields, "message")
    return _shorten(said)


def _find_asked(fields: Mapping[str, Raw]) -> str | None:
    given = decode_object(fields.get("tool_input", b"")) or {}
    if "questions" in given:
        return _find_question(given["questions"])
    if "plan" in given:
        return find_text(given, "plan")
    return next(filter(None, (find_text(given, name) for name in _OF_TOOLS)), None)


def _find_question(questions: Raw) -> str | None:
    try:
        first = next(iter(_decode_list(questions)), Raw(b"{}"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return find_text(decode_object(first) or {}, "question")


def _shorten(text: str | None) -> str | None:
    if text is None:
        return None
    line = " ".join(text.split())
    return (line if len(line) <= _LONGEST_DETAIL else line[: _LONGEST_DETAIL - 1] + "…") or None
