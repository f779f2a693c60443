"""Whether and how much the model thinks, and how much it may spend on a task."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, OpenEnum, UnknownTagged, UnsetType


class UnknownThinking(UnknownTagged):
    """A way of thinking of an unknown type."""

    __slots__ = ()


class ThinkingDisplay(OpenEnum):
    """How much of its thinking the model shows."""

    SUMMARIZED = "summarized"
    OMITTED = "omitted"


class _Thinking(Camel, tag_field="type"):
    """A way of thinking."""

    type: ClassVar[str]


class ThinkingAdaptive(_Thinking, tag="adaptive"):
    """The model decides when and how much to think."""

    display: ThinkingDisplay | UnsetType = UNSET


class ThinkingEnabled(_Thinking, tag="enabled"):
    """The model thinks, within a number of tokens."""

    budget_tokens: int | UnsetType = UNSET
    display: ThinkingDisplay | UnsetType = UNSET


class ThinkingDisabled(_Thinking, tag="disabled"):
    """The model does not think."""


ThinkingConfig = Open[ThinkingAdaptive | ThinkingEnabled | ThinkingDisabled, UnknownThinking]
"""Whether and how much the model thinks."""


class TaskBudget(Camel):
    """The tokens that the model is told it may spend on the whole task."""

    total: int
