"""Content blocks: the parts of a message, their citations, and where images and documents are from.

One union serves both sides of the conversation, because real files mix them. A tool's input stays raw bytes
until somebody asks for it (`tool_io.view_input`): most readers never look, and decoding it is half the work.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Open, Raw, Snake, UnknownBlock, UnsetType, field

__all__ = [
    "AdvisorError", "AdvisorRedactedResult", "AdvisorResult", "AdvisorToolResultBlock", "Base64Source",
    "BashCodeExecutionError", "BashCodeExecutionResult", "BashCodeExecutionToolResultBlock", "BlockBase",
    "BrowserStateBlock", "CacheControl", "Caller", "CharLocation", "Citation", "CitationBase",
    "CitationsConfig", "CodeExecutionError", "CodeExecutionResult", "CodeExecutionToolResultBlock",
    "CompactionBlock", "ContainerUploadBlock", "ContentBlock", "ContentBlockLocation", "ContentSource",
    "DocumentBlock", "EncryptedCodeExecutionResult", "FallbackBlock", "FallbackModel", "FileSource",
    "ImageBlock", "McpToolListingBlock", "McpToolResultBlock", "McpToolUseBlock", "OutputFile", "PageLocation",
    "RedactedThinkingBlock", "SearchResultBlock", "SearchResultLocation", "ServerToolUseBlock", "Source",
    "SourceBase", "TextBlock", "TextEditorCodeExecutionToolResultBlock", "TextEditorCreateResult",
    "TextEditorError", "TextEditorStrReplaceResult", "TextEditorViewResult", "TextSource", "ThinkingBlock",
    "ToolAdditionBlock", "ToolReferenceBlock", "ToolRemovalBlock", "ToolResultBlock", "ToolSearchError",
    "ToolSearchResult", "ToolSearchToolResultBlock", "ToolUseBlock", "UrlSource", "WebFetchError",
    "WebFetchResult", "WebFetchToolResultBlock", "WebSearchError", "WebSearchResult", "WebSearchResultLocation",
    "WebSearchToolResultBlock",
]  # fmt: skip


class CitationBase(Snake, tag_field="type"):
    """What every citation says."""

    type: ClassVar[str]
    cited_text: str | UnsetType = UNSET


class _InDocument(CitationBase):
    document_index: int | UnsetType = UNSET
    document_title: str | None | UnsetType = UNSET
    file_id: str | None | UnsetType = UNSET


class CharLocation(_InDocument, tag="char_location"):
    """A range of characters of a plain-text document."""

    start_char_index: int | UnsetType = UNSET
    end_char_index: int | UnsetType = UNSET


class PageLocation(_InDocument, tag="page_location"):
    """A range of pages of a PDF."""

    start_page_number: int | UnsetType = UNSET
    end_page_number: int | UnsetType = UNSET


class ContentBlockLocation(_InDocument, tag="content_block_location"):
    """A range of blocks of a document made of blocks."""

    start_block_index: int | UnsetType = UNSET
    end_block_index: int | UnsetType = UNSET


class SearchResultLocation(CitationBase, tag="search_result_location"):
    """A range of blocks of a search result."""

    search_result_index: int | UnsetType = UNSET
    source: str | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    start_block_index: int | UnsetType = UNSET
    end_block_index: int | UnsetType = UNSET


class WebSearchResultLocation(CitationBase, tag="web_search_result_location"):
    """A page that a web search found."""

    url: str | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    encrypted_index: str | UnsetType = UNSET


Citation = Open[
    CharLocation | PageLocation | ContentBlockLocation | SearchResultLocation | WebSearchResultLocation,
    UnknownBlock,
]


class CacheControl(Snake):
    """A mark up to which the prompt is cached."""

    type: str | UnsetType = UNSET
    ttl: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET


class CitationsConfig(Snake):
    """Whether a document may be cited."""

    enabled: bool | UnsetType = UNSET


class BlockBase(Snake, tag_field="type"):
    """What every block has: a type, and perhaps a cache mark."""

    type: ClassVar[str]
    cache_control: CacheControl | None | UnsetType = UNSET


class TextBlock(BlockBase, tag="text"):
    """Plain text."""

    text: str
    citations: tuple[Citation, ...] | None | UnsetType = UNSET


class SourceBase(Snake, tag_field="type"):
    """Where an image's or a document's content is."""

    type: ClassVar[str]


class Base64Source(SourceBase, tag="base64"):
    """The bytes themselves, in base64."""

    media_type: str | UnsetType = UNSET
    data: str


class TextSource(SourceBase, tag="text"):
    """A plain-text document."""

    media_type: str | UnsetType = UNSET
    data: str


class UrlSource(SourceBase, tag="url"):
    """An address that the API fetches."""

    url: str


class FileSource(SourceBase, tag="file"):
    """A file that was uploaded before."""

    file_id: str


class ContentSource(SourceBase, tag="content"):
    """A document made of blocks."""

    content: str | tuple[MediaBlock, ...]


Source = Open[Base64Source | TextSource | UrlSource | FileSource | ContentSource, UnknownBlock]


class ImageBlock(BlockBase, tag="image"):
    """A picture."""

    source: Source


class DocumentBlock(BlockBase, tag="document"):
    """A PDF or text document."""

    source: Source
    title: str | None | UnsetType = UNSET
    context: str | None | UnsetType = UNSET
    citations: CitationsConfig | None | UnsetType = UNSET


class SearchResultBlock(BlockBase, tag="search_result"):
    """One result of a search that a tool made, for citing."""

    source: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    content: tuple[TextBlock, ...] | UnsetType = UNSET
    citations: CitationsConfig | None | UnsetType = UNSET


MediaBlock = Open[TextBlock | ImageBlock | DocumentBlock | SearchResultBlock, UnknownBlock]


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
