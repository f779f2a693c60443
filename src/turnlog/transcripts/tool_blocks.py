"""The blocks that call tools and the blocks that answer, wherever they stand.

Most calls are `tool_use` blocks, answered by `tool_result` blocks in a later line. The API's own tools have
block types of their own, and answer within the same message. Both kinds are calls, and read alike here.
"""

from __future__ import annotations

from typing import TypeGuard, get_args

from turnlog.messages import UNSET, Line, UnsetType
from turnlog.messages.blocks import ContentBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.channels import AnyEntry
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.legacy import Api003, Document003, StoredType
from turnlog.messages.media import TextBlock
from turnlog.messages.sdk import AssistantMessage, UserFields
from turnlog.messages.server_tools import (
    AdvisorToolResultBlock,
    BashCodeExecutionToolResultBlock,
    CodeExecutionToolResultBlock,
    McpToolResultBlock,
    McpToolUseBlock,
    ServerToolUseBlock,
    TextEditorCodeExecutionToolResultBlock,
    ToolSearchToolResultBlock,
    WebFetchToolResultBlock,
    WebSearchToolResultBlock,
)
from turnlog.messages.system import SystemNotice

__all__ = [
    "CallBlock",
    "ResultBlock",
    "ServerResultBlock",
    "find_stored_type",
    "is_call",
    "is_result",
    "list_blocks",
    "list_texts",
    "told_error",
]

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


def is_call(block: object) -> TypeGuard[CallBlock]:
    """Tell whether a block calls a tool."""
    return type(block) in _CALLS  # much faster than asking for an instance of a long union


def is_result(block: object) -> TypeGuard[ResultBlock]:
    """Tell whether a block answers a call."""
    return type(block) in _RESULTS


def list_blocks(entry: AnyEntry) -> tuple[ContentBlock, ...]:
    """Return the blocks of a prompt, an answer or a result; none for text and for any other entry.

    Messages nested in progress are copies, and give none.
    """
    if isinstance(entry, UserEntry | AssistantEntry | UserFields | AssistantMessage):
        content = entry.message.content
        return content if isinstance(content, tuple) else ()
    return ()


def list_texts(entry: AnyEntry) -> list[str]:
    """Return the texts of a prompt or an answer that say something, in order; thinking is not among them."""
    if not isinstance(entry, UserEntry | AssistantEntry | UserFields | AssistantMessage):
        return []
    content = entry.message.content
    if isinstance(content, str):
        return [content] if content.strip() else []
    if not isinstance(content, tuple):
        return []
    return [block.text for block in content if isinstance(block, TextBlock) and block.text.strip()]


def told_error(block: ResultBlock | SystemNotice) -> bool | None | UnsetType:
    """Return whether a result calls itself an error; `UNSET` where it does not say."""
    if isinstance(block, ToolResultBlock | McpToolResultBlock | SystemNotice):
        return block.is_error
    return True if hasattr(block.content, "error_code") else UNSET


def find_stored_type(line: Line) -> StoredType | None:
    """Return what a stored message calls itself (spec 003); None for lines of other dialects."""
    return line.wire.type if isinstance(line.wire, Document003 | Api003) else None
