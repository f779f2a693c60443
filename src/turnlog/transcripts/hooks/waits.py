"""Who waits for the person, and the calls that they wait because of."""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeVar

from turnlog.transcripts.hooks.details import find_detail, find_field, read_fields
from turnlog.transcripts.hooks.phases import RunningCall, StateEvent, Wait, Why

__all__ = [
    "add_asking_tool",
    "add_call",
    "add_elicitation",
    "add_permission",
    "add_unattributed",
    "drop_answered",
    "drop_returned",
]

_QUESTION_TOOL = "AskUserQuestion"
_PLAN_TOOL = "ExitPlanMode"
_MOST = 64
"""How many calls and waits are remembered at most, the newest of them."""

_Of = TypeVar("_Of", Wait, RunningCall)


def add_call(calls: tuple[RunningCall, ...], event: StateEvent) -> tuple[RunningCall, ...]:
    """Add the call that is begun."""
    call = RunningCall(
        tool_name=event.tool_name or "",
        tool_use_id=event.tool_use_id,
        agent_id=event.agent_id,
        since_ns=event.received_ns,
        digest=_digest_input(event),
    )
    return (*calls, call)[-_MOST:]


def drop_returned(things: tuple[_Of, ...], event: StateEvent) -> tuple[_Of, ...]:
    """Leave out a call that returned, or whoever waited because of it."""
    return tuple(thing for thing in things if not _is_of(event, thing))


def add_asking_tool(waits: tuple[Wait, ...], event: StateEvent) -> tuple[Wait, ...]:
    """Add a wait if the tool of the main agent that is begun asks the person something."""
    why = _why_of(event.tool_name)
    if why is Why.PERMISSION or event.agent_id is not None:
        return waits
    return (*waits, _make_wait(why, event, event.tool_use_id))[-_MOST:]


def add_permission(
    waits: tuple[Wait, ...], calls: tuple[RunningCall, ...], event: StateEvent
) -> tuple[Wait, ...]:
    """Add a wait for a permission, unless its call is waited for already."""
    tool_use_id = event.tool_use_id or _find_asking(waits, calls, event)
    if any(_is_of(event, wait) and wait.tool_use_id == tool_use_id for wait in waits):
        return waits
    known = tuple(wait for wait in waits if wait.attributed)
    return (*known, _make_wait(_why_of(event.tool_name), event, tool_use_id))[-_MOST:]


def add_unattributed(waits: tuple[Wait, ...], why: Why, event: StateEvent) -> tuple[Wait, ...]:
    """Add a wait of which only a notification tells, unless somebody waits already: it may tell of that."""
    if waits:
        return waits
    detail = find_detail(event.payload, why)
    return (Wait(why=why, since_ns=event.received_ns, detail=detail, attributed=False),)


def add_elicitation(waits: tuple[Wait, ...], event: StateEvent) -> tuple[Wait, ...]:
    """Add a wait for an answer to a server."""
    fields = read_fields(event.payload)
    wait = Wait(
        why=Why.QUESTION,
        since_ns=event.received_ns,
        agent_id=event.agent_id,
        server=find_field(fields, "mcp_server_name") or "",
        elicitation_id=find_field(fields, "elicitation_id"),
        detail=find_detail(event.payload, Why.QUESTION),
    )
    return (*waits, wait)[-_MOST:]


def drop_answered(waits: tuple[Wait, ...], event: StateEvent) -> tuple[Wait, ...]:
    """Leave out the question that was answered; a notification answers all, as it does not say which."""
    fields = read_fields(event.payload)
    server, elicitation_id = find_field(fields, "mcp_server_name"), find_field(fields, "elicitation_id")

    def is_answered(wait: Wait) -> bool:
        if not wait.attributed:
            return wait.why is Why.QUESTION
        if wait.server is None:
            return False
        if elicitation_id is not None and wait.elicitation_id is not None:
            return elicitation_id == wait.elicitation_id
        return server is None or server == wait.server

    return tuple(wait for wait in waits if not is_answered(wait))


def _why_of(tool_name: str | None) -> Why:
    return {_QUESTION_TOOL: Why.QUESTION, _PLAN_TOOL: Why.PLAN}.get(tool_name or "", Why.PERMISSION)


def _make_wait(why: Why, event: StateEvent, tool_use_id: str | None) -> Wait:
    return Wait(
        why=why,
        since_ns=event.received_ns,
        agent_id=event.agent_id,
        tool_name=event.tool_name or "",
        tool_use_id=tool_use_id,
        detail=find_detail(event.payload, why),
    )


def _is_of(event: StateEvent, thing: Wait | RunningCall) -> bool:
    if thing.agent_id != event.agent_id or thing.tool_name is None:
        return False
    if thing.tool_use_id is not None and event.tool_use_id is not None:
        return thing.tool_use_id == event.tool_use_id
    return thing.tool_name == (event.tool_name or "")


def _find_asking(waits: tuple[Wait, ...], calls: tuple[RunningCall, ...], event: StateEvent) -> str | None:
    """Return the id of the call that asks: the event does not name it, but has the same input."""
    alike = [call for call in calls if call.agent_id == event.agent_id and call.tool_name == event.tool_name]
    digest = _digest_input(event)
    exact = [call for call in alike if call.digest == digest] or alike
    waiting = {wait.tool_use_id for wait in waits if wait.why is Why.PERMISSION}
    return next((call.tool_use_id for call in exact if call.tool_use_id not in waiting), None)


def _digest_input(event: StateEvent) -> bytes:
    return blake2b(read_fields(event.payload).get("tool_input", b""), digest_size=8).digest()
