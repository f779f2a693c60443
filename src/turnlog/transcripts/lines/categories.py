"""What a line is to a reader: its role, how it is shown, what sort of action it is, and who speaks.

Spec 002 has seven roles (§3), ten kinds of messages to show (§5) and ten categories of actions (§6), for the
line types of its day. Each is one table here, with a place for every type since: what nobody thought of is a
system line, and shown. Spec 002 gives no role to lines that it skips. They get one here (what the program put
in the user's mouth is the system's), and skipping shows as an empty list of message types instead.

The roles of a line do not say who speaks: a person, Claude, an agent of Claude's, or the program. In a
sidechain the user is Claude and the assistant its agent (specs 000 and 004), and much that stands in the
user's place was never typed: notifications, command output, reminders.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from turnlog.messages import AnyEntry, Dialect, Line, UnsetType, metadata, sdk
from turnlog.messages.attachments import HOOK_ATTACHMENTS, QueuedCommand
from turnlog.messages.blocks import RedactedThinkingBlock, ThinkingBlock, ToolUseBlock
from turnlog.messages.entries import (
    AgentProgress,
    AssistantEntry,
    AttachmentEntry,
    CompactionEntry,
    HookProgress,
    ProgressEntry,
    PromptSource,
    UserEntry,
)
from turnlog.messages.envelope import Envelope
from turnlog.messages.hook_events import BaseHookInput, PostToolUseFailureHookInput, StopFailureHookInput
from turnlog.messages.legacy import AssistantAction, StoredType
from turnlog.messages.message import Message, MessageOrigin, OriginKind
from turnlog.messages.metadata import SavedHookContext
from turnlog.messages.sdk.messages import AssistantMessage, ResultMessage, UserFields, has_failed
from turnlog.messages.system import ApiErrorNotice, Level, SystemFields
from turnlog.messages.tool_io.registry import INPUTS
from turnlog.transcripts.kinds import Category, MessageType, Role
from turnlog.transcripts.lines.blocks import (
    find_stored_type,
    has_call,
    has_result,
    is_answer,
    is_call,
    is_prompt,
    is_result,
    list_blocks,
    list_texts,
)
from turnlog.transcripts.lines.prompts import PROGRAM_KINDS, PromptKind, kind_of, list_prompt_texts

ROLES: Mapping[type, Role] = MappingProxyType(
    {
        ProgressEntry: Role.PROGRESS,
        metadata.Summary: Role.SUMMARY,
        # The stream's ways to say that something is under way.
        sdk.PartialAssistantMessage: Role.PROGRESS,
        sdk.ToolProgressMessage: Role.PROGRESS,
        sdk.TaskProgressMessage: Role.PROGRESS,
        sdk.HookProgressMessage: Role.PROGRESS,
        sdk.ThinkingTokensMessage: Role.PROGRESS,
    }
)
"""The role of entries that are neither prompts nor answers; all that is not listed is the system's."""

CATEGORIES: Mapping[type, Category | None] = MappingProxyType(
    {
        metadata.Summary: None,
        SavedHookContext: Category.HOOK,
        metadata.FileHistorySnapshot: Category.SNAPSHOT,
        metadata.FileHistoryDelta: Category.SNAPSHOT,
        metadata.QueueOperation: Category.QUEUE,
        ApiErrorNotice: Category.ERROR,
        # `data` of progress lines
        HookProgress: Category.HOOK_PROGRESS,
        AgentProgress: Category.AGENT,
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
)
"""The category of entries and of what they carry; unlisted progress has none, all else unlisted is `system`."""

TOOL_CATEGORIES: Mapping[str, Category] = MappingProxyType(
    {"Skill": Category.SKILL, "Task": Category.AGENT, "Agent": Category.AGENT}
)
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
_THOUGHTS = frozenset({ThinkingBlock, RedactedThinkingBlock})
_SHOWN = MappingProxyType({role: MessageType(role) for role in Role})


_LONE_BLOCKS: Mapping[type, MessageType] = {
    ToolUseBlock: MessageType.TOOL_USE,
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


AUTHORS: Mapping[tuple[Role, bool], Author] = MappingProxyType(
    {
        (Role.USER, False): Author.HUMAN,
        (Role.USER, True): Author.CLAUDE,
        (Role.ASSISTANT, False): Author.CLAUDE,
        (Role.ASSISTANT, True): Author.AGENT,
        (Role.TOOL_USE, False): Author.CLAUDE,
        (Role.TOOL_USE, True): Author.AGENT,
    }
)
"""Who speaks, by role and by whether it is in a sidechain; in all other roles it is the system."""

ORIGINS: Mapping[str, Author] = MappingProxyType(
    {
        OriginKind.PEER: Author.AGENT,
        OriginKind.COORDINATOR: Author.AGENT,
        OriginKind.TASK_NOTIFICATION: Author.SYSTEM,
        OriginKind.OBSERVER: Author.SYSTEM,
        OriginKind.OBSERVER_ACTIVITY: Author.SYSTEM,
        OriginKind.AUTO_CONTINUATION: Author.SYSTEM,
        "task_notification": Author.SYSTEM,
        "scheduled": Author.SYSTEM,
    }
)
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
    kinds = [kind_of(text) for text in list_prompt_texts(entry)]
    if told is Author.SYSTEM or (kinds and all(kind in PROGRAM_KINDS for kind in kinds)):
        return Author.SYSTEM
    if isinstance(entry, UserEntry) and entry.prompt_source is PromptSource.SYSTEM:
        return Author.SYSTEM
    if author is Author.CLAUDE:
        return author
    return Author.AGENT if told or kinds[:1] == [PromptKind.TEAMMATE] else author


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
