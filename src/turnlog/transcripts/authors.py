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
from turnlog.messages.channels import AnyEntry
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, PromptSource, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.media import TextBlock
from turnlog.messages.origin import MessageOrigin, OriginKind
from turnlog.messages.sdk import AssistantMessage, UserFields
from turnlog.transcripts.categories import Role, role_of
from turnlog.transcripts.tool_blocks import is_call, list_blocks, list_texts

__all__ = ["AUTHORS", "ORIGINS", "Author", "author_of", "is_program_text"]


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

_PROGRAM_TEXTS = (
    "[Request interrupted by user",
    "<task-notification>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "This session is being continued from a previous conversation",
)
_REMINDER = ("<system-reminder>", "</system-reminder>")
_TEAMMATE = "<teammate-message"
_SYNTHETIC = "<synthetic>"
_STORED = frozenset({Dialect.SPEC_003_EXTRACTED, Dialect.SPEC_003_DOCUMENT, Dialect.SPEC_003_API})


def author_of(line: Line) -> Author:
    """Return who speaks in a line."""
    entry, role = line.entry, role_of(line)
    author = AUTHORS.get((role, _is_sidechain(line)), Author.SYSTEM)
    if role is Role.USER:
        return _sender(entry, author)
    if isinstance(entry, AssistantEntry) and entry.is_api_error_message is True:
        return Author.SYSTEM
    if isinstance(entry, AssistantEntry | AssistantMessage) and entry.message.model == _SYNTHETIC:
        return Author.SYSTEM
    return author


def is_program_text(text: str) -> bool:
    """Tell whether a text in the user's place was written by the program: output, notices, reminders."""
    words = text.strip()
    begins, ends = _REMINDER
    return words.startswith(_PROGRAM_TEXTS) or (words.startswith(begins) and words.endswith(ends))


def _is_sidechain(line: Line) -> bool:
    entry = line.entry
    if isinstance(entry, AssistantMessage | UserFields):
        return isinstance(entry.parent_tool_use_id, str)
    if not isinstance(entry, Envelope) or entry.is_sidechain is not True:
        return False
    # Spec 003 flags all that has to do with tools, so there the flag does not tell whose call it is.
    return line.dialect not in _STORED or not any(is_call(block) for block in list_blocks(entry))


def _sender(entry: AnyEntry, author: Author) -> Author:
    """Return who is behind what stands in the user's place."""
    told = ORIGINS.get(_origin(entry))
    texts = _prompt_texts(entry)
    if told is Author.SYSTEM or (texts and all(is_program_text(text) for text in texts)):
        return Author.SYSTEM
    if isinstance(entry, UserEntry) and entry.prompt_source is PromptSource.SYSTEM:
        return Author.SYSTEM
    if author is Author.CLAUDE:
        return author
    return Author.AGENT if told or (texts and texts[0].startswith(_TEAMMATE)) else author


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


def _prompt_texts(entry: AnyEntry) -> list[str]:
    if not isinstance(entry, AttachmentEntry):
        return list_texts(entry)
    prompt = entry.attachment.prompt if isinstance(entry.attachment, QueuedCommand) else ""
    if isinstance(prompt, str):
        return [prompt]
    return [block.text for block in prompt or () if isinstance(block, TextBlock)]
