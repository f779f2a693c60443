"""The texts themselves, read back from the archive.

Nobody keeps them twice: a line is read, decoded and taken apart again when one of its passages may be a hit.
Lines that were taken apart lately stay, as hits come in clusters. What decodes lines is loaded when the first
is read: it knows all of their types, and takes longer to load than many a program takes that opens a store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnlog.store.identity import Place, Scope

if TYPE_CHECKING:
    from turnlog.transcripts.hooks.deliveries import HookDelivery
    from turnlog.transcripts.lines.passages import Passage

__all__ = ["LineTexts", "TextReader", "read_delivery", "read_line"]

_KEPT = 64


class LineTexts(Struct, frozen=True, gc=False):
    """What is searched of a line, or of a hook delivery."""

    passages: list[Any]
    """Of `Passage`."""
    branch: str | None = None
    """Of git, as the line says."""


class TextReader:
    """Reads lines of one owner."""

    def __init__(self, read: Callable[[Scope, Place, int], bytes], scope: Scope) -> None:
        """Begin with nothing read; `read` is `Archive.read`, or what an engine has in its place."""
        self._read = read
        self._scope = scope
        self._kept: OrderedDict[Place, LineTexts] = OrderedDict()

    def read(self, at: Place, length: int, wanted: Callable[[bytes], bool]) -> LineTexts | None:
        """Return what is searched of a line; None if its bytes are not `wanted`.

        Raises what `Archive.read` does.
        """
        found = self._kept.get(at)
        if found is None:
            raw = self._read(self._scope, at, length)
            if not wanted(raw):
                return None
            found = read_line(raw)
            self._kept[at] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def read_line(raw: bytes) -> LineTexts:
    """Return what is searched of a line that is given as bytes."""
    line = _load("turnlog.messages").decode(raw)
    branch = getattr(line.entry, "git_branch", None)
    passages = _load("turnlog.transcripts.lines.passages").list_passages(line)
    return LineTexts(passages, branch if isinstance(branch, str) else None)


def read_delivery(delivery: HookDelivery) -> list[Passage]:
    """Return what is searched of a hook's payload."""
    found: list[Passage] = _load("turnlog.transcripts.lines.passages").list_hook_passages(delivery)
    return found


_load = cache(import_module)
