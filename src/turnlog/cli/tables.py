"""Tables of plain text that fit the screen, and rows as CSV.

Lists are asked for often and must be there at once, so nothing here needs more than the standard library and
click. In a pipe nothing is cut.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import accumulate, takewhile
from typing import NamedTuple, TypeVar
from unicodedata import category, east_asian_width

import click

from turnlog.cli.output import Output
from turnlog.cli.terminal import NothingFoundError

Item = TypeVar("Item")
_GAP = 2


class Column(NamedTuple):
    """A column of a table."""

    name: str
    right: bool = False
    least: int | None = None
    """How narrow it may become; None if its cells are never cut."""
    dim: bool = False
    tail: bool = False
    """Whether the end of a cell tells more than its beginning, as of paths."""
    optional: int = 0
    """If the screen is too narrow, columns are left out: those with the highest number first, 0 never."""


def render_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None, *, color: bool = False
) -> Iterator[str]:
    """Yield the lines of a table, at most `width` cells wide. What comes from data must have been cleaned."""
    natural = [
        max([cell_width(column.name), *(cell_width(row[at]) for row in rows)])
        for at, column in enumerate(columns)
    ]
    shown = [(columns[at], at, width) for at, width in _fit(columns, natural, width).items()]
    plain: Callable[[str, Column], str] = lambda text, _: text  # noqa: E731
    yield _build_line(shown, [column.name for column in columns], _paint_name if color else plain)
    for row in rows:
        yield _build_line(shown, row, _paint_cell if color else plain)


def print_table(output: Output, columns: Sequence[Column], rows: Iterable[Iterable[str]]) -> None:
    """Print a table, at most as wide as the terminal."""
    width = output.width if output.is_terminal else None
    output.print(render_table(columns, [list(row) for row in rows], width, color=output.has_color))


def show_list(
    output: Output,
    found: Sequence[Item],
    build: Callable[[Item], object],
    columns: Sequence[Column],
    cells: Callable[[Item, datetime | None], Iterable[str]],
    nothing: str,
) -> None:
    """Print things as JSON or as a table; raises `NothingFoundError`, which says that there is `nothing`."""
    if output.as_json:
        output.print_json(list(map(build, found)))
    elif found:
        print_table(output, columns, (cells(each, output.now) for each in found))
    if not found:
        raise NothingFoundError(nothing)


def render_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV, with a line of names; what is a list has blanks between its parts."""
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue()


def cell_width(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width_of, text))


def cut_cell(text: str, width: int, *, tail: bool = False) -> str:
    """Return the beginning of a text, or its end, in at most so many cells."""
    if cell_width(text) <= width:
        return text
    if tail:
        return cut_cell(text[::-1], width)[::-1]
    taken = accumulate(map(_width_of, text))
    kept = sum(1 for _ in takewhile(lambda cells: cells < width, taken))
    return text[:kept].rstrip() + "…" if width > 0 else ""


def _fit(columns: Sequence[Column], natural: Sequence[int], width: int | None) -> dict[int, int]:
    """Return the columns that are shown, each with its width."""
    shown = dict(enumerate(natural))
    if width is None:
        return shown
    for at in sorted(
        (at for at, each in enumerate(columns) if each.optional), key=lambda at: -columns[at].optional
    ):
        if _least_width(columns, shown) > width:
            del shown[at]
    while (excess := _total(shown.values()) - width) > 0:
        # The widest gives way first, down to the next one.
        elastic = [at for at in shown if (least := columns[at].least) is not None and shown[at] > least]
        if not elastic:
            break
        widest = max(elastic, key=shown.__getitem__)
        shown[widest] -= min(excess, max(1, (shown[widest] - (columns[widest].least or 0)) // 2))
    return shown


def _least_width(columns: Sequence[Column], shown: dict[int, int]) -> int:
    return _total(
        width if columns[at].least is None else min(width, columns[at].least or 0)
        for at, width in shown.items()
    )


def _total(widths: Iterable[int]) -> int:
    each = list(widths)
    return sum(each) + _GAP * (len(each) - 1)


def _build_line(
    shown: Sequence[tuple[Column, int, int]], cells: Sequence[str], paint: Callable[[str, Column], str]
) -> str:
    parts = []
    for number, (column, at, width) in enumerate(shown):
        text = cut_cell(cells[at], width, tail=column.tail)
        blanks = " " * (width - cell_width(text))
        is_last = number == len(shown) - 1
        painted = paint(text, column)
        parts.append(blanks + painted if column.right else painted + ("" if is_last else blanks))
    return (" " * _GAP).join(parts).rstrip()


def _paint_name(text: str, _: Column) -> str:
    return click.style(text, bold=True)


def _paint_cell(text: str, column: Column) -> str:
    return click.style(text, dim=True) if column.dim and text else text


def _plain(value: object) -> object:
    match value:
        case tuple():
            return " ".join(map(str, value))
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case Decimal():
            return format(value, "f")
        case bool():
            return str(value).lower()
        case _:
            return value


def _width_of(character: str) -> int:
    if east_asian_width(character) in "WF":
        return 2
    return 0 if category(character) in ("Mn", "Me", "Cf") else 1
