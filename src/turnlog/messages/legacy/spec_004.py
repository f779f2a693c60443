"""Spec 004: `human` and `tool_result` lines, an API-like `message`, times in Unix milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.messages.base import UNSET, Raw, UnsetType
from turnlog.messages.compaction import CompactionEntry, CompactionPhase
from turnlog.messages.entries import AssistantEntry, Entry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy.base import LegacyLine, envelope_of
from turnlog.messages.message import Message
from turnlog.messages.system import SystemNotice

__all__ = [
    "Assistant004",
    "CompactPrelude004",
    "CompactRecap004",
    "Human004",
    "Line004",
    "System004",
    "ToolResult004",
    "User004",
]


class Line004(Envelope, LegacyLine, tag_field="type", rename="camel"):
    """What every line of the dialect has."""

    message: Message
    subtype: str | UnsetType = UNSET
    compact_metadata: Raw | UnsetType = UNSET


class _Prompt(Line004):
    def lift(self) -> Entry:
        """Return the prompt or the result."""
        return UserEntry(**envelope_of(self), message=self.message)

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the message."""
        return {"message": entry.message} if isinstance(entry, UserEntry) else {}


class Human004(_Prompt, tag="human"):
    """A prompt."""


class User004(_Prompt, tag="user"):
    """A prompt, spelled as in the other dialects."""


class ToolResult004(_Prompt, tag="tool_result"):
    """The results of calls."""


class Assistant004(Line004, tag="assistant"):
    """An answer."""

    def lift(self) -> Entry:
        """Return the answer."""
        return AssistantEntry(**envelope_of(self), message=self.message, subtype=self.subtype)

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the message."""
        if not isinstance(entry, AssistantEntry):
            return {}
        return {"message": entry.message, "subtype": entry.subtype}


class System004(Line004, tag="system"):
    """A remark of the program."""

    def lift(self) -> Entry:
        """Return the remark."""
        content = self.message.content
        return SystemNotice(**envelope_of(self), content=content if isinstance(content, str) else UNSET)

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the remark as a message."""
        if not isinstance(entry, SystemNotice):
            return {}
        return {"message": Message(type=self.message.type, role=self.message.role, content=entry.content)}


class CompactPrelude004(Line004, tag="compact_prelude"):
    """What came before a compaction and was kept."""

    def lift(self) -> Entry:
        """Return the beginning of the compaction."""
        return CompactionEntry(**envelope_of(self), phase=CompactionPhase.COMPACTING, prelude=self.message)

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return what was kept."""
        return {"message": entry.prelude} if isinstance(entry, CompactionEntry) else {}


class CompactRecap004(Line004, tag="compact_recap"):
    """The summary that stands for what was compacted."""

    def lift(self) -> Entry:
        """Return the end of the compaction."""
        return CompactionEntry(**envelope_of(self), phase=CompactionPhase.COMPACTED, recap=self.message)

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the summary."""
        return {"message": entry.recap} if isinstance(entry, CompactionEntry) else {}
