"""The way out: text for people, JSON for programs, bytes as they are, progress on the side.

On a terminal, text is wrapped, coloured and, if it is longer than the screen, shown in a pager. In a pipe
nothing is wrapped or cut, and colours must be asked for. What is printed is made while it is printed, so that a
long session shows at once. Plain strings and JSON need no `rich`, which is loaded for what does. Progress is
shown on standard error, only on a terminal, and only after a second. The options for all this are the same for
every command.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property, wraps
from itertools import chain
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import msgspec

from turnlog.cli.terminal import FOUND_PROBLEMS, MisuseError, clean, escape_json, shorten
from turnlog.config import Settings

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.segment import Segment
    from rich.text import Text

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

_csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")

color_option = click.option(
    "--color/--no-color",
    default=None,
    help="Use colours or not.  [default: on a terminal, unless NO_COLOR is set; FORCE_COLOR for pipes, too]",
)

_pager_option = click.option(
    "--pager/--no-pager",
    default=None,
    help="Show output longer than the screen in TURNLOG_PAGER, PAGER or less.  [default: on a terminal]",
)


_Decorated = TypeVar("_Decorated", bound=Callable[..., Any] | click.Command)
_UNBOUNDED = 1 << 20
_NARROWEST = 20
_USUAL_PAGER = "less"
_encoder = msgspec.json.Encoder(decimal_format="number")


class Row(NamedTuple):
    """A piece of text, and what stands before each of its lines."""

    text: Text
    gutter: Text | None = None


class Output:
    """Standard output, as this run is to use it."""

    def __init__(
        self, *, color: bool | None, pager: bool | None, as_json: bool = False, as_csv: bool = False
    ) -> None:
        self.as_json = as_json
        self.as_csv = as_csv
        self.is_terminal = sys.stdout.isatty()
        self._asked_for_color = color
        self._asked_for_pager = pager
        self._size = os.terminal_size((_UNBOUNDED, _UNBOUNDED))
        if self.is_terminal:
            from shutil import get_terminal_size

            self._size = get_terminal_size()
        self.width = max(self._size.columns, _NARROWEST)
        """How many columns there are; in a pipe, as many as anybody wants."""
        self.now = datetime.now(UTC) if self.is_terminal else None
        """What ages are counted from; None in a pipe, where times are dates."""

    @cached_property
    def settings(self) -> Settings:
        """The settings of this run; raises `ConfigError`."""
        return Settings.from_env()

    @cached_property
    def has_color(self) -> bool:
        """Whether colours are wanted."""
        wanted = self.settings.color if self._asked_for_color is None else self._asked_for_color
        return self.is_terminal if wanted is None else wanted

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(
            file=io.StringIO(),
            width=self.width,
            force_terminal=self.has_color,
            color_system="standard" if self.has_color else None,
            no_color=not self.has_color,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )

    def print(self, parts: Iterable[RenderableType | Row]) -> None:
        """Print text; what is a plain string is neither wrapped nor styled.

        All that comes from data must have been cleaned.
        """
        written = (self._render(part) for part in parts)
        if self._pages():
            self._page(written)
        else:
            self._write(written)

    def show(self, document: Any, parts: Iterable[RenderableType | Row]) -> None:
        """Print a command's result: as JSON with `--json`, otherwise as text."""
        if self.as_json:
            self.print_json(document)
        else:
            self.print(parts)

    def print_json(self, value: Any) -> None:
        """Print one JSON document: on one line, unless for people."""
        data = _encoder.encode(value)
        if self.is_terminal:
            data = escape_json(msgspec.json.format(data, indent=2))
        self.print_bytes([data, b"\n"])

    def print_bytes(self, parts: Iterable[bytes]) -> None:
        """Write bytes as they are."""
        sys.stdout.buffer.writelines(parts)
        sys.stdout.flush()

    def print_csv(self, text: str) -> None:
        """Print rows of CSV, cleaned where a person would see them."""
        self.print_bytes([(clean(text) if self.is_terminal else text).encode("utf-8", "replace")])

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask, unless that was answered before; end the program, with nothing done, if the answer is no."""
        if yes:
            return
        if self.as_json:
            raise MisuseError("--json cannot ask for confirmation: use --yes or --dry-run")
        if sys.stdin is None or sys.stdin.closed:
            raise MisuseError("there is no terminal to ask for confirmation on: use --yes or --dry-run")
        try:
            agreed = click.confirm(question, err=True)
        except click.Abort:
            click.echo(err=True)
            agreed = False
        if not agreed:
            click.echo("turnlog: nothing was changed", err=True)
            raise click.exceptions.Exit(FOUND_PROBLEMS)

    def _write(self, written: Iterable[str]) -> None:
        for text in written:
            sys.stdout.write(text)
        sys.stdout.flush()

    def _pages(self) -> bool:
        """Tell whether a pager is wanted and there, and somebody who can turn its pages."""
        asked = self._asked_for_pager
        if not (self.is_terminal and (self.settings.pager != "" if asked is None else asked)):
            return False
        import shlex
        from shutil import which

        try:
            return sys.stdin.isatty() and which(shlex.split(self._pager)[0]) is not None
        except (ValueError, IndexError):  # quotes that do not match, or nothing but blanks
            return False

    @property
    def _pager(self) -> str:
        return self.settings.pager or _USUAL_PAGER

    def _page(self, written: Iterator[str]) -> None:
        """Show in a pager what does not fit on the screen."""
        held: list[str] = []
        height = 0
        for text in written:
            held.append(text)
            height += text.count("\n")
            if height >= self._size.lines:
                os.environ["PAGER"] = self._pager
                # Unless it was asked for, click leaves colours out where the pager would show them as symbols.
                click.echo_via_pager(chain(held, written), color=self._asked_for_color)
                return
        self._write(held)

    def _render(self, part: RenderableType | Row) -> str:
        if isinstance(part, str):
            return f"{part}\n"
        if isinstance(part, Row):
            return "".join(self._render_row(part))
        with self._console.capture() as capture:
            self._console.print(part)
        text = capture.get()
        # Tables fill their last column, which in a file is nothing but blanks.
        return text if self.has_color else "".join(f"{line.rstrip()}\n" for line in text.split("\n")[:-1])

    def _render_row(self, row: Row) -> Iterator[str]:
        from rich.text import Text

        gutter = Text() if row.gutter is None else row.gutter
        width = max(self.width - gutter.cell_len, _NARROWEST)
        lines = (
            row.text.wrap(self._console, width) if self.is_terminal else row.text.split("\n", allow_blank=True)
        )
        for line in lines:
            whole = Text.assemble(gutter, line)
            whole.rstrip()
            # A session has thousands of rows: printing each through the console would take ten times as long.
            yield from (self._paint(segment) for segment in whole.render(self._console, end="\n"))

    def _paint(self, segment: Segment) -> str:
        from rich.color import ColorSystem

        if segment.style is None or not self.has_color:
            return segment.text
        return segment.style.render(segment.text, color_system=ColorSystem.STANDARD)


def choice_option(name: str, *, default: StrEnum, help: str) -> Callable[[_Decorated], _Decorated]:
    """Return an option that takes one of the values that the default is of."""
    kind = click.Choice([each.value for each in type(default)])
    return click.option(name, type=kind, default=default.value, show_default=True, help=help)


def output_options(
    *, csv: bool = False, pager: bool = False, pages: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what gives a command its `output`, with the options for it.

    `pager` lets people say whether there is to be one; with `pages` alone, their settings do.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(
            *args: Any,
            as_json: bool,
            color: bool | None,
            as_csv: bool = False,
            pager: bool | None = usual,
            **given: Any,
        ) -> None:
            output = Output(color=color, pager=pager, as_json=as_json, as_csv=as_csv)
            command(*args, output=output, **given)

        asked = [json_option, _csv_option if csv else None, color_option, _pager_option if pager else None]
        for option in filter(None, reversed(asked)):
            run = option(run)
        return run

    usual = None if pages or pager else False
    return decorate


_DATABASES = ("mongodb://", "mongodb+srv://")
password_option = click.option(
    "--password-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="A file with the password of the database.  [default: TURNLOG_MONGODB_PASSWORD in the environment]",
)


def is_database(text: object) -> bool:
    """Tell whether a MongoDB database is named, and no file."""
    return isinstance(text, str) and text.lower().startswith(_DATABASES)


class PathOrDatabase(click.Path):
    """A path, or the address of a database as it stands."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return a `Path`, or the text of an address."""
        return value if is_database(value) else super().convert(value, param, ctx)


PATIENCE = 1.0
"""How many seconds pass before anything is shown."""

_Item = TypeVar("_Item")


@contextmanager
def show_progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress while work is done; yields a function that takes what is done, and the total."""
    with _delayed_progress(label, None) as progress:

        def report(done: int, total: int) -> None:
            if progress is not None:
                progress.update(progress.task_ids[0], completed=done, total=total)

        yield report


def track(items: Iterable[_Item], label: str, total: int) -> Iterator[_Item]:
    """Give out items, and show how many of them are done."""
    with _delayed_progress(label, total if total > 1 else None) as progress:
        for item in items:
            yield item
            if progress is not None:
                progress.advance(progress.task_ids[0])


@contextmanager
def _delayed_progress(label: str, total: int | None) -> Iterator[Progress | None]:
    """Show progress after a while; there is none where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    # A timer starts it: the work itself need not look at the clock.
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True, markup=False, emoji=False), transient=True)
    progress.add_task(shorten(label, 60), total=total)
    turn = Lock()
    timer = Timer(PATIENCE, _start, (progress, turn))
    timer.daemon = True
    timer.start()
    try:
        yield progress
    finally:
        timer.cancel()
        if not turn.acquire(blocking=False):
            timer.join()
            progress.stop()


def _start(progress: Progress, turn: Lock) -> None:
    if turn.acquire(blocking=False):  # else the work was done in the very moment
        progress.start()
