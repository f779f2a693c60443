"""What a line says to a reader, as text.

Prompts and answers say what their text blocks say (`prompts` knows what tags in a prompt mean). All else has
its text where its type puts it. A line of an unknown type says what stands in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from turnlog.messages import UNSET
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.compaction import CompactionEntry, CompactionPhase
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, UnknownEntry, UserEntry
from turnlog.messages.media import TextBlock
from turnlog.messages.message import Message as ApiMessage
from turnlog.messages.sdk import AssistantMessage, UserMessage, UserMessageReplay
from turnlog.transcripts.lines.blocks import list_texts

_SPOKEN = (UserEntry, AssistantEntry, UserMessage, UserMessageReplay, AssistantMessage)
_FIELDS = ("content", "summary", "message", "stdout", "stderr", "prompt", "text", "result", "filename", "path")
"""Where types keep their text, the most telling first."""
_PHASES = {
    CompactionPhase.COMPACTING: "Compacting the conversation",
    CompactionPhase.COMPACTED: "Conversation compacted",
    CompactionPhase.RESTORING: "Restoring the conversation",
    CompactionPhase.RESTORED: "Conversation restored",
}


def text_of(entry: AnyEntry) -> str:
    """Return what an entry says; empty if it says nothing to a reader."""
    if isinstance(entry, _SPOKEN):
        return "\n\n".join(list_texts(entry))
    read = _READERS.get(type(entry))
    return _field_text(entry) if read is None else read(entry)


def content_text(content: object) -> str:
    """Return the text of a message's content: a string, or blocks, or lines."""
    if isinstance(content, str):
        return content
    if isinstance(content, ApiMessage):
        return content_text(content.content)
    if not isinstance(content, tuple):
        return ""
    return "\n\n".join(_pieces(content))


def _pieces(content: Iterable[object]) -> list[str]:
    texts = (piece.text if isinstance(piece, TextBlock) else piece for piece in content)
    return [text for text in texts if isinstance(text, str) and text.strip()]


def _field_text(value: object) -> str:
    for name in _FIELDS:
        text = content_text(getattr(value, name, UNSET))
        if text.strip():
            return text
    return ""


def _attachment_text(entry: Any) -> str:
    carried = entry.attachment
    return content_text(carried.prompt) if type(carried) is QueuedCommand else _field_text(carried)


def _compaction_text(entry: Any) -> str:
    said = (content_text(part) for part in (entry.recap, entry.prelude))
    return next((text for text in said if text), _PHASES[entry.phase])


def _unknown_text(entry: Any) -> str:
    return str(entry.raw.decode("utf-8", "replace"))


_READERS: dict[type, Callable[[Any], str]] = {
    AttachmentEntry: _attachment_text,
    CompactionEntry: _compaction_text,
    UnknownEntry: _unknown_text,
}
