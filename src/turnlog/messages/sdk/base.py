"""What every message of the SDK stream rests on.

The stream is spelled in snake_case, with a handful of camelCase keys that say so at their field. Messages are
told apart by `type`, and those of `type: system` by `subtype`. Hosts leave out `uuid` and `session_id` on what
they send, so neither is required.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from turnlog.messages.base import UNSET, Snake, UnknownTagged, UnsetType


class StreamMessage(Snake):
    """The fields that any message of the stream may carry."""

    uuid: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET


class TypedMessage(StreamMessage, tag_field="type"):
    """A message that its `type` alone tells apart."""

    type: ClassVar[str]


class SystemMessage(StreamMessage, tag_field="subtype"):
    """What the program itself has to say, told apart by `subtype`."""

    subtype: ClassVar[str]
    type: Literal["system"] = "system"


class UnknownMessage(UnknownTagged):
    """A message of the stream whose `type`, or whose `subtype` of `type: system`, nobody declared."""

    __slots__ = ()
