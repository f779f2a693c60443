"""`turnlog prune`: many sessions at once that need not be kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import click

from turnlog.cli.confirmation import yes_option
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.forgetting import Chosen, forget
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.stores import open_for
from turnlog.config import Settings
from turnlog.store.interface import CaredStore, find_known
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL

_PAGE = 500
_DAY = 86_400


@click.command(
    "prune",
    epilog="""\b
Examples:
  turnlog prune --older-than 365 --dry-run
  turnlog prune --project ~/secret
  turnlog prune --only-here --older-than 90
""",
)
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Not written to for this long."
)
@click.option(
    "--project", type=click.Path(path_type=Path), metavar="PATH", help="Run in this directory, or below it."
)
@click.option("--only-here", is_flag=True, help="Whose files no longer exist outside the archive.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@yes_option
@json_option
@color_option
def command(
    days: float | None,
    project: Path | None,
    only_here: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Forget all sessions that match, as `turnlog forget` does.

    A session is forgotten if it meets all conditions. A session without a time is never too old.
    """
    if days is None and project is None and not only_here:
        raise MisuseError("say which sessions: --older-than, --project or --only-here")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    before = None if days is None else round((time.time() - days * _DAY) * 1e6)
    root = None if project is None else os.path.abspath(os.path.expanduser(project))
    with open_for(settings, writing=True, existing=True) as store:
        chosen = list(_choose(store, before, root, only_here))
        if not chosen:
            raise NothingFoundError("no archived session matches")
        forget(store, output, chosen, settings, dry_run=dry_run, yes=yes, as_json=as_json)


def _choose(store: CaredStore, before: int | None, root: str | None, only_here: bool) -> Iterator[Chosen]:
    for stored in _list_all(store):
        last = stored.row.last_time
        if before is not None and (last is None or last >= before):
            continue
        if root is not None and not _is_in(stored.row.project, root):
            continue
        known = find_known(store, LOCAL, stored.key)
        if known is not None and not (only_here and any(source.present for source in known.sources)):
            yield stored, known


def _is_in(project: str | None, root: str) -> bool:
    return project is not None and (project == root or project.startswith(root.rstrip(os.sep) + os.sep))


def _list_all(store: CaredStore) -> Iterator[StoredSession]:
    asked, cursor = SessionFilter(archived=None), None
    while True:
        page = store.list_sessions(LOCAL, asked, limit=_PAGE, cursor=cursor)
        yield from page.sessions
        cursor = page.next
        if cursor is None:
            return
