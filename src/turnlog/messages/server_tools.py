"""Blocks of tools that run on the API's side: their calls and their results."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Open, Raw, Snake, UnknownBlock, UnsetType
from turnlog.messages.media import BlockBase, DocumentBlock, TextBlock

__all__ = [
    "AdvisorError",
    "AdvisorRedactedResult",
    "AdvisorResult",
    "AdvisorToolResultBlock",
    "BashCodeExecutionError",
    "BashCodeExecutionResult",
    "BashCodeExecutionToolResultBlock",
    "Caller",
    "CodeExecutionError",
    "CodeExecutionResult",
    "CodeExecutionToolResultBlock",
    "EncryptedCodeExecutionResult",
    "McpToolListingBlock",
    "McpToolResultBlock",
    "McpToolUseBlock",
    "OutputFile",
    "ServerToolUseBlock",
    "TextEditorCodeExecutionToolResultBlock",
    "TextEditorCreateResult",
    "TextEditorError",
    "TextEditorStrReplaceResult",
    "TextEditorViewResult",
    "ToolReferenceBlock",
    "ToolSearchError",
    "ToolSearchResult",
    "ToolSearchToolResultBlock",
    "WebFetchError",
    "WebFetchResult",
    "WebFetchToolResultBlock",
    "WebSearchError",
    "WebSearchResult",
    "WebSearchToolResultBlock",
]


class Caller(Snake):
    """Who made a call: the model itself (`direct`), or code that runs on the API's side."""

    type: str
    tool_id: str | UnsetType = UNSET


class ServerToolUseBlock(BlockBase, tag="server_tool_use"):
    """A call of a tool that the API runs."""

    id: str
    name: str
    input: Raw | UnsetType = UNSET
    caller: Caller | None | UnsetType = UNSET


class ToolReferenceBlock(BlockBase, tag="tool_reference"):
    """The name of a tool that a tool search found."""

    tool_name: str


class _ServerToolResult(BlockBase):
    tool_use_id: str
    caller: Caller | None | UnsetType = UNSET


class _Result(Snake, tag_field="type"):
    type: ClassVar[str]


class _Error(_Result):
    error_code: str | UnsetType = UNSET
    error_message: str | None | UnsetType = UNSET


class WebSearchResult(_Result, tag="web_search_result"):
    """A page that a web search found."""

    url: str | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    encrypted_content: str | UnsetType = UNSET
    page_age: str | None | UnsetType = UNSET


class WebSearchError(_Error, tag="web_search_tool_result_error"):
    """Why a web search failed."""


class WebSearchToolResultBlock(_ServerToolResult, tag="web_search_tool_result"):
    """What a web search found."""

    content: Open[tuple[WebSearchResult, ...] | WebSearchError, UnknownBlock]


class WebFetchResult(_Result, tag="web_fetch_result"):
    """A page that was fetched."""

    url: str | UnsetType = UNSET
    retrieved_at: str | None | UnsetType = UNSET
    content: DocumentBlock | UnsetType = UNSET


class WebFetchError(_Error, tag="web_fetch_tool_result_error"):
    """Why a fetch failed."""


class WebFetchToolResultBlock(_ServerToolResult, tag="web_fetch_tool_result"):
    """What a fetch brought."""

    content: Open[WebFetchResult | WebFetchError, UnknownBlock]


class AdvisorResult(_Result, tag="advisor_result"):
    """What the advisor said."""

    text: str | UnsetType = UNSET
    stop_reason: str | None | UnsetType = UNSET


class AdvisorRedactedResult(_Result, tag="advisor_redacted_result"):
    """What the advisor said, readable by the API alone."""

    encrypted_content: str | UnsetType = UNSET
    stop_reason: str | None | UnsetType = UNSET


class AdvisorError(_Error, tag="advisor_tool_result_error"):
    """Why the advisor could not be asked."""


class AdvisorToolResultBlock(_ServerToolResult, tag="advisor_tool_result"):
    """The advisor's answer."""

    content: Open[AdvisorResult | AdvisorRedactedResult | AdvisorError, UnknownBlock]


class OutputFile(Snake):
    """A file that executed code left behind."""

    type: str | UnsetType = UNSET
    file_id: str | UnsetType = UNSET


class _Execution(_Result):
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    return_code: int | UnsetType = UNSET
    content: tuple[OutputFile, ...] | UnsetType = UNSET


class CodeExecutionResult(_Execution, tag="code_execution_result"):
    """What executed code printed."""


class EncryptedCodeExecutionResult(_Result, tag="encrypted_code_execution_result"):
    """What executed code printed, readable by the API alone."""

    encrypted_stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    return_code: int | UnsetType = UNSET
    content: tuple[OutputFile, ...] | UnsetType = UNSET


class CodeExecutionError(_Error, tag="code_execution_tool_result_error"):
    """Why code could not be executed."""


class CodeExecutionToolResultBlock(_ServerToolResult, tag="code_execution_tool_result"):
    """The result of executing code."""

    content: Open[CodeExecutionResult | EncryptedCodeExecutionResult | CodeExecutionError, UnknownBlock]


class BashCodeExecutionResult(_Execution, tag="bash_code_execution_result"):
    """What a shell command printed."""


class BashCodeExecutionError(_Error, tag="bash_code_execution_tool_result_error"):
    """Why a shell command could not be run."""


class BashCodeExecutionToolResultBlock(_ServerToolResult, tag="bash_code_execution_tool_result"):
    """The result of a shell command on the API's side."""

    content: Open[BashCodeExecutionResult | BashCodeExecutionError, UnknownBlock]


class TextEditorViewResult(_Result, tag="text_editor_code_execution_view_result"):
    """A file as the editor shows it."""

    file_type: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    num_lines: int | None | UnsetType = UNSET
    start_line: int | None | UnsetType = UNSET
    total_lines: int | None | UnsetType = UNSET


class TextEditorCreateResult(_Result, tag="text_editor_code_execution_create_result"):
    """Whether the editor made a file or replaced one."""

    is_file_update: bool | UnsetType = UNSET


class TextEditorStrReplaceResult(_Result, tag="text_editor_code_execution_str_replace_result"):
    """Which lines the editor replaced."""

    old_start: int | None | UnsetType = UNSET
    old_lines: int | None | UnsetType = UNSET
    new_start: int | None | UnsetType = UNSET
    new_lines: int | None | UnsetType = UNSET
    lines: tuple[str, ...] | None | UnsetType = UNSET


class TextEditorError(_Error, tag="text_editor_code_execution_tool_result_error"):
    """Why the editor failed."""


class TextEditorCodeExecutionToolResultBlock(_ServerToolResult, tag="text_editor_code_execution_tool_result"):
    """The result of the text editor on the API's side."""

    content: Open[
        TextEditorViewResult | TextEditorCreateResult | TextEditorStrReplaceResult | TextEditorError,
        UnknownBlock,
    ]


class ToolSearchResult(_Result, tag="tool_search_tool_search_result"):
    """The tools that a tool search found."""

    tool_references: tuple[ToolReferenceBlock, ...] | UnsetType = UNSET


class ToolSearchError(_Error, tag="tool_search_tool_result_error"):
    """Why a tool search failed."""


class ToolSearchToolResultBlock(_ServerToolResult, tag="tool_search_tool_result"):
    """The result of a tool search."""

    content: Open[ToolSearchResult | ToolSearchError, UnknownBlock]


class McpToolUseBlock(BlockBase, tag="mcp_tool_use"):
    """A call of an MCP tool that the API makes."""

    id: str
    name: str
    server_name: str | UnsetType = UNSET
    input: Raw | UnsetType = UNSET


class McpToolResultBlock(BlockBase, tag="mcp_tool_result"):
    """What an MCP tool answered to the API."""

    tool_use_id: str
    content: str | tuple[TextBlock, ...] | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET


class McpToolListingBlock(BlockBase, tag="mcp_tool_listing"):
    """The tools that an MCP server offers; its fields are not documented yet."""
