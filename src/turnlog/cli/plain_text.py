"""Numbers, times, marks and tables as plain text, readable in a pipe as well as on a terminal.

Times are shown as the reader's clock shows them. Tables fit the screen; in a pipe nothing is cut. Lists are
asked for often and must be there at once, so nothing here needs `rich`. What exports say, too, is in
`export.plain`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from unicodedata import category, east_asian_width

import click

from turnlog.cli.output import Output
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line, shorten
from turnlog.export.plain_text import plural
from turnlog.store.search.language import Clock

if TYPE_CHECKING:
    from turnlog.ingest.change_check import SyncReport
    from turnlog.store.lists import Marks

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class LocalTime(tzinfo):
    """The time zone of this machine (`TZ`), summer time included."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        """Return how far the zone is ahead of UTC."""
        return None if dt is None else dt.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, dt: datetime | None) -> timedelta | None:
        """Return nothing: what part of the offset is summer time does not matter here."""
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        """Return the zone's name at a time."""
        return None if dt is None else dt.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, dt: datetime) -> datetime:
        """Return the local time of a time in UTC."""
        return dt.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)


LOCAL = LocalTime()


def local_time(time: datetime) -> datetime:
    """Return a time in the local zone; one at the edge of the calendar stays as it is."""
    try:
        return time.astimezone()
    except (OverflowError, ValueError, OSError):
        return time


def duration_text(seconds: float) -> str:
    """Return a duration in its two largest units."""
    whole = round(seconds)
    if seconds < 0:
        return f"-{duration_text(-seconds)}"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


_LONGEST_TITLE = 200
_CENT = Decimal("0.01")


def count_text(count: int) -> str:
    """Return a count with its thousands apart."""
    return f"{count:,}"


def cents_text(amount: Decimal) -> str:
    """Return dollars and cents, where there is no room for more."""
    return f"<${_CENT}" if 0 < amount < _CENT else f"${amount.quantize(_CENT, ROUND_HALF_UP):,}"


def size_text(size: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return plural(size, "byte")


_RECENT = 7
"""Days for which an age says more than a date."""
_STRETCH = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
_NAMED = {"today": 0, "yesterday": 1}


def age_text(moment: datetime, now: datetime) -> str:
    """Return how long ago something was; what is long ago by its date."""
    seconds = (now - moment).total_seconds()
    if 0 <= seconds < _MINUTE:
        return "just now"
    if 0 <= seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min ago"
    if 0 <= seconds < _DAY:
        return f"{int(seconds // _HOUR)} h ago"
    if 0 <= seconds < _RECENT * _DAY:
        return f"{int(seconds // _DAY)} d ago"
    return f"{local_time(moment):%Y-%m-%d}"


def length_text(seconds: float) -> str:
    """Return a duration in one unit."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < _DAY else f"{seconds / _DAY:.1f} d"


def parse_moment(text: str, *, ending: bool = False, now: datetime | None = None) -> int:
    """Return the time that is meant, in microseconds since 1970; raises `ValueError`.

    A day, a month or a year begins, or (`ending`) ends, with the next one's first moment.
    """
    now = datetime.now(UTC) if now is None else now
    words = text.strip().lower()
    clock = Clock(now)
    found = clock.find_instant(words)
    if found is not None and ending:
        found = clock.find_instant(_name_next(words, local_time(now).date()))
    if found is None:
        forms = "a date (2026-03-01), a time (2026-03-01T14:00) or how long ago (7d, 12h, 2w)"
        raise ValueError(f"expected {forms}, got {text!r}")
    return found


def read_time(option: str, text: str, *, ending: bool = False) -> int:
    """Return the time that an option names, as `parse_moment` does; raises `MisuseError`."""
    try:
        return parse_moment(text, ending=ending)
    except (ValueError, OverflowError) as error:
        raise MisuseError(f"{option}: {error}") from error


def _name_next(words: str, today: date) -> str:
    """Return the stretch of time that follows another; what is none is its own end."""
    if words in _NAMED:
        return (today + timedelta(days=1 - _NAMED[words])).isoformat()
    stretch = _STRETCH.fullmatch(words)
    if stretch is None:
        return words
    year, month, day = stretch.groups()
    if day is not None:
        return (date.fromisoformat(words) + timedelta(days=1)).isoformat()
    if month is None or month == "12":
        return f"{int(year) + 1:04}"
    return f"{year}-{int(month) + 1:02}"


def marks_text(marks: Marks, title: str) -> str:
    """Return how a session is called, with a star before it and tags behind it; cleaned."""
    star = "★ " if marks.starred else ""
    tags = "".join(f" #{clean_line(tag)}" for tag in marks.tags)
    return (
        f"{star}{shorten(marks.name or title, _LONGEST_TITLE)}{tags}{' (archived)' if marks.archived else ''}"
    )


def place_text(path: str | None, home: str | None) -> str:
    """Return a project's path, from home on."""
    text = clean_line(path or "")
    inside = home is not None and (text == home or text.startswith(f"{home}/"))
    return f"~{text[len(home or '') :]}" if inside else text


def time_cell(moment: datetime | None, now: datetime | None) -> str:
    """Return when something was: how long ago, or to the minute."""
    if moment is None:
        return ""
    return f"{local_time(moment):%Y-%m-%d %H:%M}" if now is None else age_text(moment, now)


def money_cell(amount: Decimal | None, *, unpriced: bool) -> str:
    """Return dollars to the cent, as there is little room."""
    if amount is None:
        return "unpriced" if unpriced else ""
    return cents_text(amount)


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


@lru_cache(maxsize=4096)
def _width_of(character: str) -> int:
    if east_asian_width(character) in "WF":
        return 2
    return 0 if category(character) in ("Mn", "Me", "Cf") else 1


def describe_sync(report: SyncReport) -> str:
    """Return what a sync did, in words."""
    parts = [f"{plural(report.sessions, 'session')}: {report.added:,} new, {report.changed:,} changed"]
    if report.rederived:
        parts.append(f"{report.rederived:,} derived again by newer rules")
    if report.gone:
        parts.append(f"{report.gone:,} deleted from disk and kept here")
    parts.append(
        f"{size_text(report.bytes)} and {plural(report.lines, 'line')} archived in {report.seconds:.1f} s"
    )
    return "; ".join(parts)
