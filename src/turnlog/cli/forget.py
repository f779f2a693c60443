"""`turnlog forget`: sessions that must not be kept."""

from __future__ import annotations

import click

from turnlog.cli.confirmation import yes_option
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.forgetting import forget, still_scrub
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.ingest.forgotten import find_tombstones
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL


@click.command(
    "forget",
    epilog="""\b
Examples:
  turnlog forget 5d1c --dry-run  what would be removed
  turnlog forget 5d1c 77e0
  turnlog forget --undo 5d1c     allow later syncs to archive it again
""",
)
@click.argument("sessions", metavar="[ID]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@yes_option
@click.option("--undo", is_flag=True, help="Allow later syncs to archive forgotten sessions again.")
@click.option(
    "--scrub", is_flag=True, help="Only remove what an earlier run had to leave in files that were in use."
)
@json_option
@color_option
def command(
    sessions: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    undo: bool,
    scrub: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Forget sessions: remove them from the archive, for good.

    ID may be the beginning of a session's id. Bytes, lines, rows and hook events are removed from the store's
    files, and the session is not archived again. What turnlog captured of it is removed, too. Other files
    outside the archive are not touched; backups that still hold the session are named.
    """
    if scrub == bool(sessions):
        raise MisuseError("name the sessions to forget, or --scrub alone")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with open_for(settings, writing=True, existing=True) as store:
        if scrub:
            still_scrub(store)
        elif undo:
            _undo(store, output, sessions, as_json)
        else:
            chosen = [find_session(store, prefix) for prefix in sessions]
            forget(store, output, chosen, settings, dry_run=dry_run, yes=yes, as_json=as_json)


def _undo(store: CaredStore, output: Output, prefixes: tuple[str, ...], as_json: bool) -> None:
    keys: dict[str, str] = {}
    for prefix in prefixes:
        found = {each.key: each.session_id or each.key for each in find_tombstones(store, prefix)}
        if not found:
            raise NothingFoundError(f"no forgotten session begins with {prefix}")
        if len(found) > 1:
            raise MisuseError(f"{len(found)} forgotten sessions begin with {prefix}")
        keys |= found
    store.delete_tombstones(LOCAL, list(keys))
    if as_json:
        output.print_json({"lifted": list(keys.values())})
    else:
        output.print(clean_line(f"{name}: the next sync can archive it again") for name in keys.values())
