"""One timeline of what files and hooks tell: messages, and hook events between them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct

from turnlog.server.shapes.messages import Message
from turnlog.transcripts.hooks.table import HookGroup

__all__ = ["HookCommand", "HookEntry", "HookItem", "MessageEntry", "TimelineEntry", "TimelineWindow"]


class HookCommand(Struct, frozen=True, gc=False, kw_only=True):
    """A command that a hook event set off, as the session's files tell of it."""

    name: str
    """Of the hook, as `PreToolUse:Bash`."""
    command: str | None
    outcome: str | None
    """What came of it: `ok`, `failed`, `blocked`, `cancelled`, `context`, `told`, `stopped`, `deferred`, or the
    decision on a call; null while it runs, or if only its start is told."""
    exit_code: int | None
    duration_ms: int | None
    output: str | None
    """What it said."""


class HookItem(Struct, frozen=True, gc=False, kw_only=True):
    """A hook event."""

    id: int
    """Of the delivery, in this archive."""
    delivery_id: str
    at: datetime | None
    """When it came."""
    event_name: str
    tool_name: str | None
    label: str
    """For people."""
    group: HookGroup | None
    """What it says about the agent's state; null if it says nothing."""
    context: Raw | None
    """What is specific to the event; null also if it is too long."""
    tool_use_id: str | None
    agent_id: str | None
    message: int | None
    """The index of the message that it stands under; null above the first."""
    commands: tuple[HookCommand, ...]
    """From the lines that tell of the same event, which are not shown a second time."""


class MessageEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="message"):
    """A message, where it stands in the file."""

    message: Message


class HookEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="hook"):
    """A hook event, behind the message that it stands under."""

    hook: HookItem


TimelineEntry = MessageEntry | HookEntry


class TimelineWindow(Struct, frozen=True, gc=False, kw_only=True):
    """A window of messages with the hook events under them, and how to go on in both directions."""

    items: tuple[TimelineEntry, ...]
    total: int
    """Of the messages in the file, filters aside."""
    before: str | None
    """Give it as `before` for those above; None at the beginning."""
    after: str | None
    """Give it as `after` for those below; None at the end."""
    revision: int
    """Of the session: it rises when something of its files changes."""
    omitted: int = 0
    """Hook events under these messages that are too many to be told here; `/hook-events` has them all."""
