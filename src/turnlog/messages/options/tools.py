"""Which tools there are, and how single ones behave."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, OpenEnum, UnknownTagged, UnsetType
from turnlog.messages.options.enums import Preset


class UnknownTools(UnknownTagged):
    """A choice of tools of an unknown type."""

    __slots__ = ()


class ToolsPreset(Camel, tag_field="type", tag="preset"):
    """A ready-made set of tools."""

    type: ClassVar[str]
    preset: Preset


ToolsConfig = Open[tuple[str, ...] | ToolsPreset, UnknownTools]
"""The tools there are, by name (none, if empty), or a ready-made set."""


class PreviewFormat(OpenEnum):
    """How the answers to a question are shown beforehand."""

    MARKDOWN = "markdown"
    HTML = "html"


class AskUserQuestionConfig(Camel):
    """How the tool that asks the user behaves."""

    preview_format: PreviewFormat | UnsetType = UNSET


class ToolConfig(Camel):
    """How single tools behave."""

    ask_user_question: AskUserQuestionConfig | UnsetType = UNSET
