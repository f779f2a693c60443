"""Spec 000: four types, text in `message`, a call in `toolName`, its result in a system line.

Calls have no ids here, so neither the call's block nor the result's has one: `transcripts` pairs them by order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from turnlog.messages.base import UNSET, Raw, TypeEnum, UnsetType
from turnlog.messages.blocks import ContentBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.compaction import CompactionEntry, CompactionPhase, CompactionStatistics
from turnlog.messages.entries import AssistantEntry, Entry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy.base import LegacyLine, envelope_of, only_content
from turnlog.messages.media import TextBlock
from turnlog.messages.message import Message
from turnlog.messages.system import SystemNotice


class _Line(Envelope, LegacyLine, tag_field="type", rename="camel"):
    type: ClassVar[str]


class User000(_Line, tag="user"):
    """A prompt."""

    message: str | UnsetType = UNSET

    def lift(self) -> Entry:
        """Return the prompt."""
        return UserEntry(**envelope_of(self), message=Message(content=self.message))

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the prompt's text."""
        assert isinstance(entry, UserEntry)
        return {"message": only_content(entry.message)}


class AssistantAction(TypeEnum):
    """What an assistant line is for."""

    RESPONSE = "response"
    TOOL_USE = "tool_use"
    THINKING = "thinking"
    COMMAND = "command"
    ERROR = "error"


class Assistant000(_Line, tag="assistant"):
    """An answer, a thought or a call."""

    subtype: AssistantAction | UnsetType = UNSET
    message: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    tool_arguments: Raw | UnsetType = UNSET

    def lift(self) -> Entry:
        """Return the answer, its text and its call as blocks."""
        blocks: list[ContentBlock] = []
        if isinstance(self.message, str):
            thinks = self.subtype is AssistantAction.THINKING
            blocks.append(ThinkingBlock(thinking=self.message) if thinks else TextBlock(text=self.message))
        if isinstance(self.tool_name, str):
            blocks.append(ToolUseBlock(name=self.tool_name, input=self.tool_arguments))
        return AssistantEntry(
            **envelope_of(self), message=Message(content=tuple(blocks)), subtype=_text(self.subtype)
        )

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the text and the call."""
        assert isinstance(entry, AssistantEntry)
        subtype = AssistantAction.of(entry.subtype) if isinstance(entry.subtype, str) else UNSET
        found: dict[str, Any] = {"subtype": subtype, "message": UNSET}
        found |= {"tool_name": UNSET, "tool_arguments": UNSET}
        for block in only_content(entry.message) or ():
            match block:
                case TextBlock(text=text) | ThinkingBlock(thinking=text):
                    found["message"] = text
                case ToolUseBlock():
                    found |= {"tool_name": block.name, "tool_arguments": block.input}
        return found


class SystemNote(TypeEnum):
    """What a system line is for."""

    TOOL_RESULT = "tool_result"
    ERROR = "error"
    META = "meta"


_FLAGS: Mapping[SystemNote | UnsetType, str] = {SystemNote.ERROR: "is_error", SystemNote.META: "is_meta"}


class System000(_Line, tag="system"):
    """A tool's result, an error or a remark."""

    subtype: SystemNote | UnsetType = UNSET
    message: str | UnsetType = UNSET

    def lift(self) -> Entry:
        """Return a result as a block, anything else as a notice."""
        if self.subtype is SystemNote.TOOL_RESULT:
            block = ToolResultBlock(content=self.message, is_error=self.is_error)
            return UserEntry(**{**envelope_of(self), "is_error": UNSET}, message=Message(content=(block,)))
        return SystemNotice(**envelope_of(self) | self._list_flags(), content=self.message)

    def _list_flags(self) -> dict[str, bool]:
        """Return the flag that the subtype stands for, where the line does not have it."""
        name = _FLAGS.get(self.subtype)
        return {name: True} if name is not None and getattr(self, name) is UNSET else {}

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the text."""
        match entry:
            case UserEntry(message=Message(content=(ToolResultBlock(content=text, is_error=failed),))):
                return {"message": text, "is_error": failed}
            case SystemNotice(content=text):
                implied = {name: UNSET for name in self._list_flags() if getattr(entry, name) is True}
                return {"message": text, **implied}
        return {}


class CompactSystem000(_Line, tag="compact_system"):
    """One of the four steps of compaction."""

    message: CompactionPhase
    metadata: CompactionStatistics | UnsetType | None = UNSET

    def lift(self) -> Entry:
        """Return the step."""
        return CompactionEntry(**envelope_of(self), phase=self.message, statistics=self.metadata)

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the step and its statistics."""
        assert isinstance(entry, CompactionEntry)
        return {"message": entry.phase, "metadata": entry.statistics}


def _text(value: TypeEnum | UnsetType) -> str | UnsetType:
    return value if isinstance(value, UnsetType) else str(value)
