"""`turnlog mark`: names, tags, stars, notes, and what is put away."""

from __future__ import annotations

from collections.abc import Iterator

import click
from msgspec import UNSET, Struct

from turnlog.cli.completing import complete_sessions, complete_tags
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.rendering.sessions import marks_text
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import clean, clean_line
from turnlog.config import Settings
from turnlog.store.interface import CaredStore, find_sessions
from turnlog.store.marks import MarkChange, Marks
from turnlog.store.model import LOCAL


class MarkItem(Struct, frozen=True, gc=False, kw_only=True):
    """A session as `turnlog mark --json` prints it."""

    id: str | None
    key: str
    title: str | None
    changed: bool
    marks: Marks


@click.command(
    "mark",
    epilog="""\b
Examples:
  turnlog mark 5d1c --star --tag bug --name "The parser that ate newlines"
  turnlog mark 5d1c 77e0 --archive          leave them out of lists
  turnlog mark 5d1c --note "Why it was slow: see the second turn"
  turnlog mark 5d1c --name ""               go back to the original title
  turnlog mark --undo                       undo the last of these
""",
)
@click.argument("sessions", metavar="[ID]...", nargs=-1, shell_complete=complete_sessions)
@click.option("--star/--no-star", default=None, help="Add or remove a star.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    shell_complete=complete_tags,
    help="Add a tag; may be repeated.",
)
@click.option(
    "--untag", "untags", multiple=True, metavar="TAG", shell_complete=complete_tags, help="Remove a tag."
)
@click.option("--name", metavar="TEXT", help="Give it a name; an empty TEXT removes it.")
@click.option("--note", metavar="TEXT", help="Add a note; an empty TEXT removes it.")
@click.option("--archive/--no-archive", default=None, help="Put it away, hidden from lists, or bring it back.")
@click.option("--undo", is_flag=True, help="Undo the last change; repeat it to undo earlier ones.")
@json_option
@color_option
def command(
    sessions: tuple[str, ...],
    star: bool | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    name: str | None,
    note: str | None,
    archive: bool | None,
    undo: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Mark sessions with your own names, tags, stars and notes.

    ID may be the beginning of a session's id, or of the name that you gave it. Marks are stored separately
    from what was read, and nothing outside the archive is touched. Without any option, the marks are only
    shown.
    """
    change = MarkChange(
        name=UNSET if name is None else name,
        note=UNSET if note is None else note,
        starred=UNSET if star is None else star,
        archived=UNSET if archive is None else archive,
        tags=tags,
        untags=untags,
    )
    if undo and (sessions or change != MarkChange()):
        raise MisuseError("--undo undoes the last change, and cannot be combined with anything else")
    if not undo and not sessions:
        raise MisuseError("name the sessions to mark, or --undo alone")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with open_for(settings, writing=undo or change != MarkChange(), existing=True) as store:
        items = _undo(store) if undo else _mark(store, sessions, change)
    if as_json:
        output.print_json(items)
    else:
        output.print(line for item in items for line in _describe(item))


def _mark(store: CaredStore, prefixes: tuple[str, ...], change: MarkChange) -> list[MarkItem]:
    found = {stored.key: stored for stored, _ in (find_session(store, prefix) for prefix in prefixes)}
    done = (
        {} if change == MarkChange() else {each.key: each.after for each in store.mark(LOCAL, [*found], change)}
    )
    return [
        MarkItem(
            id=stored.row.session_id,
            key=key,
            title=stored.row.title,
            changed=key in done,
            marks=done.get(key, stored.marks),
        )
        for key, stored in found.items()
    ]


def _undo(store: CaredStore) -> list[MarkItem]:
    undone = store.undo_mark(LOCAL)
    if not undone:
        raise NothingFoundError("there is no change to undo")
    items = []
    for each in undone:
        [stored] = [found for found in find_sessions(store, LOCAL, each.key) if found.key == each.key]
        row = stored.row
        items.append(MarkItem(id=row.session_id, key=each.key, title=row.title, changed=True, marks=each.after))
    return items


def _describe(item: MarkItem) -> Iterator[str]:
    yield f"{clean_line(item.id or item.key)}  {marks_text(item.marks, item.title or '(no title)')}"
    if item.marks.note is not None:
        yield from (f"  {line}" for line in clean(item.marks.note).split("\n"))
