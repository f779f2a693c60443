"""Spec 004: `human` and `tool_result` lines, an API-like `message`, times in Unix milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from turnlog.messages.base import UNSET, Raw, UnsetType
from turnlog.messages.compaction import CompactionEntry, CompactionPhase, CompactionStatistics
from turnlog.messages.entries import AssistantEntry, Entry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy.base import LegacyLine, envelope_of
from turnlog.messages.media import TextBlock
from turnlog.messages.message import Message
from turnlog.messages.patch import encode_value
from turnlog.messages.salvage import view
from turnlog.messages.system import SystemNotice


class Line004(Envelope, LegacyLine, tag_field="type", rename="camel"):
    """What every line of the dialect has."""

    type: ClassVar[str]
    message: Message
    subtype: str | UnsetType = UNSET
    compact_metadata: Raw | UnsetType = UNSET


class _Prompt(Line004):
    def lift(self) -> Entry:
        """Return the prompt or the result."""
        return UserEntry(**envelope_of(self), message=self.message)

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the message."""
        assert isinstance(entry, UserEntry)
        return {"message": entry.message}


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
        assert isinstance(entry, AssistantEntry)
        return {"message": entry.message, "subtype": entry.subtype}


class System004(Line004, tag="system"):
    """A remark of the program."""

    def lift(self) -> Entry:
        """Return the remark."""
        return SystemNotice(**envelope_of(self), content=self._words())

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the remark as a message."""
        assert isinstance(entry, SystemNotice)
        if entry.content == self._words():
            return {}
        return {"message": replace(self.message, content=entry.content)}

    def _words(self) -> str | None | UnsetType:
        content = self.message.content
        if not isinstance(content, tuple):
            return content
        return "\n".join(block.text for block in content if isinstance(block, TextBlock))


class _Compaction(Line004):
    """A step of a compaction; what its metadata may say is left open, and read as far as it is known."""

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the message and the statistics."""
        assert isinstance(entry, CompactionEntry)
        found: dict[str, Any] = {"message": entry.prelude if entry.recap is UNSET else entry.recap}
        if entry.statistics != self._statistics():
            known = isinstance(entry.statistics, CompactionStatistics)
            found["compact_metadata"] = Raw(encode_value(entry.statistics)) if known else UNSET
        return found

    def _statistics(self) -> CompactionStatistics | UnsetType:
        if not isinstance(self.compact_metadata, Raw):
            return UNSET
        known = view(CompactionStatistics, self.compact_metadata).value
        return known if isinstance(known, CompactionStatistics) else UNSET


class CompactPrelude004(_Compaction, tag="compact_prelude"):
    """What came before a compaction and was kept."""

    def lift(self) -> Entry:
        """Return the beginning of the compaction."""
        phase, statistics = CompactionPhase.COMPACTING, self._statistics()
        return CompactionEntry(**envelope_of(self), phase=phase, statistics=statistics, prelude=self.message)


class CompactRecap004(_Compaction, tag="compact_recap"):
    """The summary that stands for what was compacted."""

    def lift(self) -> Entry:
        """Return the end of the compaction."""
        phase, statistics = CompactionPhase.COMPACTED, self._statistics()
        return CompactionEntry(**envelope_of(self), phase=phase, statistics=statistics, recap=self.message)
