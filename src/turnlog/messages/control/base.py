"""What all requests of the control protocol rest on.

A request is told by its `subtype`. Most are spelled in snake_case, a few in camelCase; both bases share the
tag, so that one union can hold them all.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import Camel, Snake, UnknownTagged


class SnakeRequest(Snake, tag_field="subtype"):
    """A request whose fields are spelled in snake_case."""

    subtype: ClassVar[str]


class CamelRequest(Camel, tag_field="subtype"):
    """A request whose fields are spelled in camelCase."""

    subtype: ClassVar[str]


class UnknownControlRequest(UnknownTagged):
    """A request of an undeclared subtype, which stands in `type`."""

    __slots__ = ()

    @property
    def subtype(self) -> str | None:
        """The same, as known requests have it."""
        return self.type
