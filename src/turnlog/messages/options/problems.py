"""What is wrong with options, as values.

They have the shape of a line's problems, but kinds of their own: options are not found but made, so their maker
wants to hear of what contradicts itself or does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from turnlog.messages.base import Number, UnsetType
from turnlog.messages.spans import Path, render_path


class OptionProblemKind(StrEnum):
    """What sort of thing is wrong."""

    MISSING = "missing"
    """Something that is needed, as such or for another option."""
    WRONG_TYPE = "wrong-type"
    BAD_VALUE = "bad-value"
    """A value of the right type that is not taken."""
    CONFLICT = "conflict"
    """An option that cannot stand beside another."""
    UNKNOWN_VALUE = "unknown-value"
    """A word or a type that is not known here; a newer version may know it."""
    NO_EFFECT = "no-effect"
    """An option that does nothing, the others being what they are."""
    DISCOURAGED = "discouraged"
    """A value that is taken, though the documentation asks for another."""


_WARNINGS = (OptionProblemKind.UNKNOWN_VALUE, OptionProblemKind.NO_EFFECT, OptionProblemKind.DISCOURAGED)


class OptionProblem(Struct, frozen=True, gc=False):
    """One thing that is wrong, or looks wrong, with options."""

    kind: OptionProblemKind
    expected: str
    found: str
    steps: Path
    """Keys and indexes from the options to the value, or to where it should be."""

    @property
    def path(self) -> str:
        """The place as a JSON path, such as `$.mcpServers.github.url`."""
        return render_path(self.steps)

    @property
    def is_warning(self) -> bool:
        """Tell whether a query may well start in spite of it."""
        return self.kind in _WARNINGS

    def __str__(self) -> str:
        return f"Expected {self.expected}, found {self.found} - at {self.path}"


def check_positive(value: Number | None | UnsetType, steps: Path) -> Iterator[OptionProblem]:
    """Yield a problem for a number that is not above zero."""
    if isinstance(value, int | float) and value <= 0:
        yield OptionProblem(OptionProblemKind.BAD_VALUE, "a number above 0", f"`{value}`", steps)
