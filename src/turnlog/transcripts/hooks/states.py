"""The agent's state as a pure fold over hook events, one at a time.

What the main agent does by itself (`OwnState`) and who waits for the person (`Wait`) are kept apart: calls run
side by side, and sub-agents ask while the main agent works, so an answer to one question must not hide another.
Events of sub-agents do not change what the main agent does; but whoever asks the person, needs the person. No
event tells that a permission was given, so a session needs you until the call that asked for it returns. Esc
fires no event either: the next prompt shows it, or the failure of the call that it interrupted.
"""

from __future__ import annotations

from msgspec.structs import replace

from turnlog.transcripts.hooks.details import find_detail, find_field, read_fields
from turnlog.transcripts.hooks.phases import (
    AgentPhase,
    AgentStatus,
    OwnState,
    RunningCall,
    StateEvent,
    Wait,
    Why,
)
from turnlog.transcripts.hooks.table import StateChange, find_rule
from turnlog.transcripts.hooks.waits import (
    add_asking_tool,
    add_call,
    add_elicitation,
    add_permission,
    add_unattributed,
    drop_answered,
    drop_returned,
)

__all__ = ["AgentPhase", "AgentStatus", "StateEvent", "Why", "advance"]

_WORKS_ON = frozenset(
    {StateChange.WORKS, StateChange.CALLS, StateChange.RETURNS, StateChange.RETURNS_ALL, StateChange.COMPACTS}
    | {StateChange.WORKS_IF_ALIVE}
)
_REVIVES = frozenset({StateChange.STARTS, StateChange.WORKS, StateChange.CALLS})
_OF_AGENTS = frozenset(
    {StateChange.CALLS, StateChange.RETURNS, StateChange.RETURNS_ALL, StateChange.ASKS_PERMISSION}
    | {StateChange.ASKS, StateChange.ANSWERED, StateChange.AGENT_ENDS}
)


def advance(status: AgentStatus | None, event: StateEvent) -> AgentStatus:
    """Return the state after an event, given the one before; None before the first event of a session.

    Events must come in the order of `received_ns`.
    """
    if status is None:
        status = _begin(event.received_ns)
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
            calls, waits = add_call(calls, event), add_asking_tool(waits, event)
        case StateChange.RETURNS:
            calls, waits = drop_returned(calls, event), drop_returned(waits, event)
        case StateChange.AGENT_ENDS if event.agent_id is None:
            pass  # versions of old do not say which
        case StateChange.RETURNS_ALL | StateChange.AGENT_ENDS:
            calls = tuple(call for call in calls if call.agent_id != event.agent_id)
            waits = tuple(wait for wait in waits if wait.agent_id != event.agent_id)
        case StateChange.ASKS_PERMISSION:
            waits = add_permission(waits, calls, event)
        case StateChange.ASKS:
            waits = add_elicitation(waits, event)
        case StateChange.ANSWERED:
            waits = drop_answered(waits, event)
        case _ if event.agent_id is None:
            own, waits, calls = _change_main(own, waits, calls, change, event)
    if event.agent_id is None and change in _WORKS_ON:
        own = _work(own, event)
        waits = tuple(wait for wait in waits if wait.attributed)
    return _tell(own, waits, calls)


def _begin(at_ns: int) -> AgentStatus:
    return _tell(OwnState(phase=AgentPhase.IDLE, since_ns=at_ns), (), ())


def _change_main(
    own: OwnState,
    waits: tuple[Wait, ...],
    calls: tuple[RunningCall, ...],
    change: StateChange,
    event: StateEvent,
) -> tuple[OwnState, tuple[Wait, ...], tuple[RunningCall, ...]]:
    """Return what becomes of the main agent by an event that is not about a single call."""
    of_others = tuple(wait for wait in waits if wait.agent_id is not None)
    calls_of_others = tuple(call for call in calls if call.agent_id is not None)
    match change:
        case StateChange.STARTS:
            if find_field(read_fields(event.payload), "source") == "compact":
                return (_rest(own, event) if own.tidying else own), waits, calls
            return _enter(own, AgentPhase.IDLE, event), (), ()
        case StateChange.ENDS:
            return _enter(own, AgentPhase.ENDED, event), (), ()
        case StateChange.WORKS:
            return own, of_others, calls_of_others
        case StateChange.TURN_ENDS:
            return _need(own, Why.TURN_ENDED, event), of_others, calls_of_others
        case StateChange.TURN_FAILS:
            return _need(own, Why.FAILED, event), of_others, calls_of_others
        case StateChange.COMPACTED:
            return (_rest(own, event) if own.tidying else own), waits, calls
        case StateChange.NOTIFIES_IDLE:
            return _need(own, Why.IDLE, event), of_others, calls_of_others
        case StateChange.NOTIFIES_SOMETHING if own.why is not None:
            return _need(own, Why.IDLE, event), of_others, calls_of_others
        case StateChange.NOTIFIES_PERMISSION | StateChange.NOTIFIES_SOMETHING:
            return own, add_unattributed(waits, Why.PERMISSION, event), calls
        case StateChange.NOTIFIES_QUESTION:
            return own, add_unattributed(waits, Why.QUESTION, event), calls
        case _:
            return own, waits, calls


def _tell(own: OwnState, waits: tuple[Wait, ...], calls: tuple[RunningCall, ...]) -> AgentStatus:
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


def _enter(own: OwnState, phase: AgentPhase, event: StateEvent) -> OwnState:
    since = own.since_ns if own.phase is phase else event.received_ns
    return OwnState(phase=phase, since_ns=since)


def _need(own: OwnState, why: Why, event: StateEvent) -> OwnState:
    since = own.since_ns if own.why is why else event.received_ns
    detail = find_detail(event.payload, why)
    return OwnState(phase=AgentPhase.NEEDS_YOU, why=why, since_ns=since, detail=detail)


def _rest(own: OwnState, event: StateEvent) -> OwnState:
    return _enter(own, AgentPhase.IDLE, event)


def _work(own: OwnState, event: StateEvent) -> OwnState:
    fields = read_fields(event.payload) if event.event_name in ("PostToolUseFailure", "PreCompact") else {}
    if bytes(fields.get("is_interrupt", b"")) == b"true":
        return _need(own, Why.TURN_ENDED, event)
    tidying = find_field(fields, "trigger") == "manual"
    return replace(_enter(own, AgentPhase.AUTONOMOUS, event), tidying=tidying)
