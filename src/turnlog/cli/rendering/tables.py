"""Tables of plain text: quick to load, and to be read in a pipe as well as on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

_GAP = "  "
_NARROWEST = 12
_UNITS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


class Column(Struct):
    """A column: its name, and its cells from top to bottom."""

    name: str
    cells: list[str]
    is_text: bool = False
    """Whether it is aligned on the left, and cut where there is no room."""


def render_table(columns: Sequence[Column], width: int, *, color: bool, foot: bool) -> Iterator[str]:
    """Yield the lines of a table; with `foot`, the last line is a sum. What is in it must have been cleaned."""
    widths = [max(map(cell_width, (column.name, *column.cells))) for column in columns]
    room = width - sum(widths) - len(_GAP) * (len(widths) - 1)
    for at in sorted((at for at, column in enumerate(columns) if column.is_text), key=lambda at: -widths[at]):
        if room < 0:
            cut = max(min(widths[at], _NARROWEST), widths[at] + room)
            room += widths[at] - cut
            widths[at] = cut
    yield bold(_join([column.name for column in columns], columns, widths), color)
    rows = list(zip(*(column.cells for column in columns), strict=True))
    for number, row in enumerate(rows):
        yield bold(_join(row, columns, widths), color and foot and number == len(rows) - 1)


def bold(text: str, color: bool) -> str:
    """Return text that stands out."""
    return f"\x1b[1m{text}\x1b[0m" if color else text


def dim(text: str, color: bool) -> str:
    """Return text that stands back."""
    return f"\x1b[2m{text}\x1b[0m" if color else text


def cell_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width_of, text))


def shorten_count(count: int) -> str:
    """Return a count in four characters or so."""
    for unit, name in _UNITS:
        if abs(count) >= unit:
            return f"{count / unit:.1f}{name}" if abs(count) < 100 * unit else f"{count / unit:.0f}{name}"
    return str(count)


def _join(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    parts = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        text = _cut(cell, width)
        blanks = " " * (width - cell_width(text))
        parts.append(text + blanks if column.is_text else blanks + text)
    return _GAP.join(parts).rstrip()


def _cut(text: str, width: int) -> str:
    """Return as much of a text as there is room for: the end, which tells more of paths and names."""
    if cell_width(text) <= width:
        return text
    while text and cell_width(text) >= width:
        text = text[1:]
    return f"…{text}"


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
