"""The older dialects of specs 000, 003 and 004, brought to today's model.

Each dialect has types of its own for what stands in the file, so that it is as strictly typed as today's. They
are lifted to the entries that everything else works with, and lowered again when a line is changed.

*Spec 000* has four types, text in `message`, a call in `toolName` and its result in a system line. Its calls
have no ids, so neither the call's block nor the result's has one: `transcripts` pairs them by order.

*Spec 003* is how a database and its HTTP API keep messages. A document has the text in `content`, or the whole
message in `messageData`. A call that was extracted from its message holds its block as JSON text, which is the
one place where a string must be decoded again. `mongoexport` writes an id, a date and, in its canonical form,
every number as an object with one key that begins with `$`; the entries have plain values, and a changed one
goes back into the form that its document had.

*Spec 004* has `human` and `tool_result` lines, a `message` like the API's, and times in Unix milliseconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Self

import msgspec
from msgspec import UNSET, Raw, UnsetType, field
from msgspec.structs import replace

from turnlog.errors import ChangeError
from turnlog.messages.base import Camel, Number, Snake, TypeEnum, UnknownBlock, Value, encode_value
from turnlog.messages.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import (
    AssistantEntry,
    CompactionEntry,
    CompactionPhase,
    CompactionStatistics,
    Entry,
    UserEntry,
)
from turnlog.messages.envelope import Envelope, instant
from turnlog.messages.message import Message, StoredMessage, Usage
from turnlog.messages.metadata import Summary
from turnlog.messages.salvage import ProblemKind, TolerantDecoder, view
from turnlog.messages.spans import members_of
from turnlog.messages.system import SystemNotice


class LegacyLine(Value):
    """A line as an older dialect spells it."""

    def lift(self) -> Entry:
        """Return what the line says in today's model."""
        raise NotImplementedError

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the fields besides the envelope's, as `entry` has them: an entry of the type `lift` gives."""
        raise NotImplementedError

    def inspect(self, tolerant: TolerantDecoder) -> None:
        """Report what the types alone cannot tell; nothing, for most lines."""

    def lower(self, entry: Entry) -> Self:
        """Return this line as it must be to be lifted to `entry`.

        Raises `ChangeError` when the dialect has no way to say what `entry` says.
        """
        lowered = msgspec.structs.replace(self, **{**envelope_of(entry, type(self)), **self.parts(entry)})
        if lowered.lift() != entry:
            raise ChangeError(f"{type(self).__name__} lines cannot say this: {entry!r}")
        return lowered


def envelope_of(value: Value, among: type[Value] = Envelope) -> dict[str, Any]:
    """Return the envelope's fields of `value`, as far as `among` has them."""
    known = frozenset(among.__struct_fields__) & frozenset(value.__struct_fields__)
    return {name: getattr(value, name) for name in Envelope.__struct_fields__ if name in known}


def only_content(message: Message) -> Any:
    """Return a message's content, if that is all it has."""
    if message != Message(content=message.content):
        raise ChangeError("this dialect keeps nothing of a message but its content")
    return message.content if message.content is not None else UNSET


_WHOLE = re.compile(r"-?\d{1,19}")


class ObjectId(Snake):
    """A database's own id, as it exports it."""

    oid: str = field(name="$oid")


class StoredNumber(Snake):
    """A number with its type; one of the fields is there."""

    int32: str | UnsetType = field(name="$numberInt", default=UNSET)
    int64: str | UnsetType = field(name="$numberLong", default=UNSET)
    double: str | UnsetType = field(name="$numberDouble", default=UNSET)
    decimal: str | UnsetType = field(name="$numberDecimal", default=UNSET)


class StoredDate(Snake):
    """An instant: ISO 8601, or milliseconds."""

    date: str | Number | StoredNumber = field(name="$date")


def plain(value: Any) -> Any:
    """Return what an exported value says; `UNSET` for a number that is none, any other value as it is."""
    if isinstance(value, StoredDate):
        return plain(value.date)
    if not isinstance(value, StoredNumber):
        return value
    form = _form(value)
    return UNSET if form is None else _number(getattr(value, form), whole=form in ("int32", "int64"))


def wrap(old: Any, new: Any) -> Any:
    """Return `new` in the form of `old`, which is kept as it stands if it says the same."""
    said = plain(old)
    if said == new and type(said) is type(new):
        return old
    if isinstance(old, StoredDate) and isinstance(new, str | int | float):
        return StoredDate(date=wrap(old.date, new))
    if isinstance(old, StoredNumber) and isinstance(new, int | float):
        return StoredNumber(**{_form(old) or "double": repr(new)})
    return new


def _form(number: StoredNumber) -> str | None:
    """Return the field that is there."""
    return next((name for name in number.__struct_fields__ if getattr(number, name) is not UNSET), None)


def _number(text: str, whole: bool) -> Number | UnsetType:
    if whole:
        return int(text) if _WHOLE.fullmatch(text) else UNSET
    try:
        number = float(text)
    except ValueError:
        return UNSET
    return number if math.isfinite(number) else UNSET


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
        subtype = UNSET if self.subtype is UNSET else str(self.subtype)
        return AssistantEntry(**envelope_of(self), message=Message(content=tuple(blocks)), subtype=subtype)

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
    message_data: StoredMessage | None | UnsetType = UNSET
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
            whole = getattr(self, name)
            if isinstance(whole, Message):
                return found | {name: _restore(entry.message, type(whole))}
        return found | {"model": entry.message.model, "content": _store_content(self.type, entry.message)}

    def inspect(self, tolerant: TolerantDecoder) -> None:
        """Report an extracted call whose JSON text does not say what was called, and numbers that are none."""
        for path, value in self._exported().items():
            if value is not UNSET and plain(value) is UNSET:
                tolerant.report(ProblemKind.WRONG_TYPE, "a number", "an object", path)
        if self.type is StoredType.TOOL_USE and isinstance(self.content, str):
            call = view(ContentBlock, self.content.encode())
            for problem in call.problems:
                tolerant.report(problem.kind, problem.expected, problem.found, ("content",), problem.unknown)

    def _message(self) -> Message:
        for whole in (self.message_data, self.message):
            if isinstance(whole, Message):
                return whole.lift() if isinstance(whole, StoredMessage) else whole
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

    def inspect(self, tolerant: TolerantDecoder) -> None:
        """Report what the document's types cannot tell."""
        self._document().inspect(tolerant)

    def _document(self) -> Document003:
        shared = set(self.__struct_fields__) & set(Document003.__struct_fields__)
        fields = {name: getattr(self, name) for name in shared} | {"usage": _convert(self.usage, StoredUsage)}
        if self.is_sidechain_camel is not UNSET:
            fields["is_sidechain"] = self.is_sidechain_camel
        return Document003(**fields)


def _restore(message: Message, kind: type[Message]) -> Message:
    """Return a message as a document keeps it."""
    return kind(**{name: getattr(message, name) for name in Message.__struct_fields__})


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
