"""The news that a background task ended, which is where a detached call's outcome stands.

It comes as a user line or a queued command with a `<task-notification>` text, or as a message of the stream.
One that never got beyond the queue, because the person interrupted, tells of an end all the same.
"""

from __future__ import annotations

import re

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import AttachmentEntry, UserEntry
from turnlog.messages.metadata import QueueAction, QueueOperation
from turnlog.messages.sdk import TaskNotificationMessage, UserFields, UserMessage, UserMessageReplay
from turnlog.transcripts.lines.blocks import list_texts

_TELLING = frozenset(
    {TaskNotificationMessage, UserEntry, UserMessage, UserMessageReplay, AttachmentEntry, QueueOperation}
)
_START = "<task-notification>"
_RESULT, _RESULT_END = "<result>", "</result>"
_SUMMARY, _SUMMARY_END = "<summary>", "</summary>"
_FIELD = re.compile(r"<(task-id|tool-use-id|status)>([^<]*)</\1>")


class TaskNotice(Struct, frozen=True, gc=False):
    """The end of a background task."""

    line: Line
    status: str
    """`completed`, `failed`, `killed`, `stopped` and the like."""
    task_id: str | None = None
    tool_use_id: str | None = None

    @property
    def summary(self) -> str | None:
        """What the program says of the end, in a sentence."""
        if isinstance(self.line.entry, TaskNotificationMessage):
            told = self.line.entry.summary
            return told if isinstance(told, str) else None
        text = _text_of(self.line.entry)
        start, end = _find_summary(text)
        return text[start:end].strip() or None

    @property
    def result(self) -> str | None:
        """What the task itself said in the end: an agent's answer."""
        text = _text_of(self.line.entry)
        start = text.find(_RESULT, _find_summary(text)[1])
        end = text.rfind(_RESULT_END)
        return text[start + len(_RESULT) : end].strip() if 0 <= start < end else None


def find_notice(line: Line) -> TaskNotice | None:
    """Return the end of a task that a line tells of; None if it tells of none, or of mere events."""
    entry = line.entry
    if type(entry) not in _TELLING:  # nearly all lines
        return None
    if isinstance(entry, TaskNotificationMessage):
        call = entry.tool_use_id if isinstance(entry.tool_use_id, str) else None
        return (
            TaskNotice(line, str(entry.status), entry.task_id, call) if isinstance(entry.status, str) else None
        )
    text = _text_of(entry)
    if not text.startswith(_START):
        return None
    said: dict[str, str] = {}
    for name, value in _FIELD.findall(_head_of(text)):
        said.setdefault(name, value.strip())
    if not said.get("status"):
        return None
    return TaskNotice(line, said["status"], said.get("task-id"), said.get("tool-use-id"))


def _find_summary(text: str) -> tuple[int, int]:
    """Return where the summary begins and ends; nowhere at the very beginning, if there is none."""
    start = text.find(_SUMMARY)
    end = text.find(_SUMMARY_END, start) if start >= 0 else -1
    result = text.find(_RESULT)  # an answer may hold such tags, too
    return (0, 0) if end < 0 or 0 <= result < start else (start + len(_SUMMARY), end)


def _head_of(text: str) -> str:
    """Return what the program says of the task; what people and the task say may hold such tags, too."""
    start, end = _find_summary(text)
    return f"{text[:start]}{text[end:]}".partition(_RESULT)[0]


def _text_of(entry: AnyEntry) -> str:
    """Return where a notice would stand: the first text of a line."""
    text: object = None
    if isinstance(entry, AttachmentEntry):
        text = entry.attachment.prompt if isinstance(entry.attachment, QueuedCommand) else None
    elif isinstance(entry, QueueOperation):
        text = entry.content if entry.operation is QueueAction.ENQUEUE else None
    elif isinstance(entry, UserEntry | UserFields):
        content = entry.message.content
        text = content if isinstance(content, str) else next(iter(list_texts(entry)), "")
    return text.lstrip() if isinstance(text, str) else ""
