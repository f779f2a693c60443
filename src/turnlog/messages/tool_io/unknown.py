"""What stands for a tool's input or result when its type is not known, or its text is not JSON."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Snake, UnknownNamed, UnsetType, field


class UnknownToolInput(UnknownNamed):
    """The input of a tool that nobody declared, or one that its tool's type cannot hold."""

    __slots__ = ()


class UnknownToolResult(UnknownNamed):
    """A result that fits no declared tool."""

    __slots__ = ()


class UnparsedText(Snake):
    """The beginning of what the model wrote, and how long all of it was."""

    raw: str
    length: int | UnsetType = field(name="len", default=UNSET)


class UnparsedInput(Snake):
    """What any tool's input becomes when the model did not write JSON."""

    content: UnparsedText | str = field(name="__unparsedToolInput")

    @property
    def text(self) -> str:
        """The model's text, as far as it was kept."""
        return self.content if isinstance(self.content, str) else self.content.raw
