"""Content blocks: the parts of a message.

One union serves both sides of the conversation, because real files mix them. A tool's input stays raw bytes
until somebody asks for it (`tool_io.view_input`): most readers never look, and decoding it is half the work.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Open, Raw, Snake, UnknownBlock, UnsetType, field
from turnlog.messages.media import BlockBase, DocumentBlock, ImageBlock, SearchResultBlock, TextBlock
from turnlog.messages.server_tools import (
    AdvisorToolResultBlock,
    BashCodeExecutionToolResultBlock,
    Caller,
    CodeExecutionToolResultBlock,
    McpToolListingBlock,
    McpToolResultBlock,
    McpToolUseBlock,
    ServerToolUseBlock,
    TextEditorCodeExecutionToolResultBlock,
    ToolReferenceBlock,
    ToolSearchToolResultBlock,
    WebFetchToolResultBlock,
    WebSearchToolResultBlock,
)

__all__ = [
    "BrowserStateBlock",
    "CompactionBlock",
    "ContainerUploadBlock",
    "ContentBlock",
    "FallbackBlock",
    "FallbackModel",
    "RedactedThinkingBlock",
    "ThinkingBlock",
    "ToolAdditionBlock",
    "ToolRemovalBlock",
    "ToolResultBlock",
    "ToolUseBlock",
]


class ThinkingBlock(BlockBase, tag="thinking"):
    """What the model thought; recent versions keep only the signature."""

    thinking: str
    signature: str | None | UnsetType = UNSET


class RedactedThinkingBlock(BlockBase, tag="redacted_thinking"):
    """Thinking that only the API can read."""

    data: str


class ToolUseBlock(BlockBase, tag="tool_use"):
    """A call of a tool. `tool_io.view_input` gives its input a type."""

    id: str | UnsetType = UNSET
    """Absent in dialects that do not name their calls."""
    name: str
    input: Raw | UnsetType = UNSET
    caller: Caller | None | UnsetType = UNSET
    toolset_name: str | None | UnsetType = UNSET


class ToolResultBlock(BlockBase, tag="tool_result"):
    """What a tool answered, as the model saw it."""

    tool_use_id: str | UnsetType = UNSET
    """Absent in dialects that do not name their calls."""
    content: str | tuple[ContentBlock, ...] | None | UnsetType = UNSET
    is_error: bool | None | UnsetType = UNSET
    toolset_name: str | None | UnsetType = UNSET


class BrowserStateBlock(BlockBase, tag="browser_state"):
    """The state of a browser after a call; its fields are not documented yet."""


class ContainerUploadBlock(BlockBase, tag="container_upload"):
    """A file put into the code-execution container."""

    file_id: str


class CompactionBlock(BlockBase, tag="compaction"):
    """What the API put in place of the conversation so far."""

    content: str | None | UnsetType = UNSET
    encrypted_content: str | None | UnsetType = UNSET
    signature: str | None | UnsetType = UNSET
    tool_changes: Raw | UnsetType = UNSET


class FallbackModel(Snake):
    """A model on one side of a fallback."""

    model: str | UnsetType = UNSET


class FallbackBlock(BlockBase, tag="fallback"):
    """A change of model that the API made by itself."""

    from_model: str | FallbackModel | None | UnsetType = field(name="from", default=UNSET)
    to_model: str | FallbackModel | None | UnsetType = field(name="to", default=UNSET)
    trigger: Raw | UnsetType = UNSET


class ToolAdditionBlock(BlockBase, tag="tool_addition"):
    """A tool that joined in mid-conversation."""

    tool: Raw | UnsetType = UNSET


class ToolRemovalBlock(BlockBase, tag="tool_removal"):
    """A tool that left in mid-conversation."""

    tool: Raw | UnsetType = UNSET


ContentBlock = Open[
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ToolReferenceBlock
    | BrowserStateBlock
    | ServerToolUseBlock
    | WebSearchToolResultBlock
    | WebFetchToolResultBlock
    | AdvisorToolResultBlock
    | CodeExecutionToolResultBlock
    | BashCodeExecutionToolResultBlock
    | TextEditorCodeExecutionToolResultBlock
    | ToolSearchToolResultBlock
    | McpToolUseBlock
    | McpToolResultBlock
    | McpToolListingBlock
    | ContainerUploadBlock
    | CompactionBlock
    | FallbackBlock
    | ToolAdditionBlock
    | ToolRemovalBlock,
    UnknownBlock,
]
