"""The blocks of a line that call tools and those that answer, and what a line says to a reader, as text.

Most calls are `tool_use` blocks, answered by `tool_result` blocks in a later line. The API's own tools have
block types of their own, and answer within the same message. Both kinds are calls, and read alike here.
Prompts and answers say what their text blocks say (`prompts` knows what tags in a prompt mean). All else has
its text where its type puts it. A line of an unknown type says what stands in it.

All of this is asked of every line. So types are looked up in sets, which is much faster than asking for an
instance of a union.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeGuard, cast, get_args

from turnlog.messages import UNSET, AnyEntry, Line, UnsetType
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.blocks import (
    AdvisorToolResultBlock,
    BashCodeExecutionToolResultBlock,
    CodeExecutionToolResultBlock,
    ContentBlock,
    McpToolResultBlock,
    McpToolUseBlock,
    ServerToolUseBlock,
    TextBlock,
    TextEditorCodeExecutionToolResultBlock,
    ToolResultBlock,
    ToolSearchToolResultBlock,
    ToolUseBlock,
    WebFetchToolResultBlock,
    WebSearchToolResultBlock,
)
from turnlog.messages.entries import (
    AssistantEntry,
    AttachmentEntry,
    CompactionEntry,
    CompactionPhase,
    UnknownEntry,
    UserEntry,
)
from turnlog.messages.legacy import Api003, Document003, StoredType
from turnlog.messages.message import Message as ApiMessage
from turnlog.messages.sdk.messages import AssistantMessage, UserFields, UserMessage, UserMessageReplay
from turnlog.messages.system import SystemNotice

CallBlock = ToolUseBlock | ServerToolUseBlock | McpToolUseBlock
ServerResultBlock = (
    WebSearchToolResultBlock
    | WebFetchToolResultBlock
    | AdvisorToolResultBlock
    | CodeExecutionToolResultBlock
    | BashCodeExecutionToolResultBlock
    | TextEditorCodeExecutionToolResultBlock
    | ToolSearchToolResultBlock
)
ResultBlock = ToolResultBlock | McpToolResultBlock | ServerResultBlock

_CALLS = frozenset(get_args(CallBlock))
_RESULTS = frozenset(get_args(ResultBlock))
_PROMPTS = frozenset({UserEntry, UserMessage, UserMessageReplay})
_ANSWERS = frozenset({AssistantEntry, AssistantMessage})
_SPOKEN = _PROMPTS | _ANSWERS


def is_call(block: object) -> TypeGuard[CallBlock]:
    """Tell whether a block calls a tool."""
    return type(block) in _CALLS


def is_result(block: object) -> TypeGuard[ResultBlock]:
    """Tell whether a block answers a call."""
    return type(block) in _RESULTS


def has_call(blocks: Iterable[object]) -> bool:
    """Tell whether any of some blocks calls a tool."""
    return not _CALLS.isdisjoint(map(type, blocks))


def has_result(blocks: Iterable[object]) -> bool:
    """Tell whether any of some blocks answers a call."""
    return not _RESULTS.isdisjoint(map(type, blocks))


def is_prompt(entry: AnyEntry) -> TypeGuard[UserEntry | UserFields]:
    """Tell whether an entry stands in the user's place: a prompt, or the result of a call."""
    return type(entry) in _PROMPTS


def is_answer(entry: AnyEntry) -> TypeGuard[AssistantEntry | AssistantMessage]:
    """Tell whether an entry is an answer of the model, or a part of one."""
    return type(entry) in _ANSWERS


def _is_spoken(entry: AnyEntry) -> TypeGuard[UserEntry | UserFields | AssistantEntry | AssistantMessage]:
    return type(entry) in _SPOKEN


def list_blocks(entry: AnyEntry) -> tuple[ContentBlock, ...]:
    """Return the blocks of a prompt, an answer or a result; none for text and for any other entry.

    Messages nested in progress are copies, and give none.
    """
    if type(entry) not in _SPOKEN:
        return ()
    content = cast(AssistantEntry, entry).message.content
    return content if type(content) is tuple else ()


def list_texts(entry: AnyEntry) -> list[str]:
    """Return the texts of a prompt or an answer that say something, in order; thinking is not among them."""
    if not _is_spoken(entry):
        return []
    content = entry.message.content
    if isinstance(content, str):
        return [content] if content.strip() else []
    if not isinstance(content, tuple):
        return []
    return [block.text for block in content if isinstance(block, TextBlock) and block.text.strip()]


def told_error(block: ResultBlock | SystemNotice) -> bool | None | UnsetType:
    """Return whether a result calls itself an error; `UNSET` where it does not say."""
    if type(block) is ToolResultBlock or isinstance(block, McpToolResultBlock | SystemNotice):
        return block.is_error
    return True if hasattr(block.content, "error_code") else UNSET


def find_stored_type(line: Line) -> StoredType | None:
    """Return what a stored message calls itself (spec 003); None for lines of other dialects."""
    wire = line.wire
    return None if wire is None or not isinstance(wire, Document003 | Api003) else wire.type


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
    if _is_spoken(entry):
        return "\n\n".join(list_texts(entry))
    read = _READERS.get(type(entry))
    return _field_text(entry) if read is None else read(entry)


def content_text(content: object) -> str:
    """Return the text of a message's content: a string, or blocks, or lines."""
    if isinstance(content, str):
        return content
    if isinstance(content, ApiMessage):
        return content_text(content.content)
    pieces = content if isinstance(content, tuple) else ()
    texts = (piece.text if isinstance(piece, TextBlock) else piece for piece in pieces)
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


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


_READERS: dict[type, Callable[[Any], str]] = {
    AttachmentEntry: _attachment_text,
    CompactionEntry: _compaction_text,
    UnknownEntry: lambda entry: str(entry.raw.decode("utf-8", "replace")),
}
