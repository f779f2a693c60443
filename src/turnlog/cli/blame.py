"""`turnlog blame`: which session wrote this?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import click
from msgspec import Struct
from rich.text import Text

from turnlog.cli.files import require_file
from turnlog.cli.output import Output, output_options, show_progress
from turnlog.cli.plain_text import local_time
from turnlog.cli.stores import open_archive, shorten_ids
from turnlog.cli.terminal import FOUND_PROBLEMS, MisuseError, NothingFoundError, clean, shorten
from turnlog.export.blame import BlamedLine, Origin, blame
from turnlog.instants import find_moment
from turnlog.shapes import fill
from turnlog.store.model import LOCAL
from turnlog.transcripts.session_files import path_text

_LARGEST = 16 << 20
_PROMPT = 40


class OriginItem(Struct, frozen=True, gc=False, kw_only=True):
    """The call that wrote a line."""

    session: str
    session_id: str | None
    title: str | None
    turn: int | None
    prompt: str | None
    message_id: str
    agent_id: str | None
    tool: str
    at: datetime | None


class WrittenLine(Struct, frozen=True, gc=False, kw_only=True):
    """A line, and where it is from."""

    number: int
    text: str
    sure: bool
    origin: OriginItem | None


@click.command("blame")
@click.argument("place", metavar="FILE[:LINE]")
@output_options(pager=True)
def blame_command(place: str, output: Output) -> None:
    """Show which session wrote each line of a file.

    The edits in the archive are replayed, so that a line is recognised even after later edits moved it. `?`
    marks lines that were matched only by their text, or by a path that only ends the same. Lines without a
    session were there before, or were written by hand.

    Examples:
      turnlog blame src/parser.py            each line with its session and prompt
      turnlog blame src/parser.py:42         one line, and the command that shows its message
    """
    path, line = _read_place(place)
    require_file(path)
    if path.stat().st_size > _LARGEST:
        raise MisuseError(f"{path_text(path)}: too long to trace line by line")
    text = path.read_text("utf-8", "replace")
    settings = output.settings
    whole = path.resolve()
    with open_archive(settings, existing=True) as store, show_progress("replaying edits"):
        found = blame(store, LOCAL, whole, text, root=_find_root(whole))
    if line is not None:
        if not 1 <= line <= len(found):
            raise MisuseError(f"{path_text(path)} has {len(found):,} lines, so there is no line {line}")
        found = found[line - 1 : line]
    if output.as_json:
        output.print_json([_to_item(each) for each in found])
    elif line is not None:
        output.print(_describe(found[0]))
    else:
        output.print(_render(found))
    if not any(each.origin for each in found):
        raise SystemExit(FOUND_PROBLEMS)


def _read_place(place: str) -> tuple[Path, int | None]:
    before, colon, number = place.rpartition(":")
    if colon and number.isdecimal() and not Path(place).exists():
        return Path(before), int(number)
    return Path(place), None


def _find_root(path: Path) -> Path | None:
    """Return the folder of the checkout that a file is in."""
    return next((folder for folder in path.parents if (folder / ".git").exists()), None)


def _render(lines: Sequence[BlamedLine]) -> Iterator[Text]:
    if not any(line.origin for line in lines):
        raise NothingFoundError("no session in the archive changed this file")
    width = len(str(len(lines)))
    names = shorten_ids((line.origin.session, line.origin.session_id) for line in lines if line.origin)
    room = max(map(len, names.values())) + len(" 2026-03-01 #123 ") + _PROMPT
    last: Origin | None = None
    for line in lines:
        origin = line.origin
        told = "" if origin is None or origin is last else _describe_origin(origin, names[origin.session])
        mark = " " if line.sure else "?"
        yield Text.assemble(
            (f"{told:<{room}.{room}}", "cyan"),
            (mark, "yellow"),
            (f" {line.number:>{width}} ", "dim"),
            clean(line.text),
        )
        last = origin


def _describe_origin(origin: Origin, name: str) -> str:
    day = _format_time(origin, "%Y-%m-%d")
    turn = "" if origin.turn is None else f"#{origin.turn}"
    return f"{name} {day} {turn:<4} {shorten(origin.prompt or origin.title or '', _PROMPT)}"


def _describe(line: BlamedLine) -> Iterator[Text]:
    yield Text(clean(line.text), "bold")
    origin = line.origin
    if origin is None:
        yield Text("no session in the archive wrote this line", "dim")
        return
    if not line.sure:
        yield Text("uncertain: matched by its text, or by a path that only ends like this one", "yellow")
    rows = {
        "session": f"{origin.session_id or origin.session}  {shorten(origin.title or '', 80)}",
        "turn": "" if origin.turn is None else str(origin.turn),
        "prompt": shorten(origin.prompt or "", 300),
        "by": origin.tool + ("" if origin.agent_id is None else f", agent {origin.agent_id}"),
        "at": _format_time(origin, "%Y-%m-%d %H:%M:%S"),
        "see": f"turnlog show {origin.session} --message {origin.message_id}",
    }
    for name, told in rows.items():
        if told:
            yield Text.assemble((f"{name:<9}", "dim"), clean(told))


def _format_time(origin: Origin, form: str) -> str:
    time = find_moment(origin.time)
    return "" if time is None else local_time(time).strftime(form)


def _to_item(line: BlamedLine) -> WrittenLine:
    origin = line.origin
    item = None if origin is None else fill(OriginItem, origin, at=find_moment(origin.time))
    return fill(WrittenLine, line, origin=item)
