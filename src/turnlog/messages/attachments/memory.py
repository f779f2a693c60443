"""What the model is told to remember: instruction files and memories."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, Number, UnsetType


class InstructionFile(Camel):
    """A file of instructions, and whose they are."""

    path: str | UnsetType = UNSET
    type: str | None | UnsetType = UNSET
    """`Project`, `User` and the like."""
    content: str | None | UnsetType = UNSET


class InstructionsAttachment(AttachmentBase, tag="instructions"):
    """The files of instructions in force."""

    files: tuple[InstructionFile, ...] | UnsetType = UNSET
    changed: bool | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET
    removed: tuple[str, ...] | None | UnsetType = UNSET


class MemoryFile(InstructionFile):
    """A file of instructions that applies to a part of the project."""

    globs: tuple[str, ...] | None | UnsetType = UNSET
    """The paths to which it applies."""
    raw_content: str | None | UnsetType = UNSET
    parent: str | None | UnsetType = UNSET
    """The file that includes it."""
    content_differs_from_disk: bool | UnsetType = UNSET


class NestedMemory(AttachmentBase, tag="nested_memory"):
    """Instructions that came into force because a file below them was touched."""

    path: str | UnsetType = UNSET
    content: MemoryFile | None | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class RelevantMemory(Camel):
    """A memory that fits the prompt."""

    path: str | UnsetType = UNSET
    content: str | None | UnsetType = UNSET
    mtime_ms: Number | None | UnsetType = UNSET


class RelevantMemories(AttachmentBase, tag="relevant_memories"):
    """The memories that fit the prompt."""

    memories: tuple[RelevantMemory, ...] | UnsetType = UNSET
