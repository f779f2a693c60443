"""One table of all hook events: how each is told, and what it does to the agent's state.

The first fifteen are spec 002's (section 4.2, the last of them is "any other"); the others came later, and have
the group that their meaning asks for. An event without a group says nothing about what the agent does: spec 002
calls it metadata only. docs/hook-events.md shows the same tables, made from these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Literal, get_args

from msgspec import Struct

HookGroup = Literal["autonomous", "needs_you", "delivered"]
"""What an event says about the agent (spec 002 section 4.1); no event is `delivered` yet."""

AUTONOMOUS: HookGroup = "autonomous"
NEEDS_YOU: HookGroup = "needs_you"
GROUPS: Mapping[str | None, HookGroup] = MappingProxyType({group: group for group in get_args(HookGroup)})
"""The groups by their names."""


@unique
class StateChange(StrEnum):
    """What an event does to the state; `states` says how."""

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

EVENTS: Mapping[str, EventRule] = MappingProxyType({**_SPEC, **_NEWER})
"""The rule of each event by its name."""

UNKNOWN_EVENT = EventRule(group=AUTONOMOUS, label="", tool=True, change=StateChange.WORKS_IF_ALIVE)
"""The rule of all others; the label is the event's name."""

NOTIFICATIONS: Mapping[str, NotificationRule] = MappingProxyType(
    {
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
)
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
