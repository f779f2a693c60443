"""What every attachment rests on."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import Camel, UnknownTagged


class AttachmentBase(Camel, tag_field="type"):
    """Something the program put beside the conversation, told apart by its type."""

    type: ClassVar[str]


class UnknownAttachment(UnknownTagged):
    """An attachment, or a part of one, of an unknown type."""

    __slots__ = ()
