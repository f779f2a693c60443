"""The news that a background task ended, which is where a detached call's outcome stands.

It comes as a user line or a queued command with a `<task-notification>` text, or as a message of the stream.
"""

from __future__ import annotations

import re

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.channels import AnyEntry
from turnlog.messages.entries import AttachmentEntry, UserEntry
from turnlog.messages.sdk import TaskNotificationMessage, UserFields
from turnlog.transcripts.tool_blocks import list_texts

__all__ = ["TaskNotice", "find_notice"]

_START = "<task-notification>"
_FIELD = re.compile(r"<(task-id|tool-use-id|status)>([^<]*)</\1>")


class TaskNotice(Struct, frozen=True, gc=False):
    """The end of a background task."""

    line: Line
    status: str
    """`completed`, `failed`, `killed`, `stopped` and the like."""
    task_id: str | None = None
    tool_use_id: str | None = None


def find_notice(line: Line) -> TaskNotice | None:
    """Return the end of a task that a line tells of; None if it tells of none, or of mere events."""
    entry = line.entry
    if isinstance(entry, TaskNotificationMessage):
        call = entry.tool_use_id if isinstance(entry.tool_use_id, str) else None
        return (
            TaskNotice(line, str(entry.status), entry.task_id, call) if isinstance(entry.status, str) else None
        )
    text = _first_text(entry)
    if not text.startswith(_START):
        return None
    # What the task itself says comes last, and may hold such tags, too.
    said: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        said.setdefault(name, value.strip())
    if not said.get("status"):
        return None
    return TaskNotice(line, said["status"], said.get("task-id"), said.get("tool-use-id"))


def _first_text(entry: AnyEntry) -> str:
    if isinstance(entry, UserEntry | UserFields):
        return next(iter(list_texts(entry)), "").lstrip()
    if isinstance(entry, AttachmentEntry) and isinstance(entry.attachment, QueuedCommand):
        prompt = entry.attachment.prompt
        return prompt.lstrip() if isinstance(prompt, str) else ""
    return ""
