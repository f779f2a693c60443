"""What a line means: the types of everything that Claude Code writes, and the codec between them and bytes.

`decode` and `encode` are the way in and out. The types live in modules by subject: `entries` (with `envelope`,
`system`, `metadata`, `attachments`), `message`, `blocks`, `tool_io`, and `legacy` for the older dialects. All
of them together take a tenth of a second to load, so names are loaded when they are first used: whoever needs
a few small types, or none but `UNSET`, should not wait for the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnlog.messages.base import (
        UNSET,
        OpenEnum,
        Raw,
        Unknown,
        UnknownBlock,
        UnknownField,
        UnsetType,
        Value,
    )
    from turnlog.messages.codec import AnyEntry, Dialect, Line, Position, decode, decode_envelope, encode
    from turnlog.messages.entries import Entry, UnknownEntry
    from turnlog.messages.salvage import Problem, ProblemKind, View, view

__all__ = [
    "UNSET", "AnyEntry", "Dialect", "Entry", "Line", "OpenEnum", "Position", "Problem", "ProblemKind", "Raw",
    "Unknown", "UnknownBlock", "UnknownEntry", "UnknownField", "UnsetType", "Value", "View", "decode",
    "decode_envelope", "encode", "view",
]  # fmt: skip

_HOMES = {
    "base": ("UNSET", "OpenEnum", "Raw", "Unknown", "UnknownBlock", "UnknownField", "UnsetType", "Value"),
    "codec": ("AnyEntry", "Dialect", "Line", "Position", "decode", "decode_envelope", "encode"),
    "entries": ("Entry", "UnknownEntry"),
    "salvage": ("Problem", "ProblemKind", "View", "view"),
}
"""The names, by the module that each lives in."""

if not TYPE_CHECKING:  # else any name at all would seem to be there
    _home_of = {name: home for home, names in _HOMES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name in _home_of:
            found = getattr(import_module(f"{__name__}.{_home_of[name]}"), name)
            return globals().setdefault(name, found)
        try:  # `turnlog.messages.entries`, of which nobody has said yet that it is needed
            if not name.startswith("_"):
                return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
