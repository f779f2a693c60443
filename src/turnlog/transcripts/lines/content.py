"""What a line contains and what it is to a reader: blocks and texts, role, category, and who speaks.

Most calls are `tool_use` blocks, answered by `tool_result` blocks in a later line. The API's own tools have
block types of their own, and answer within the same message. Both kinds are calls, and read alike here.
Prompts and answers say what their text blocks say (`prompts` knows what tags in a prompt mean). All else has
its text where its type puts it. A line of an unknown type says what stands in it.

Spec 002 has seven roles (§3), ten kinds of messages to show (§5) and ten categories of actions (§6), for the
line types of its day. Each is one table here, with a place for every type since: what nobody thought of is a
system line, and shown. Spec 002 gives no role to lines that it skips. They get one here (what the program put
in the user's mouth is the system's), and skipping shows as an empty list of message types instead.

The roles of a line do not say who speaks: a person, Claude, an agent of Claude's, or the program. In a
sidechain the user is Claude and the assistant its agent (specs 000 and 004), and much that stands in the
user's place was never typed: notifications, command output, reminders.

All of this is asked of every line. So types are looked up in sets, which is much faster than asking for an
instance of a union.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeGuard, cast, get_args

import turnlog.messages.sdk.messages as sdk
from turnlog.messages import UNSET, AnyEntry, Dialect, Line, UnsetType, entries, metadata
from turnlog.messages import blocks as block_types
from turnlog.messages.attachments import HOOK_ATTACHMENTS, QueuedCommand
from turnlog.messages.blocks import ContentBlock, McpToolResultBlock, TextBlock, ToolResultBlock
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, CompactionEntry, ProgressEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.hook_events import BaseHookInput, PostToolUseFailureHookInput, StopFailureHookInput
from turnlog.messages.legacy import Api003, AssistantAction, Document003, StoredType
from turnlog.messages.message import Message, MessageOrigin, OriginKind
from turnlog.messages.message import Message as ApiMessage
from turnlog.messages.metadata import QueueOperation, SavedHookContext
from turnlog.messages.sdk.messages import (
    AssistantMessage,
    ResultMessage,
    UserFields,
    UserMessage,
    UserMessageReplay,
    has_failed,
)
from turnlog.messages.system import ApiErrorNotice, Level, LocalCommand, SystemFields, SystemNotice
from turnlog.messages.tool_io.registry import INPUTS
from turnlog.transcripts.kinds import Category, MessageType, Role
from turnlog.transcripts.lines import prompts

CallBlock = block_types.ToolUseBlock | block_types.ServerToolUseBlock | block_types.McpToolUseBlock
ServerResultBlock = (
    block_types.WebSearchToolResultBlock
    | block_types.WebFetchToolResultBlock
    | block_types.AdvisorToolResultBlock
    | block_types.CodeExecutionToolResultBlock
    | block_types.BashCodeExecutionToolResultBlock
    | block_types.TextEditorCodeExecutionToolResultBlock
    | block_types.ToolSearchToolResultBlock
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


def find_error_flag(block: ResultBlock | SystemNotice) -> bool | None | UnsetType:
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
    entries.CompactionPhase.COMPACTING: "Compacting the conversation",
    entries.CompactionPhase.COMPACTED: "Conversation compacted",
    entries.CompactionPhase.RESTORING: "Restoring the conversation",
    entries.CompactionPhase.RESTORED: "Conversation restored",
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
    entries.UnknownEntry: lambda entry: str(entry.raw.decode("utf-8", "replace")),
}


def prompt_of(entry: AnyEntry) -> prompts.Prompt | None:
    """Return what an entry in the user's place says; None for one that stands elsewhere.

    That the entry is a result, or the program's metadata, is nothing that is looked at here.
    """
    if is_prompt(entry):
        return prompts.join_prompts(list_texts(entry))
    if isinstance(entry, AttachmentEntry) and isinstance(entry.attachment, QueuedCommand):
        return prompts.read_prompt(content_text(entry.attachment.prompt))
    if isinstance(entry, LocalCommand):
        return prompts.read_prompt(content_text(entry.content))
    return (
        prompts.read_prompt(content_text(entry.content).strip()) if isinstance(entry, QueueOperation) else None
    )


def list_prompts(entry: AnyEntry) -> list[prompts.Prompt]:
    """Return what the texts of a prompt are, block by block; of one that was queued, too."""
    return [prompts.read_prompt(text) for text in list_prompt_texts(entry)]


def list_prompt_texts(entry: AnyEntry) -> list[str]:
    """Return the texts in the user's place that say something, as they stand."""
    if not isinstance(entry, AttachmentEntry):
        return list_texts(entry)
    queued = entry.attachment.prompt if isinstance(entry.attachment, QueuedCommand) else ""
    if isinstance(queued, str):
        return [queued] if queued.strip() else []
    return [block.text for block in queued or () if isinstance(block, TextBlock) and block.text.strip()]


ROLES: Mapping[type, Role] = {
    ProgressEntry: Role.PROGRESS,
    metadata.Summary: Role.SUMMARY,
    # The stream's ways to say that something is under way.
    sdk.PartialAssistantMessage: Role.PROGRESS,
    sdk.ToolProgressMessage: Role.PROGRESS,
    sdk.TaskProgressMessage: Role.PROGRESS,
    sdk.HookProgressMessage: Role.PROGRESS,
    sdk.ThinkingTokensMessage: Role.PROGRESS,
}
"""The role of entries that are neither prompts nor answers; all that is not listed is the system's."""

CATEGORIES: Mapping[type, Category | None] = {
    metadata.Summary: None,
    SavedHookContext: Category.HOOK,
    metadata.FileHistorySnapshot: Category.SNAPSHOT,
    metadata.FileHistoryDelta: Category.SNAPSHOT,
    metadata.QueueOperation: Category.QUEUE,
    ApiErrorNotice: Category.ERROR,
    # `data` of progress lines
    entries.HookProgress: Category.HOOK_PROGRESS,
    entries.AgentProgress: Category.AGENT,
    # `attachment` of attachment lines; a queued command is a prompt, and no action
    QueuedCommand: None,
    **dict.fromkeys(HOOK_ATTACHMENTS, Category.HOOK),
    # the stream
    sdk.HookStartedMessage: Category.HOOK,
    sdk.HookResponseMessage: Category.HOOK,
    sdk.HookProgressMessage: Category.HOOK_PROGRESS,
    sdk.TaskProgressMessage: Category.AGENT,
    sdk.PartialAssistantMessage: None,
    sdk.ToolProgressMessage: None,
    sdk.ThinkingTokensMessage: None,
    sdk.ApiRetryMessage: Category.ERROR,
    sdk.MirrorErrorMessage: Category.ERROR,
    sdk.SessionWritesLostMessage: Category.ERROR,
    # what hooks are told: an error where the event is one
    PostToolUseFailureHookInput: Category.ERROR,
    StopFailureHookInput: Category.ERROR,
}
"""The category of entries and of what they carry; unlisted progress has none, all else unlisted is `system`."""

TOOL_CATEGORIES: Mapping[str, Category] = {
    "Skill": Category.SKILL,
    "Task": Category.AGENT,
    "Agent": Category.AGENT,
}
"""The tools that are not simply built in; for `Task` spec 002 says both, and agent wins."""

SERVER_TOOLS = frozenset(
    {
        "advisor",
        "bash_code_execution",
        "code_execution",
        "text_editor_code_execution",
        "tool_search_tool_bm25",
        "tool_search_tool_regex",
        "web_fetch",
        "web_search",
    }
)
"""The tools that the API runs by itself."""

_MCP_PREFIX = "mcp__"
# Looking a member up costs as much as all else that is done for a line.
_USER, _ASSISTANT, _SYSTEM, _SUMMARY = Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.SUMMARY
_TOOL_USE, _TOOL_RESULT = Role.TOOL_USE, Role.TOOL_RESULT
_ERROR, _HOOK, _BUILTIN = Category.ERROR, Category.HOOK, Category.BUILTIN
_FAILED = AssistantAction.ERROR
_THOUGHTS = frozenset({block_types.ThinkingBlock, block_types.RedactedThinkingBlock})
_SHOWN = {role: MessageType(role) for role in Role}


_LONE_BLOCKS: Mapping[type, MessageType] = {
    block_types.ToolUseBlock: MessageType.TOOL_USE,
    **dict.fromkeys(_THOUGHTS, MessageType.THINKING),
}
"""What an answer shows that is a single block; of a text it depends on whether it says anything."""


def tool_category(name: str) -> Category:
    """Return the category of a tool; a name that nobody knows is `builtin`, and not `is_known_tool`."""
    if name.startswith(_MCP_PREFIX):
        return Category.MCP
    return TOOL_CATEGORIES.get(name, _BUILTIN)


def is_known_tool(name: str) -> bool:
    """Tell whether a tool is declared: built in, run by the API, or of some MCP server."""
    return name in INPUTS or name in SERVER_TOOLS or name.startswith(_MCP_PREFIX)


def role_of(line: Line) -> Role:
    """Return what a line is in the conversation; every line is something."""
    entry = line.entry
    if is_answer(entry):
        return _answer_role(line)
    if is_prompt(entry):
        return _prompt_role(entry)
    if type(entry) is AttachmentEntry and type(entry.attachment) is QueuedCommand:
        return _USER
    if type(entry) is CompactionEntry and type(entry.recap) is Message:
        return _SUMMARY
    return ROLES.get(type(entry), _SYSTEM)


def find_category(line: Line) -> Category | None:
    """Return what sort of action a line is, or None: prompts, answers and results are none by themselves.

    The calls in an answer have categories of their own (`tool_category`).
    """
    return _category(line.entry, role_of(line))


def list_message_types(line: Line) -> list[MessageType]:
    """Return what a line shows, in order: usually one thing, thinking before what it led to.

    Empty for what spec 002 skips: an answer without any content, and what the program put in the user's mouth.
    """
    entry = line.entry
    if type(entry) is AssistantEntry and not _is_error(entry):
        content = entry.message.content
        if type(content) is tuple and len(content) == 1 and (lone := _LONE_BLOCKS.get(type(content[0]))):
            return [lone]  # as nearly all answers of today
    role = role_of(line)
    category = _category(entry, role)
    if category is _ERROR:
        return [MessageType.ERROR]
    if is_answer(entry):
        return _answer_types(entry, role)
    if role is _SYSTEM and is_prompt(entry):
        return []
    if category is _HOOK and not isinstance(entry, SavedHookContext):
        return [MessageType.HOOK]
    return [_SHOWN[role]]


def _category(entry: AnyEntry, role: Role) -> Category | None:
    if is_prompt(entry) or (is_answer(entry) and not _is_error(entry)):
        return Category.SYSTEM if role is _SYSTEM else None
    if type(entry) is ProgressEntry:
        return CATEGORIES.get(type(entry.data))
    if type(entry) is AttachmentEntry:
        return CATEGORIES.get(type(entry.attachment), Category.SYSTEM)
    if _is_error(entry):
        return _ERROR
    return CATEGORIES.get(type(entry), _HOOK if isinstance(entry, BaseHookInput) else Category.SYSTEM)


def _answer_role(line: Line) -> Role:
    if list_texts(line.entry):
        return _ASSISTANT
    blocks = list_blocks(line.entry)
    if has_call(blocks) or find_stored_type(line) is StoredType.TOOL_USE:
        return _TOOL_USE
    return _TOOL_RESULT if has_result(blocks) else _ASSISTANT


def _prompt_role(entry: UserEntry | UserFields) -> Role:
    if has_result(list_blocks(entry)):
        return _TOOL_RESULT
    if isinstance(entry, UserFields):
        return _SYSTEM if entry.is_synthetic is True else _USER
    if entry.is_compact_summary is True:
        return _SUMMARY
    return _SYSTEM if entry.is_meta is True else _USER


def _answer_types(entry: AssistantEntry | AssistantMessage, role: Role) -> list[MessageType]:
    blocks = list_blocks(entry)
    thoughts = sum(type(block) in _THOUGHTS for block in blocks)
    shown = [MessageType.THINKING] if thoughts else []
    # There may be more than thoughts and empty texts: fallbacks, images, what nobody knows.
    has_more = sum(getattr(block, "text", None) is None for block in blocks) > thoughts
    if has_more or role is not _ASSISTANT or list_texts(entry):
        shown.append(_SHOWN[role])
    return shown


def _is_error(entry: AnyEntry) -> bool:
    if type(entry) is AssistantEntry:
        return entry.is_api_error_message is True or entry.is_error is True or entry.subtype == _FAILED
    if type(entry) is AssistantMessage:
        return isinstance(entry.error, str)
    if isinstance(entry, SystemFields):
        return entry.level is Level.ERROR or entry.is_error is True or isinstance(entry, ApiErrorNotice)
    if type(entry) is ResultMessage:
        return has_failed(entry)
    return CATEGORIES.get(type(entry)) is _ERROR


class Author(StrEnum):
    """Who speaks in a line."""

    HUMAN = "human"
    CLAUDE = "claude"
    AGENT = "agent"
    SYSTEM = "system"


AUTHORS: Mapping[tuple[Role, bool], Author] = {
    (Role.USER, False): Author.HUMAN,
    (Role.USER, True): Author.CLAUDE,
    (Role.ASSISTANT, False): Author.CLAUDE,
    (Role.ASSISTANT, True): Author.AGENT,
    (Role.TOOL_USE, False): Author.CLAUDE,
    (Role.TOOL_USE, True): Author.AGENT,
}
"""Who speaks, by role and by whether it is in a sidechain; in all other roles it is the system."""

ORIGINS: Mapping[str, Author] = {
    OriginKind.PEER: Author.AGENT,
    OriginKind.COORDINATOR: Author.AGENT,
    OriginKind.TASK_NOTIFICATION: Author.SYSTEM,
    OriginKind.OBSERVER: Author.SYSTEM,
    OriginKind.OBSERVER_ACTIVITY: Author.SYSTEM,
    OriginKind.AUTO_CONTINUATION: Author.SYSTEM,
    "task_notification": Author.SYSTEM,
    "scheduled": Author.SYSTEM,
}
"""Who is behind a prompt that says where it came from (`origin`, `turnOrigin`); a person, where not listed."""

_SYNTHETIC = "<synthetic>"
_STORED = frozenset({Dialect.SPEC_003_EXTRACTED, Dialect.SPEC_003_DOCUMENT, Dialect.SPEC_003_API})


def author_of(line: Line) -> Author:
    """Return who speaks in a line."""
    entry, role = line.entry, role_of(line)
    author = AUTHORS.get((role, is_sidechain(line)), Author.SYSTEM)
    if role is Role.USER:
        return _sender(entry, author)
    if isinstance(entry, AssistantEntry) and entry.is_api_error_message is True:
        return Author.SYSTEM
    if isinstance(entry, AssistantEntry | AssistantMessage) and entry.message.model == _SYNTHETIC:
        return Author.SYSTEM
    return author


def is_sidechain(line: Line) -> bool:
    """Tell whether a line belongs to a sub-agent's conversation."""
    entry = line.entry
    if isinstance(entry, AssistantMessage | UserFields):
        return isinstance(entry.parent_tool_use_id, str)
    if not isinstance(entry, Envelope) or entry.is_sidechain is not True:
        return False
    # Spec 003 flags all that has to do with tools, so there the flag does not tell whose call it is.
    if line.dialect not in _STORED:
        return True
    return not any(is_call(block) or is_result(block) for block in list_blocks(entry))


def _sender(entry: AnyEntry, author: Author) -> Author:
    """Return who is behind what stands in the user's place."""
    told = ORIGINS.get(_origin(entry))
    kinds = [prompts.kind_of(text) for text in list_prompt_texts(entry)]
    if told is Author.SYSTEM or (kinds and all(kind in prompts.PROGRAM_KINDS for kind in kinds)):
        return Author.SYSTEM
    if isinstance(entry, UserEntry) and entry.prompt_source is entries.PromptSource.SYSTEM:
        return Author.SYSTEM
    if author is Author.CLAUDE:
        return author
    return Author.AGENT if told or kinds[:1] == [prompts.PromptKind.TEAMMATE] else author


def _origin(entry: AnyEntry) -> str:
    origin: MessageOrigin | str | None | UnsetType = None
    if isinstance(entry, UserEntry | UserFields):
        origin = entry.origin
    elif isinstance(entry, AttachmentEntry) and isinstance(entry.attachment, QueuedCommand):
        origin = entry.attachment.origin
    kind = origin.kind if isinstance(origin, MessageOrigin) else origin
    if isinstance(kind, str):
        return kind
    return entry.turn_origin if isinstance(entry, UserEntry) and isinstance(entry.turn_origin, str) else ""
