"""Hook events: how each is told, what it does to the agent's state, and which lines tell of the same one.

The first fifteen events of the table are spec 002's (section 4.2, the last of them is "any other"); the others
came later, and have the group that their meaning asks for. An event without a group says nothing about what
the agent does: spec 002 calls it metadata only. docs/hook-events.md shows the same tables, made from these.

Payloads are untrusted, and versions differ: whatever comes is kept, and a field that is missing or of another
kind counts as absent. `HookDelivery.fields` is the only place where a payload is decoded.

Lines of a session's files tell of the same events. A line belongs to the delivery of the same event about the
same call. Events that are about no call have no id that both would know: there it is the nearest in time, as
long as that is near. A delivery may have many lines, one for each command that it set off; a line has one
delivery, or stays by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum, unique
from functools import cached_property
from typing import Literal, get_args

import msgspec
from msgspec import Raw, Struct

HookGroup = Literal["autonomous", "needs_you", "delivered"]
"""What an event says about the agent (spec 002 section 4.1); no event is `delivered` yet."""

AUTONOMOUS: HookGroup = "autonomous"
NEEDS_YOU: HookGroup = "needs_you"
GROUPS: Mapping[str | None, HookGroup] = {group: group for group in get_args(HookGroup)}
"""The groups by their names."""


@unique
class StateChange(StrEnum):
    """What an event does to the state; `agent_status` says how."""

    NOTHING = "unchanged"
    STARTS = "idle; unchanged if a compaction within a turn caused it"
    ENDS = "ended"
    WORKS = "autonomous"
    WORKS_IF_ALIVE = "autonomous, unless the session has ended"
    CALLS = "autonomous; a question or a plan needs you"
    RETURNS = "autonomous, and nothing waits for this call any more; after an interruption the turn has ended"
    RETURNS_ALL = "autonomous, and nothing waits for any call"
    ASKS_PERMISSION = "needs you: permission, question or plan, depending on the tool; also for a sub-agent"
    ASKS = "needs you: question; also for a sub-agent"
    ANSWERED = "what it was before the question"
    TURN_ENDS = "needs you: the turn has ended"
    TURN_FAILS = "needs you: failed"
    AGENT_ENDS = "unchanged, but the sub-agent is no longer waiting"
    COMPACTS = "autonomous until the compaction is done"
    COMPACTED = "idle if the user asked for it"
    NOTIFIES = "depends on its type"
    NOTIFIES_PERMISSION = "needs you: permission, unless the request is already known"
    NOTIFIES_QUESTION = "needs you: question, unless the question is already known"
    NOTIFIES_IDLE = "needs you: idle"
    NOTIFIES_SOMETHING = "needs you: idle if the turn has ended, otherwise permission"


class EventRule(Struct, frozen=True, gc=False, kw_only=True):
    """How an event is told, and what it does."""

    group: HookGroup | None
    """None if it does not say what the agent does."""
    label: str
    """With names of fields in braces; `otherwise` counts if one of them is absent."""
    otherwise: str = ""
    context: tuple[str, ...] = ()
    """The fields that are specific to it, which become an object."""
    whole: str | None = None
    """The field that is the context by itself."""
    tool: bool = False
    """Whether it is about one tool."""
    change: StateChange = StateChange.NOTHING
    shown: bool = True
    """Whether it is an event of spec 002's table; what is not is kept all the same."""


class NotificationRule(Struct, frozen=True, gc=False):
    """What a type of notification says."""

    group: HookGroup | None
    change: StateChange = StateChange.NOTHING
    shown: bool = True


def _tool(
    label: str, otherwise: str, change: StateChange, *context: str, group: HookGroup = AUTONOMOUS
) -> EventRule:
    return EventRule(group=group, label=label, otherwise=otherwise, context=context, tool=True, change=change)


def _note(label: str, otherwise: str, *context: str) -> EventRule:
    return EventRule(group=None, label=label, otherwise=otherwise, context=context)


def _event(
    group: HookGroup | None, change: StateChange, label: str, otherwise: str = "", context: tuple[str, ...] = ()
) -> EventRule:
    return EventRule(group=group, change=change, label=label, otherwise=otherwise, context=context)


_SPEC: Mapping[str, EventRule] = {
    "SessionStart": _event(
        AUTONOMOUS, StateChange.STARTS, "Session started ({source})", "Session started", ("source", "model")
    ),
    "UserPromptSubmit": _event(AUTONOMOUS, StateChange.WORKS, "{prompt}", "Prompt", ("prompt",)),
    "PreToolUse": EventRule(
        group=AUTONOMOUS,
        label="Running {tool_name}",
        otherwise="Running a tool",
        whole="tool_input",
        tool=True,
        change=StateChange.CALLS,
    ),
    "PostToolUse": _tool("{tool_name} completed", "A tool completed", StateChange.RETURNS),
    "PostToolUseFailure": _tool(
        "{tool_name} failed", "A tool failed", StateChange.RETURNS, "error", "is_interrupt"
    ),
    "PermissionRequest": _tool(
        "Permission needed for {tool_name}",
        "Permission needed",
        StateChange.ASKS_PERMISSION,
        "permission_suggestions",
        group=NEEDS_YOU,
    ),
    "Notification": _event(
        AUTONOMOUS,
        StateChange.NOTIFIES,
        "{message}",
        "Notification",
        ("notification_type", "title", "message"),
    ),
    "Stop": _event(NEEDS_YOU, StateChange.TURN_ENDS, "Stopped"),
    "SessionEnd": EventRule(
        group=None,
        label="Session ended ({reason})",
        otherwise="Session ended",
        context=("reason",),
        change=StateChange.ENDS,
        shown=False,
    ),
    "SubagentStart": _event(
        AUTONOMOUS,
        StateChange.NOTHING,
        "Agent started: {agent_type}",
        "Agent started",
        ("agent_type", "agent_id"),
    ),
    "SubagentStop": _event(None, StateChange.AGENT_ENDS, "Agent completed: {agent_type}", "Agent completed"),
    "TeammateIdle": _note("Teammate idle: {teammate_name}", "Teammate idle", "teammate_name", "team_name"),
    "TaskCompleted": _note("Task completed: {task_subject}", "Task completed", "task_id", "task_subject"),
    "PreCompact": _event(
        AUTONOMOUS, StateChange.COMPACTS, "Compacting ({trigger})", "Compacting", ("trigger",)
    ),
}

_NEWER: Mapping[str, EventRule] = {
    "Setup": _event(None, StateChange.NOTHING, "Setup ({trigger})", "Setup", ("trigger",)),
    "UserPromptExpansion": _event(
        AUTONOMOUS,
        StateChange.WORKS,
        "/{command_name}",
        "Prompt expanded",
        ("expansion_type", "command_name", "command_args", "command_source"),
    ),
    "PostToolBatch": _event(AUTONOMOUS, StateChange.RETURNS_ALL, "All tools completed"),
    "PermissionDenied": _tool("{tool_name} denied", "A tool was denied", StateChange.RETURNS, "reason"),
    "StopFailure": _event(
        NEEDS_YOU,
        StateChange.TURN_FAILS,
        "Stopped by an error: {error}",
        "Stopped by an error",
        ("error", "error_details"),
    ),
    "PostCompact": _event(
        AUTONOMOUS, StateChange.COMPACTED, "Compacted ({trigger})", "Compacted", ("trigger",)
    ),
    "Elicitation": _event(
        NEEDS_YOU,
        StateChange.ASKS,
        "{mcp_server_name} asks: {message}",
        "A server asks",
        ("mcp_server_name", "message", "mode", "url", "elicitation_id", "requested_schema"),
    ),
    "ElicitationResult": _event(
        AUTONOMOUS,
        StateChange.ANSWERED,
        "{mcp_server_name} was answered: {action}",
        "A server was answered",
        ("mcp_server_name", "action", "mode", "elicitation_id"),
    ),
    "MessageDisplay": _event(
        AUTONOMOUS, StateChange.NOTHING, "Text shown", "", ("turn_id", "message_id", "index", "final")
    ),
    "TaskCreated": _note("Task created: {task_subject}", "Task created", "task_id", "task_subject"),
    "ConfigChange": _note("Settings changed ({source})", "Settings changed", "source", "file_path"),
    "InstructionsLoaded": _note(
        "Instructions loaded: {file_path}", "Instructions loaded", "file_path", "memory_type", "load_reason"
    ),
    "WorktreeCreate": _note("Worktree to create: {name}", "Worktree to create", "name"),
    "WorktreeRemove": _note("Worktree to remove: {worktree_path}", "Worktree to remove", "worktree_path"),
    "CwdChanged": _note("Now in {new_cwd}", "Directory changed", "old_cwd", "new_cwd"),
    "FileChanged": _note("File changed: {file_path}", "File changed", "file_path", "event"),
    "DirectoryAdded": _note("Directory added: {directory}", "Directory added", "directory", "source"),
    "PreModelSwitch": _note(
        "Model to change from {from_model} to {to_model}", "Model to change", "from_model", "to_model", "source"
    ),
    "PostModelSwitch": _note(
        "Model changed from {from_model} to {to_model}", "Model changed", "from_model", "to_model", "source"
    ),
}

EVENTS: Mapping[str, EventRule] = {**_SPEC, **_NEWER}
"""The rule of each event by its name."""

UNKNOWN_EVENT = EventRule(group=AUTONOMOUS, label="", tool=True, change=StateChange.WORKS_IF_ALIVE)
"""The rule of all others; the label is the event's name."""

NOTIFICATIONS: Mapping[str, NotificationRule] = {
    "permission_prompt": NotificationRule(NEEDS_YOU, StateChange.NOTIFIES_PERMISSION),
    "idle_prompt": NotificationRule(NEEDS_YOU, StateChange.NOTIFIES_IDLE),
    "elicitation_dialog": NotificationRule(NEEDS_YOU, StateChange.NOTIFIES_QUESTION),
    "auth_success": NotificationRule(None, shown=False),
    "worker_permission_prompt": NotificationRule(NEEDS_YOU, StateChange.NOTIFIES_PERMISSION),
    "elicitation_response": NotificationRule(AUTONOMOUS, StateChange.ANSWERED),
    "elicitation_complete": NotificationRule(AUTONOMOUS, StateChange.ANSWERED),
    "agent_needs_input": NotificationRule(NEEDS_YOU),
    "agent_completed": NotificationRule(None),
}
"""What the types of `Notification` say; `agent_…` are about other sessions than the one that tells."""

UNKNOWN_NOTIFICATION = NotificationRule(AUTONOMOUS)
UNTYPED_NOTIFICATION = NotificationRule(NEEDS_YOU, StateChange.NOTIFIES_SOMETHING)
"""Before notifications had a type, there were only those that wait for the person."""


def find_rule(event_name: str, notification_type: str | None) -> EventRule | NotificationRule:
    """Return what decides about an event's group and state: its rule, or that of its type of notification."""
    if event_name != "Notification":
        return EVENTS.get(event_name, UNKNOWN_EVENT)
    if notification_type is None:
        return UNTYPED_NOTIFICATION
    return NOTIFICATIONS.get(notification_type, UNKNOWN_NOTIFICATION)


def is_shown(event_name: str, notification_type: str | None) -> bool:
    """Tell whether it is an event of spec 002's table: the end of a session and a sign-in are none."""
    return find_rule(event_name, notification_type).shown


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


class HookMention(Struct, frozen=True, gc=False):
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
    def told(self) -> HookMention:
        """What decides which lines tell of the same event."""
        return HookMention(self.event_name, self.tool_use_id, self.received_ns // 1000, self.delivery_id)


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
    """Only events of spec 002's table (`is_shown`)."""
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
        label=_describe(rule, fields) or _shorten(name) or _UNREADABLE,
        group_name=find_rule(name, notification).group if name else None,
        context=_find_context(rule, fields),
        tool_use_id=find_text(fields, "tool_use_id") or None,
        agent_id=find_text(fields, "agent_id") or None,
        origin=origin,
    )
    vars(delivery)["_object"] = found  # so that nobody decodes it again
    return delivery


def _describe(rule: EventRule, fields: Mapping[str, Raw]) -> str:
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


def match_lines(lines: Sequence[HookMention], deliveries: Sequence[HookMention]) -> dict[int, int]:
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


def _is_near(line: HookMention, delivery: HookMention) -> bool:
    return line.at is not None and delivery.at is not None and abs(line.at - delivery.at) <= NEAR


def _rank(line: HookMention, delivery: HookMention) -> tuple[int, int, str]:
    at = delivery.at or 0
    return (0 if line.at is None else abs(line.at - at), at, delivery.id)


def render_events() -> str:
    """Return the table of all events, as Markdown."""
    rows = [(f"`{name}`", rule) for name, rule in EVENTS.items()]
    return "\n".join(_render_events([*rows, ("any other", UNKNOWN_EVENT)])) + "\n"


def render_notifications() -> str:
    """Return the table of all types of notifications, as Markdown."""
    rows = [(f"`{name}`", rule) for name, rule in NOTIFICATIONS.items()]
    rows += [("any other", UNKNOWN_NOTIFICATION), ("none", UNTYPED_NOTIFICATION)]
    return "\n".join(_render_notifications(rows)) + "\n"


def _render_events(rows: list[tuple[str, EventRule]]) -> Iterator[str]:
    yield "| Event | Group | Label | Context | Tool | State |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, rule in rows:
        group = "depends on its type" if name == "`Notification`" else _render_group(rule.group, rule.shown)
        label = " or ".join(f"`{text}`" for text in (rule.label, rule.otherwise) if text) or "its name"
        context = (
            f"`{rule.whole}`, unchanged" if rule.whole else ", ".join(f"`{field}`" for field in rule.context)
        )
        tool = "`tool_name`" if rule.tool else ""
        yield f"| {name} | {group} | {label} | {context} | {tool} | {rule.change.value} |"


def _render_notifications(rows: list[tuple[str, NotificationRule]]) -> Iterator[str]:
    yield "| `notification_type` | Group | State |"
    yield "| --- | --- | --- |"
    for name, rule in rows:
        yield f"| {name} | {_render_group(rule.group, rule.shown)} | {rule.change.value} |"


def _render_group(group: str | None, shown: bool) -> str:
    return ("" if group is None else f"`{group}`") if shown else "kept, but not an event"
