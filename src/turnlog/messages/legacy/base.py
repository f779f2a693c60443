"""What a line of an older dialect can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from turnlog.errors import ChangeError
from turnlog.messages.base import UNSET, Value
from turnlog.messages.entries import Entry
from turnlog.messages.envelope import Envelope
from turnlog.messages.message import Message
from turnlog.messages.salvage import Salvage


class LegacyLine(Value):
    """A line as an older dialect spells it."""

    def lift(self) -> Entry:
        """Return what the line says in today's model."""
        raise NotImplementedError

    def parts(self, entry: Entry) -> Mapping[str, Any]:
        """Return the fields besides the envelope's, as `entry` has them: an entry of the type `lift` gives."""
        raise NotImplementedError

    def inspect(self, rescue: Salvage) -> None:
        """Report what the types alone cannot tell; nothing, for most lines."""

    def lower(self, entry: Entry) -> Self:
        """Return this line as it must be to be lifted to `entry`.

        Raises `ChangeError` when the dialect has no way to say what `entry` says.
        """
        lowered = msgspec.structs.replace(self, **{**envelope_of(entry, type(self)), **self.parts(entry)})
        if lowered.lift() != entry:
            raise ChangeError(f"{type(self).__name__} lines cannot say this: {entry!r}")
        return lowered


def envelope_of(value: Value, among: type[Value] = Envelope) -> dict[str, Any]:
    """Return the envelope's fields of `value`, as far as `among` has them."""
    known = frozenset(among.__struct_fields__) & frozenset(value.__struct_fields__)
    return {name: getattr(value, name) for name in Envelope.__struct_fields__ if name in known}


def only_content(message: Message) -> Any:
    """Return a message's content, if that is all it has."""
    if message != Message(content=message.content):
        raise ChangeError("this dialect keeps nothing of a message but its content")
    return message.content if message.content is not None else UNSET
