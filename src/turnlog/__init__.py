"""turnlog keeps, explains and shows what Claude Code did.

The public names are loaded when they are first used: all the types together take a fifth of a second, which
`turnlog --help` and whoever needs only an exception should not wait for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnlog.errors import (
        ChangeError,
        DecodeError,
        MalformedError,
        MigrationError,
        ProtocolError,
        TurnlogError,
        UnknownTypeError,
    )
    from turnlog.messages import (
        UNSET,
        Dialect,
        Entry,
        Line,
        Position,
        Problem,
        ProblemKind,
        Unknown,
        UnknownEntry,
        View,
        decode,
        decode_envelope,
        encode,
    )
    from turnlog.transcripts import Session, read

__all__ = [
    "UNSET", "ChangeError", "DecodeError", "Dialect", "Entry", "Line", "MalformedError", "MigrationError",
    "Position", "Problem", "ProblemKind", "ProtocolError", "Session", "TurnlogError", "Unknown", "UnknownEntry",
    "UnknownTypeError", "View", "decode", "decode_envelope", "encode", "read",
]  # fmt: skip

_HOMES = ("errors", "messages", "transcripts")
"""Where the public names live; the first that has one, has it."""

if not TYPE_CHECKING:  # else any name at all would seem to be there

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            for home in _HOMES:
                module = import_module(f"{__name__}.{home}")
                if hasattr(module, name):
                    return globals().setdefault(name, getattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOMES})
