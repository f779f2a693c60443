"""From a hook's payload to what is kept of it: spec 002, section 4.2, as a table.

Payloads are untrusted, and versions differ: whatever comes is kept, and a field that is missing or of another
kind counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from turnlog.store.hooks import HookDelivery

__all__ = ["build_delivery"]

_AUTONOMOUS = "autonomous"
_NEEDS_YOU = "needs_you"
_LONGEST = 200
"""How many characters a label has at most."""
_UNREADABLE = "Unreadable event"


class _Event(Struct, frozen=True, gc=False):
    """How an event is told."""

    group: str | None
    """None if it does not change what the agent is said to do."""
    label: str
    """With names of fields in braces; `otherwise` counts if one of them is absent."""
    otherwise: str = ""
    context: tuple[str, ...] = ()
    """The fields that are specific to it."""


_EVENTS: Mapping[str, _Event] = {
    "SessionStart": _Event(_AUTONOMOUS, "Session started ({source})", "Session started", ("source", "model")),
    "UserPromptSubmit": _Event(_AUTONOMOUS, "{prompt}", "Prompt", ("prompt",)),
    "PreToolUse": _Event(_AUTONOMOUS, "Running {tool_name}", "Running a tool"),
    "PostToolUse": _Event(_AUTONOMOUS, "{tool_name} completed", "A tool completed"),
    "PostToolUseFailure": _Event(_AUTONOMOUS, "{tool_name} failed", "A tool failed", ("error", "is_interrupt")),
    "PermissionRequest": _Event(
        _NEEDS_YOU, "Permission needed for {tool_name}", "Permission needed", ("permission_suggestions",)
    ),
    "Notification": _Event(_AUTONOMOUS, "{message}", "Notification", ("notification_type", "title", "message")),
    "Stop": _Event(_NEEDS_YOU, "Stopped"),
    "SessionEnd": _Event(None, "Session ended ({reason})", "Session ended", ("reason",)),
    "SubagentStart": _Event(
        _AUTONOMOUS, "Agent started: {agent_type}", "Agent started", ("agent_type", "agent_id")
    ),
    "SubagentStop": _Event(None, "Agent completed: {agent_type}", "Agent completed"),
    "TeammateIdle": _Event(
        None, "Teammate idle: {teammate_name}", "Teammate idle", ("teammate_name", "team_name")
    ),
    "TaskCompleted": _Event(
        None, "Task completed: {task_subject}", "Task completed", ("task_id", "task_subject")
    ),
    "PreCompact": _Event(_AUTONOMOUS, "Compacting ({trigger})", "Compacting", ("trigger",)),
}

_NOTIFICATIONS: Mapping[str, str] = {
    "permission_prompt": _NEEDS_YOU,
    "idle_prompt": _NEEDS_YOU,
    "elicitation_dialog": _NEEDS_YOU,
}

_decode = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def build_delivery(delivery_id: str, received_ns: int, payload: bytes) -> HookDelivery:
    """Return what is kept of a payload; never raises for what is in it."""
    try:
        fields = _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return HookDelivery(
            delivery_id=delivery_id, received_ns=received_ns, payload=payload, label=_UNREADABLE
        )
    name = _find_text(fields, "hook_event_name") or ""
    notification = _find_text(fields, "notification_type")
    event = _EVENTS.get(name, _Event(_AUTONOMOUS, name or _UNREADABLE))
    return HookDelivery(
        delivery_id=delivery_id,
        received_ns=received_ns,
        payload=payload,
        session_id=_find_text(fields, "session_id") or "",
        event_name=name,
        notification_type=notification,
        tool_name=_find_text(fields, "tool_name"),
        label=_tell(event, fields),
        group_name=_find_group(name, event, notification),
        context=_find_context(name, event, fields),
    )


def _find_text(fields: Mapping[str, Raw], name: str) -> str | None:
    raw = fields.get(name)
    try:
        return None if raw is None else _decode_text(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _find_group(name: str, event: _Event, notification: str | None) -> str | None:
    if name != "Notification":
        return event.group
    # Before notifications had a type, there were only those that wait for the person.
    return _NEEDS_YOU if notification is None else _NOTIFICATIONS.get(notification, event.group)


def _tell(event: _Event, fields: Mapping[str, Raw]) -> str:
    before, brace, rest = event.label.partition("{")
    if not brace:
        return event.label[:_LONGEST]
    name, _, after = rest.partition("}")
    value = " ".join((_find_text(fields, name) or "").split())
    label = f"{before}{value}{after}" if value else event.otherwise
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def _find_context(name: str, event: _Event, fields: Mapping[str, Raw]) -> str | None:
    if name == "PreToolUse":
        given = fields.get("tool_input")
        return None if given is None else bytes(given).decode()
    there = {field: fields[field] for field in event.context if field in fields}
    return msgspec.json.encode(there).decode() if there else None
