"""`turnlog sync`: keep what Claude Code wrote."""

from __future__ import annotations

import os
from pathlib import Path

import click

from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.files import path_text, warn
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.rendering.figures import plural
from turnlog.cli.stores import open_for
from turnlog.cli.watching import describe_sync, watch
from turnlog.config import Settings
from turnlog.errors import BusyStoreError
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.forgotten import list_forgotten
from turnlog.ingest.handover import Request, hand_over
from turnlog.ingest.introducing import introduce
from turnlog.ingest.origin import find_origin
from turnlog.ingest.pipeline import sync
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.ingest.spool_import import Imported, import_spool
from turnlog.ingest.tenure import hold_lease
from turnlog.store.interface import CaredStore
from turnlog.transcripts.files.locate import Located, locate_path, locate_sessions

__all__ = ["command"]

_PATIENCE = 1.0
"""How long to wait for another process to be done before it is asked to do this, too."""
_LONG_PATIENCE = 600.0


@click.command(
    "sync",
    epilog="""\b
Examples:
  turnlog sync                        all sessions of this machine
  turnlog sync ~/old-laptop/.claude   those in a folder
  turnlog sync --watch                and keep following them as they grow
""",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--workers", type=click.IntRange(1, 64), help="How many processes read files.  [default: by size]"
)
@click.option("--watch", "watches", is_flag=True, help="Keep following what is written, until interrupted.")
@json_option
@color_option
def command(
    paths: tuple[Path, ...], workers: int | None, watches: bool, as_json: bool, color: bool | None
) -> None:
    """Keep what Claude Code wrote: every byte of every session, for good.

    Looks at the sessions in CLAUDE_CONFIG_DIR, or else in ~/.claude, or at those in PATHs, and archives what
    is new since the last time. What Claude Code has deleted since then stays in the archive.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    if watches:
        watch(settings, output, paths, as_json)
        return
    located, within = _locate(paths, settings)
    for obstacle in located.obstacles:
        warn(f"{path_text(obstacle.path)}: {obstacle.reason}")
    exclusion = Exclusion(settings.exclude)
    sessions = [files for files in located.sessions if not exclusion.excludes(files)]
    place = settings.place
    with open_for(settings, writing=True) as store, waiting("Archiving") as progress:
        try:
            with hold_lease(place, lambda: None, wait_seconds=_PATIENCE):
                origin = find_origin(settings.home)
                report = sync(
                    store,
                    place,
                    sessions,
                    origin=origin,
                    within=within,
                    forgotten=list_forgotten(store),
                    workers=workers,
                    on_progress=progress,
                )
                introduce(store, origin)
        except BusyStoreError:  # whoever keeps the archive up to date does it
            asked = Request(tuple(os.path.abspath(path) for path in paths))
            report = hand_over(settings.home, asked, _LONG_PATIENCE)
        imported = _import_spool(settings, store)
    if as_json:
        output.print_json(report)
    else:
        output.print([describe_sync(report)])
        if imported.added:
            output.print([f"{plural(imported.added, 'hook event')} archived"])


def _import_spool(settings: Settings, store: CaredStore) -> Imported:
    """Bring into the store what hooks left in the spool."""
    try:
        return import_spool(Spool(settings.home / SPOOL), store)
    except BusyStoreError as error:
        warn(f"hook events stay in the spool for now: {error}")
        return Imported()


def _locate(paths: tuple[Path, ...], settings: Settings) -> tuple[Located, list[Path]]:
    if not paths:
        there = [path for path in settings.session_dirs if path.is_dir()]
        if not there:
            places = ", ".join(path_text(path) for path in settings.config_dirs)
            raise NothingFoundError(f"no Claude Code data in {places}; name a folder")
        return locate_sessions(there), there
    for path in paths:
        if not path.exists():
            raise MisuseError(f"{path_text(path)}: No such file or directory")
    found = [locate_path(path) for path in paths]
    sessions = {session.path or session.folder: session for each in found for session in each.sessions}
    obstacles = tuple(obstacle for each in found for obstacle in each.obstacles)
    return Located(tuple(sessions.values()), (), obstacles), [path for path in paths if path.is_dir()]
