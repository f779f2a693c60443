"""From a hook's payload to what is kept of it, by the table of all events.

Payloads are untrusted, and versions differ: whatever comes is kept, and a field that is missing or of another
kind counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from turnlog.store.hooks import HookDelivery
from turnlog.transcripts.hooks.details import find_field, is_object, read_fields
from turnlog.transcripts.hooks.table import EVENTS, UNKNOWN_EVENT, EventRule, find_rule

__all__ = ["build_delivery", "is_readable"]

_LONGEST = 200
"""How many characters a label has at most."""
_UNREADABLE = "Unreadable event"
_FIELD = re.compile(r"\{(\w+)\}")


def is_readable(payload: bytes) -> bool:
    """Tell whether a payload may be what a hook is given: a JSON object, whatever is in it."""
    return is_object(payload)


def build_delivery(delivery_id: str, received_ns: int, payload: bytes, origin: str = "") -> HookDelivery:
    """Return what is kept of a payload; never raises for what is in it.

    `origin` is the machine that it comes from; empty for this one.
    """
    fields = read_fields(payload)
    name = find_field(fields, "hook_event_name") or ""
    notification = find_field(fields, "notification_type")
    rule = EVENTS.get(name, UNKNOWN_EVENT)
    return HookDelivery(
        delivery_id=delivery_id,
        received_ns=received_ns,
        payload=payload,
        session_id=find_field(fields, "session_id") or "",
        event_name=name,
        notification_type=notification,
        tool_name=find_field(fields, "tool_name"),
        label=_tell(rule, fields) or _shorten(name) or _UNREADABLE,
        group_name=find_rule(name, notification).group if name else None,
        context=_find_context(rule, fields),
        tool_use_id=find_field(fields, "tool_use_id") or None,
        agent_id=find_field(fields, "agent_id") or None,
        origin=origin,
    )


def _tell(rule: EventRule, fields: Mapping[str, Raw]) -> str:
    values = {name: " ".join((find_field(fields, name) or "").split()) for name in _FIELD.findall(rule.label)}
    if not all(values.values()):
        return rule.otherwise
    return _shorten(_FIELD.sub(lambda field: values[field[1]], rule.label))


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def _find_context(rule: EventRule, fields: Mapping[str, Raw]) -> str | None:
    if rule.whole is not None:
        given = fields.get(rule.whole)
        return None if given is None else bytes(given).decode()
    there = {field: fields[field] for field in rule.context if field in fields}
    return msgspec.json.encode(there).decode() if there else None
