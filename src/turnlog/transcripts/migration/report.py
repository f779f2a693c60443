"""What a migration does, or would do, as values."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from msgspec import Struct

from turnlog.messages import Position


class CorrectionKind(StrEnum):
    """What was wrong with a tool message."""

    CALL_PARENT = "tool-use-parent"
    """A call that did not hang under the assistant it was taken out of."""
    RESULT_PARENT = "result-parent"
    """A result that did not hang under its call."""
    SIDECHAIN = "sidechain-flag"
    """The flag that marks tool messages was missing or false."""


class LeftReason(StrEnum):
    """Why something was left as it is."""

    CONTAINER_MISSING = "container-missing"
    """No assistant of this session in the file is the one that the call was taken out of."""
    CALL_MISSING = "call-missing"
    """The call that the result answers is no document of this session in the file."""
    AMBIGUOUS = "ambiguous"
    """Several parents fit."""
    CIRCLE = "circle"
    """The right parent hangs under this very document."""
    BROKEN = "broken"
    """Not a JSON object."""
    TORN = "torn"
    """The end of the file, which is not a whole object."""


class Correction(Struct, frozen=True, gc=False, kw_only=True):
    """A document that is written anew."""

    at: Position
    size: int
    """How many bytes it has in the source."""
    uuid: str | None
    kinds: tuple[CorrectionKind, ...]
    old_parent: str | None
    parent: str | None = None
    """The new parent; None where only the flag is corrected."""


class Leftover(Struct, frozen=True, gc=False):
    """Something that was left as it is; its flag may be corrected all the same."""

    at: Position
    reason: LeftReason
    uuid: str | None = None


class Migration(Struct, frozen=True, gc=False, kw_only=True):
    """What a migration found and did, in the order of the file."""

    documents: int
    """All objects of the file, of whatever type."""
    tool_uses: int
    tool_results: int
    right: int
    """Tool messages that are as they should be."""
    corrections: tuple[Correction, ...] = ()
    left: tuple[Leftover, ...] = ()

    @property
    def changed(self) -> int:
        """How many documents are written anew."""
        return len(self.corrections)

    def count_corrections(self) -> dict[CorrectionKind, int]:
        """Return how often each kind of correction was made; a document may need two."""
        found = Counter(kind for correction in self.corrections for kind in correction.kinds)
        return {kind: found[kind] for kind in CorrectionKind if found[kind]}

    def count_left(self) -> dict[LeftReason, int]:
        """Return how often each reason to leave something applied."""
        found = Counter(leftover.reason for leftover in self.left)
        return {reason: found[reason] for reason in LeftReason if found[reason]}
