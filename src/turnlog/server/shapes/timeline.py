"""One timeline of what files and hooks tell: messages, and hook events between them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Raw, Struct

from turnlog.server.shapes.messages import Message
from turnlog.transcripts.hooks.table import HookGroup


class HookCommand(Struct, frozen=True, gc=False, kw_only=True):
    """A command that a hook event triggered, as reported in the session's files."""

    name: str
    """The name of the hook, such as `PreToolUse:Bash`."""
    command: str | None
    outcome: str | None
    """The outcome: `ok`, `failed`, `blocked`, `cancelled`, `context`, `told`, `stopped`, `deferred`, or the
    decision on a call; null while it runs, or if only its start was reported."""
    exit_code: int | None
    duration_ms: int | None
    output: str | None
    """Its output."""


class HookItem(Struct, frozen=True, gc=False, kw_only=True):
    """A hook event."""

    id: int
    """The delivery's number in this archive."""
    delivery_id: str
    at: datetime | None
    """When it arrived."""
    event_name: str
    tool_name: str | None
    label: str
    """For people."""
    group: HookGroup | None
    """What it says about the agent's state; null if nothing."""
    context: Raw | None
    """What is specific to the event; null also if it is too long."""
    tool_use_id: str | None
    agent_id: str | None
    message: int | None
    """The index of the message that it is placed under; null above the first."""
    commands: tuple[HookCommand, ...]
    """From lines that report the same event, which are not shown again."""


class NoteItem(Struct, frozen=True, gc=False, kw_only=True):
    """Something that happened between messages: to the queue, a snapshot of files, or how long a turn took."""

    line: int
    """The line's position in the file, from 0."""
    message: int | None
    """The index of the message that it is placed under; null above the first."""
    category: Literal["queue", "snapshot", "system"]
    text: str
    """What happened, in a sentence."""
    created_at: datetime | None


class MessageEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="message"):
    """A message, at its place in the file."""

    message: Message


class HookEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="hook"):
    """A hook event, after the message that it is placed under."""

    hook: HookItem


class NoteEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="note"):
    """What happened below a message, where it stands in the file."""

    note: NoteItem


TimelineEntry = MessageEntry | HookEntry | NoteEntry


class TimelineWindow(Struct, frozen=True, gc=False, kw_only=True):
    """A window of messages with what happened under them, and how to continue in both directions."""

    items: tuple[TimelineEntry, ...]
    total: int
    """The number of messages in the file, ignoring filters."""
    before: str | None
    """Pass it as `before` for the messages above; None at the beginning."""
    after: str | None
    """Pass it as `after` for the messages below; None at the end."""
    revision: int
    """The revision of the session; it increases when its files change."""
    omitted: int = 0
    """The number of hook events under these messages that were left out; `/hook-events` has them all."""
