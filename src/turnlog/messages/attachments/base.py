"""What every attachment rests on."""

from __future__ import annotations

from dataclasses import dataclass

from turnlog.messages.base import Camel, Unknown

__all__ = ["AttachmentBase", "UnknownAttachment"]


class AttachmentBase(Camel, tag_field="type"):
    """Something the program put beside the conversation, told apart by its type."""


@dataclass(frozen=True, slots=True)
class UnknownAttachment(Unknown):
    """An attachment, or a part of one, of an unknown type."""

    type: str | None
