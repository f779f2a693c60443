"""Events: lines that are neither said nor called, but happened (spec 002 §6).

Which sort of event a line is, `lines.categories` says. What the program put in the user's mouth is none.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UnknownEntry, UserEntry
from turnlog.messages.metadata import QueueOperation
from turnlog.messages.sdk import AssistantMessage, UserMessage, UserMessageReplay
from turnlog.transcripts.actions.states import ActionState
from turnlog.transcripts.hooks.lines import FAILURES, HookLine, read_hook_line
from turnlog.transcripts.lines.categories import find_category
from turnlog.transcripts.lines.kinds import Category

_PROMPTS = frozenset({UserEntry, UserMessage, UserMessageReplay})
_STOPPED = frozenset({"cancelled", "stopped", "deny", "deferred"})
_NOTED = frozenset({None, "context", "told"})
_ERROR = "error"


class Event(Struct, frozen=True, gc=False, kw_only=True):
    """What a line tells that happened."""

    category: Category
    name: str
    """The hook event, what was done to the queue, or the type of the line."""
    state: ActionState
    duration_ms: int | None = None
    hook: str | None = None
    """The hook event that it tells of."""
    tool_use_id: str | None = None
    """The call that this was about."""


def read_event(line: Line) -> Event | None:
    """Return what a line tells that happened; None if it is said, called, or repeated elsewhere."""
    entry = line.entry
    kind = type(entry)
    if kind in _PROMPTS or (kind is AssistantEntry and not _may_be_error(entry)):
        return None  # as nearly all lines
    category = find_category(line)
    if category is None:
        return None
    hook = read_hook_line(entry)
    if hook is not None and hook.event:
        return Event(
            category=category,
            name=hook.event,
            state=_judge(hook),
            duration_ms=hook.duration_ms,
            hook=hook.event,
            tool_use_id=hook.tool_use_id,
        )
    state = ActionState.FAILED if category is Category.ERROR else ActionState.NOTE
    return Event(category=category, name=_name(entry), state=state, duration_ms=_find_duration(entry))


def _may_be_error(entry: Any) -> bool:
    return entry.is_api_error_message is True or entry.is_error is True or isinstance(entry.subtype, str)


def _judge(hook: HookLine) -> ActionState:
    outcome = hook.outcome
    if outcome in FAILURES:
        return ActionState.FAILED
    if outcome in _STOPPED:
        return ActionState.REJECTED
    return ActionState.NOTE if outcome in _NOTED else ActionState.OK


def _name(entry: AnyEntry) -> str:
    if isinstance(entry, AssistantEntry | AssistantMessage):
        return _ERROR
    if isinstance(entry, UnknownEntry):
        return entry.type or "unknown"
    if isinstance(entry, QueueOperation):
        return str(entry.operation)
    if isinstance(entry, AttachmentEntry):
        return _name_type(type(entry.attachment), getattr(entry.attachment, "type", None))
    if isinstance(entry, ProgressEntry):
        return _name_type(type(entry.data), getattr(entry.data, "type", None))
    return _name_type(type(entry), getattr(entry, "type", None))


def _name_type(kind: type, said: object) -> str:
    config = getattr(kind, "__struct_config__", None)
    tag = None if config is None else config.tag
    return str(tag) if tag is not None else said if isinstance(said, str) and said else "unknown"


def _find_duration(entry: AnyEntry) -> int | None:
    value = getattr(entry, "duration_ms", None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return int(value) if is_number else None  # type: ignore[arg-type]
