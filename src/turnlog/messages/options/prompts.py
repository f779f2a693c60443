"""The system prompt: text, blocks of text, or an object that says more."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, UnknownTagged, UnsetType
from turnlog.messages.options.enums import Preset


class UnknownSystemPrompt(UnknownTagged):
    """A system prompt of an unknown type."""

    __slots__ = ()


class _SystemPrompt(Camel, tag_field="type"):
    """A system prompt that says more than its text."""

    type: ClassVar[str]
    snapshot: bool | UnsetType = UNSET
    """Whether the prompt is recorded, to be used again when the session is resumed."""


class CustomSystemPrompt(_SystemPrompt, tag="custom"):
    """A prompt of one's own."""

    prompt: str | tuple[str, ...]


class PresetSystemPrompt(_SystemPrompt, tag="preset"):
    """Claude Code's own prompt, and what is added to it."""

    preset: Preset
    append: str | UnsetType = UNSET
    exclude_dynamic_sections: bool | UnsetType = UNSET


SystemPromptConfig = Open[str | tuple[str, ...] | CustomSystemPrompt | PresetSystemPrompt, UnknownSystemPrompt]
"""What stands in place of Claude Code's prompt, or is added to it."""
