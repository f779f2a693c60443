"""A hook event as it was delivered: its payload, decoded once, and what follows from it by the table of events.

Payloads are untrusted, and versions differ: whatever comes is kept, and a field that is missing or of another
kind counts as absent. `HookDelivery.fields` is the only place where a payload is decoded.

Lines of a session's files tell of the same events. A line belongs to the delivery of the same event about the
same call. Events that are about no call have no id that both would know: there it is the nearest in time, as
long as that is near. A delivery may have many lines, one for each command that it set off; a line has one
delivery, or stays by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec import Raw, Struct

from turnlog.transcripts.hooks.table import EVENTS, UNKNOWN_EVENT, EventRule, find_rule

NEAR = 10_000_000
"""How far a line may be from a delivery that it belongs to by time alone, in microseconds."""
_LONGEST = 200
"""How many characters a label has at most."""
_UNREADABLE = "Unreadable event"
_FIELD = re.compile(r"\{(\w+)\}")
_decode = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def decode_object(raw: bytes | Raw) -> Mapping[str, Raw] | None:
    """Return the fields of a JSON object, undecoded; None if it is no whole object."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def find_text(fields: Mapping[str, Raw], name: str) -> str | None:
    """Return a field's text; None if it is absent, or something else."""
    raw = fields.get(name)
    try:
        return None if raw is None else _decode_text(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class Told(Struct, frozen=True, gc=False):
    """What a line or a delivery says of the event that it tells of."""

    event: str
    tool_use_id: str | None
    at: int | None
    """When the event was, in microseconds since 1970."""
    id: str = ""
    """Of a delivery: what decides between those of the same time."""


class HookDelivery(Struct, frozen=True, kw_only=True, dict=True, array_like=True):
    """A payload that a hook was given, as it came, with what follows from it; `build_delivery` makes one.

    It is `array_like` because rows become deliveries field by field.
    """

    delivery_id: str
    """The same for each attempt to deliver it."""
    received_ns: int
    payload: bytes = b""
    """Empty also where it was not asked for."""
    session_id: str = ""
    """Empty if the payload does not say."""
    event_name: str = ""
    """Empty if the payload does not say."""
    notification_type: str | None = None
    tool_name: str | None = None
    label: str | None = None
    """For people."""
    group_name: str | None = None
    """What it says about the agent's state; None if nothing."""
    context: str | None = None
    """What is specific to the event, as JSON; None also where it was not asked for."""
    tool_use_id: str | None = None
    """The call that it is about."""
    agent_id: str | None = None
    """The sub-agent in which it happened; None for the main agent."""
    origin: str = ""
    """The machine that it comes from; empty for the one that the store is kept on."""
    id: int = 0
    """Its number in a store, as spec 002's events have it; 0 as long as it is in none."""

    @cached_property
    def _object(self) -> Mapping[str, Raw] | None:
        return decode_object(self.payload)

    @property
    def is_readable(self) -> bool:
        """Whether the payload may be what a hook is given: a JSON object, whatever is in it."""
        return self._object is not None

    @property
    def fields(self) -> Mapping[str, Raw]:
        """The fields of the payload; none if it cannot be read."""
        return self._object or {}

    @property
    def told(self) -> Told:
        """What decides which lines tell of the same event."""
        return Told(self.event_name, self.tool_use_id, self.received_ns // 1000, self.delivery_id)


class DeliveryFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which deliveries are asked for, and how much of each; they come by time, then by `delivery_id`."""

    session_id: str | None = None
    since_ns: int | None = None
    """At this time or later."""
    until_ns: int | None = None
    """Before this time."""
    tool_use_ids: Collection[str] | None = None
    """About any of these calls."""
    delivery_ids: Collection[str] | None = None
    ids: Collection[int] | None = None
    events_only: bool = False
    """Only events of spec 002's table (`table.is_shown`)."""
    first: int = 0
    count: int | None = None
    """How many at most; None for all."""
    payloads: bool = True
    longest_context: int | None = None
    """Contexts with more characters are left out."""


EVERY_DELIVERY = DeliveryFilter()


def build_delivery(delivery_id: str, received_ns: int, payload: bytes, origin: str = "") -> HookDelivery:
    """Return what is kept of a payload; never raises for what is in it.

    `origin` is the machine that it comes from; empty for this one.
    """
    found = decode_object(payload)
    fields = found or {}
    name = find_text(fields, "hook_event_name") or ""
    notification = find_text(fields, "notification_type")
    rule = EVENTS.get(name, UNKNOWN_EVENT)
    delivery = HookDelivery(
        delivery_id=delivery_id,
        received_ns=received_ns,
        payload=payload,
        session_id=find_text(fields, "session_id") or "",
        event_name=name,
        notification_type=notification,
        tool_name=find_text(fields, "tool_name"),
        label=_tell(rule, fields) or _shorten(name) or _UNREADABLE,
        group_name=find_rule(name, notification).group if name else None,
        context=_find_context(rule, fields),
        tool_use_id=find_text(fields, "tool_use_id") or None,
        agent_id=find_text(fields, "agent_id") or None,
        origin=origin,
    )
    vars(delivery)["_object"] = found  # so that nobody decodes it again
    return delivery


def _tell(rule: EventRule, fields: Mapping[str, Raw]) -> str:
    values = {name: " ".join((find_text(fields, name) or "").split()) for name in _FIELD.findall(rule.label)}
    if not all(values.values()):
        return rule.otherwise
    return _shorten(_FIELD.sub(lambda field: values[field[1]], rule.label))


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def _find_context(rule: EventRule, fields: Mapping[str, Raw]) -> str | None:
    if rule.whole is not None:
        given = fields.get(rule.whole)
        return None if given is None else bytes(given).decode(errors="replace")
    there = {field: fields[field] for field in rule.context if field in fields}
    return msgspec.json.encode(there).decode(errors="replace") if there else None


def match_lines(lines: Sequence[Told], deliveries: Sequence[Told]) -> dict[int, int]:
    """Return which line belongs to which delivery; the order in which either is given does not matter."""
    by_call: dict[tuple[str, str], list[int]] = {}
    by_event: dict[str, list[int]] = {}
    for number, delivery in enumerate(deliveries):
        if delivery.tool_use_id is None:
            by_event.setdefault(delivery.event, []).append(number)
        else:
            by_call.setdefault((delivery.event, delivery.tool_use_id), []).append(number)
    found: dict[int, int] = {}
    for number, line in enumerate(lines):
        same = by_call.get((line.event, line.tool_use_id), ()) if line.tool_use_id is not None else ()
        near = same or [each for each in by_event.get(line.event, ()) if _is_near(line, deliveries[each])]
        if near:
            found[number] = min(near, key=lambda each: _rank(line, deliveries[each]))
    return found


def _is_near(line: Told, delivery: Told) -> bool:
    return line.at is not None and delivery.at is not None and abs(line.at - delivery.at) <= NEAR


def _rank(line: Told, delivery: Told) -> tuple[int, int, str]:
    at = delivery.at or 0
    return (0 if line.at is None else abs(line.at - at), at, delivery.id)
