"""Spec 003: messages as a database and its HTTP API keep them, and calls taken out of their messages.

A document has the message's text in `content`, or the whole message in `messageData`. An extracted call holds
its block as JSON text, which is the one place where a string must be decoded again. Documents that a database
exported have dates and numbers in forms of their own (`extended_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from turnlog.errors import ChangeError
from turnlog.messages.base import UNSET, Camel, Number, TypeEnum, UnknownBlock, UnsetType, field
from turnlog.messages.blocks import ContentBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, Entry, UserEntry
from turnlog.messages.envelope import Envelope, instant
from turnlog.messages.legacy.base import LegacyLine, envelope_of
from turnlog.messages.legacy.extended_json import ObjectId, StoredDate, StoredNumber, plain, wrap
from turnlog.messages.message import Message
from turnlog.messages.metadata import Summary
from turnlog.messages.patch import encode_value, members_of
from turnlog.messages.problems import ProblemKind
from turnlog.messages.salvage import Salvage, view
from turnlog.messages.system import SystemNotice
from turnlog.messages.usage import Usage

_ALIASES = {"message_uuid": "uuid", "parent_uuid_alias": "parent_uuid", "session_id_alias": "session_id"}


class StoredType(TypeEnum):
    """What a stored message is."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    SUMMARY = "summary"
    SYSTEM = "system"
    """None of the spec's own: a notice of the program, as `turnlog export` writes it."""


class StoredUsage(Camel):
    """Token counts as a document keeps them."""

    input_tokens: int | StoredNumber | UnsetType = UNSET
    output_tokens: int | StoredNumber | UnsetType = UNSET
    cache_creation_input_tokens: int | StoredNumber | UnsetType = UNSET
    cache_read_input_tokens: int | StoredNumber | UnsetType = UNSET


class Document003(Envelope, LegacyLine, rename="camel"):
    """A message as a document database keeps it, or a call or a result taken out of one."""

    id: str | ObjectId | UnsetType = field(name="_id", default=UNSET)
    type: StoredType
    timestamp: str | Number | StoredDate | UnsetType = UNSET  # type: ignore[assignment]  # one form more
    content: str | tuple[ContentBlock, ...] | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    cost_usd: Number | StoredNumber | None | UnsetType = UNSET
    usage: StoredUsage | None | UnsetType = UNSET
    message_data: Message | None | UnsetType = UNSET
    message: Message | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    created_at: str | Number | StoredDate | None | UnsetType = UNSET

    @property
    def time(self) -> datetime | None:
        """The instant of the document in UTC."""
        return instant(plain(self.timestamp))

    def lift(self) -> Entry:
        """Return the stored message as the entry it was made from."""
        envelope, summary = envelope_of(self) | {"timestamp": plain(self.timestamp)}, self._summary()
        match self.type:
            case StoredType.ASSISTANT | StoredType.TOOL_USE:
                cost, usage = plain(self.cost_usd), _convert(self.usage, Usage)
                return AssistantEntry(**envelope, message=self._message(), cost_usd=cost, usage=usage)
            case StoredType.SUMMARY if isinstance(summary, str):
                return Summary(**envelope, summary=summary)
            case StoredType.SYSTEM if not isinstance(self.content, tuple):
                return SystemNotice(**envelope, content=self.content)
            case _:
                return UserEntry(**envelope, message=self._message())

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the message, where the document keeps it, and dates and numbers as it writes them."""
        found: dict[str, Any] = {"timestamp": wrap(self.timestamp, entry.timestamp)}
        if isinstance(entry, Summary):
            return found | {"summary" if isinstance(self.summary, str) else "content": entry.summary}
        if isinstance(entry, SystemNotice):
            return found | {"content": entry.content}
        assert isinstance(entry, UserEntry | AssistantEntry)
        if isinstance(entry, AssistantEntry):
            found |= {"cost_usd": wrap(self.cost_usd, entry.cost_usd), "usage": self._store_usage(entry.usage)}
        if entry.message == self._message():
            return found
        for name in ("message_data", "message"):
            if isinstance(getattr(self, name), Message):
                return found | {name: entry.message}
        return found | {"model": entry.message.model, "content": _store_content(self.type, entry.message)}

    def inspect(self, rescue: Salvage) -> None:
        """Report an extracted call whose JSON text does not say what was called, and numbers that are none."""
        for path, value in self._exported().items():
            if value is not UNSET and plain(value) is UNSET:
                rescue.report(ProblemKind.WRONG_TYPE, "a number", "an object", path)
        if self.type is StoredType.TOOL_USE and isinstance(self.content, str):
            call = view(ContentBlock, self.content.encode())
            for problem in call.problems:
                rescue.report(problem.kind, problem.expected, problem.found, ("content",), problem.unknown)

    def _message(self) -> Message:
        for whole in (self.message_data, self.message):
            if isinstance(whole, Message):
                return whole
        return Message(content=_read_content(self.type, self.content), model=self.model)

    def _exported(self) -> dict[tuple[str, ...], Any]:
        """Return what may be in a database's own form, by where it stands."""
        found: dict[tuple[str, ...], Any] = {("timestamp",): self.timestamp, ("createdAt",): self.created_at}
        found[("costUsd",)] = self.cost_usd
        if isinstance(self.usage, StoredUsage):
            found |= {("usage", key): value for key, value in members_of(self.usage).items()}
        return found

    def _store_usage(self, usage: Usage | None | UnsetType) -> Any:
        if not isinstance(usage, Usage) or not isinstance(self.usage, StoredUsage):
            return _convert(usage, StoredUsage)
        fields = StoredUsage.__struct_fields__
        return StoredUsage(**{name: wrap(getattr(self.usage, name), getattr(usage, name)) for name in fields})

    def _summary(self) -> str | UnsetType:
        text = self.summary if isinstance(self.summary, str) else self.content
        return text if isinstance(text, str) else UNSET


class Api003(LegacyLine):
    """The same message as the HTTP API gives it, with the aliases that it repeats."""

    id: str | UnsetType = field(name="_id", default=UNSET)
    type: StoredType
    uuid: str | UnsetType = UNSET
    parent_uuid: str | None | UnsetType = UNSET
    session_id: str | None | UnsetType = UNSET
    timestamp: str | Number | UnsetType = UNSET
    content: str | tuple[ContentBlock, ...] | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    cost_usd: Number | None | UnsetType = UNSET
    usage: Usage | None | UnsetType = UNSET
    message_data: Message | None | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    created_at: str | Number | None | UnsetType = UNSET
    is_sidechain: bool | None | UnsetType = UNSET
    is_sidechain_camel: bool | None | UnsetType = field(name="isSidechain", default=UNSET)
    """The spec's own type definition still spells this one in camelCase."""
    cwd: str | None | UnsetType = UNSET
    version: str | None | UnsetType = UNSET
    git_branch: str | None | UnsetType = UNSET
    leaf_uuid: str | None | UnsetType = UNSET
    message_uuid: str | None | UnsetType = UNSET
    parent_uuid_alias: str | None | UnsetType = UNSET
    session_id_alias: str | None | UnsetType = UNSET

    def lift(self) -> Entry:
        """Return the message, by way of the document it was made from."""
        entry = self._document().lift()
        # The API says more of usage than a document can.
        return replace(entry, usage=self.usage) if isinstance(entry, AssistantEntry) else entry

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return what the document would keep; the aliases follow what they repeat."""
        found = dict(self._document().parts(entry)) | self._flags(entry)
        if isinstance(entry, AssistantEntry):
            found["usage"] = entry.usage
        for alias, name in _ALIASES.items():
            if getattr(self, alias) is not UNSET and getattr(self, alias) == getattr(self, name):
                found[alias] = getattr(entry, name)
        return found

    def _flags(self, entry: Entry) -> dict[str, Any]:
        """Return the sidechain flag in the spellings it had."""
        if self.is_sidechain_camel is UNSET:
            return {}
        changed = entry.is_sidechain != self.is_sidechain_camel and self.is_sidechain is not UNSET
        plain = entry.is_sidechain if changed else self.is_sidechain
        return {"is_sidechain": plain, "is_sidechain_camel": entry.is_sidechain}

    def inspect(self, rescue: Salvage) -> None:
        """Report what the document's types cannot tell."""
        self._document().inspect(rescue)

    def _document(self) -> Document003:
        shared = set(self.__struct_fields__) & set(Document003.__struct_fields__)
        fields = {name: getattr(self, name) for name in shared} | {"usage": _convert(self.usage, StoredUsage)}
        if self.is_sidechain_camel is not UNSET:
            fields["is_sidechain"] = self.is_sidechain_camel
        return Document003(**fields)


def _convert(usage: StoredUsage | Usage | None | UnsetType, to: Any) -> Any:
    """Return the counters of either spelling in the other."""
    if not isinstance(usage, StoredUsage | Usage):
        return usage
    return to(**{name: plain(getattr(usage, name)) for name in StoredUsage.__struct_fields__})


def _read_content(type_: StoredType, content: Any) -> Any:
    if not isinstance(content, str):
        return content
    if type_ is StoredType.TOOL_RESULT:
        return (ToolResultBlock(content=content),)
    if type_ is StoredType.TOOL_USE:
        call = view(ContentBlock, content.encode())
        return (call.value if isinstance(call.value, ToolUseBlock) else UnknownBlock(call.raw, None),)
    return content


def _store_content(type_: StoredType, message: Message) -> Any:
    match type_, message.content:
        case StoredType.TOOL_RESULT, (ToolResultBlock(content=text),):
            return text
        case StoredType.TOOL_USE, (ToolUseBlock() as call,):
            return encode_value(call).decode()
        case StoredType.TOOL_USE, _:
            raise ChangeError("an extracted call holds one call, and nothing else")
    return message.content
