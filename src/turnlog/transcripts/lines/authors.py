"""Who speaks: a person, Claude, an agent of Claude's, or the program.

The roles of a line do not say it. In a sidechain the user is Claude and the assistant its agent (specs 000 and
004), and much that stands in the user's place was never typed: notifications, command output, reminders.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from turnlog.messages import Dialect, Line, UnsetType
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, PromptSource, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.origin import MessageOrigin, OriginKind
from turnlog.messages.sdk import AssistantMessage, UserFields
from turnlog.transcripts.lines.blocks import is_call, is_result, list_blocks
from turnlog.transcripts.lines.categories import role_of
from turnlog.transcripts.lines.kinds import Role
from turnlog.transcripts.lines.prompts import PROGRAM_KINDS, PromptKind, kind_of, list_prompt_texts


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


def is_program_text(text: str) -> bool:
    """Tell whether a text in the user's place was written by the program: output, notices, reminders."""
    return kind_of(text) in PROGRAM_KINDS


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
