"""`turnlog sync`: archive what Claude Code wrote; and doing so before a command asks the archive (`refresh`).

Whether anything is new is seen at a glance; what a sync takes is loaded only if there is something to do. While
another process keeps the archive up to date, the work is handed to that one, and `refresh` trusts it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click

from turnlog.cli.output import (
    Output,
    PathOrDatabase,
    is_database,
    output_options,
    password_option,
    show_progress,
)
from turnlog.cli.plain_text import describe_sync
from turnlog.cli.stores import open_archive
from turnlog.cli.terminal import MisuseError, NothingFoundError, warn
from turnlog.config import Settings
from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.export.plain_text import plural
from turnlog.ingest.change_check import ChangeCheck, SyncReport
from turnlog.ingest.machine import Exclusion, find_origin, list_forgotten, save_machine_name
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import find_holder, open_store
from turnlog.transcripts.session_files import Located, SessionFiles, locate_path, locate_sessions, path_text


def refresh(settings: Settings) -> None:
    """Archive what is new of the sessions of this machine; the archive must be there.

    If that fails, there is a warning, and the archive stays as it is.
    """
    there = [path for path in settings.session_dirs if path.is_dir()]
    try:
        if _is_behind(settings, there):
            _archive_new(settings, there)
    except NewerStoreError:
        raise
    except BusyStoreError:
        pass  # the process that is writing does it
    except (StoreError, OSError) as error:
        warn(f"the archive is not up to date: {error}")


def _is_behind(settings: Settings, there: list[Path]) -> bool:
    place, origin = settings.place, find_origin(settings.home)
    try:
        opened = open_store(place, read_only=True)
    except NewerStoreError:
        raise
    except StoreError:
        return True  # of an older version: opening it for writing brings it up
    with closing(opened) as store:
        if find_holder(place, origin) is not None:
            return False
        check = ChangeCheck(store.find_present(LOCAL, origin), origin)
        left = locate_sessions(there, check.is_settled).sessions
        unchanged = check.report_unchanged(
            left, there, list_forgotten(store), lambda files: _excludes(settings, files)
        )
    return unchanged is None


def _excludes(settings: Settings, files: SessionFiles) -> bool:
    return bool(settings.exclude) and Exclusion(settings.exclude).excludes(files)


def _archive_new(settings: Settings, there: list[Path]) -> None:
    from turnlog.ingest.lease import hold_lease
    from turnlog.ingest.pipeline import sync

    place = settings.place
    with (
        closing(open_store(place)) as store,
        hold_lease(place, lambda: None),
        show_progress("Archiving") as progress,
    ):
        sync(
            store,
            place,
            [files for files in locate_sessions(there).sessions if not _excludes(settings, files)],
            origin=find_origin(settings.home),
            within=there,
            forgotten=list_forgotten(store),
            on_progress=progress,
            settles_later=True,
        )


_PATIENCE = 1.0
"""How long to wait for another process to be done before it is asked to do this, too."""
_LONG_PATIENCE = 600.0


@click.command("sync")
@click.argument("paths", metavar="[PATH|ADDRESS]...", nargs=-1, type=PathOrDatabase(path_type=Path))
@click.option(
    "--workers", type=click.IntRange(1, 64), help="How many processes read files.  [default: by size]"
)
@click.option("--watch", "watches", is_flag=True, help="Keep following what is written, until interrupted.")
@password_option
@output_options()
def sync_command(
    paths: tuple[Path | str, ...],
    workers: int | None,
    watches: bool,
    password_file: Path | None,
    output: Output,
) -> None:
    """Archive every byte of every session, for good.

    Looks at the sessions in CLAUDE_CONFIG_DIR, or else in ~/.claude, or at those in PATHs, and archives what
    is new since the last time. What Claude Code has deleted since then stays in the archive. ADDRESS is that of
    a MongoDB database with stored messages, mongodb://user@host/name.

    Examples:
      turnlog sync                        all sessions of this machine
      turnlog sync ~/old-laptop/.claude   those in a folder
      turnlog sync --watch                and keep following them as they grow
      turnlog sync mongodb://host/name    those in a database
    """
    settings = output.settings
    if watches and any(map(is_database, paths)):
        raise MisuseError("--watch follows files; run `turnlog sync` again for what is new in a database")
    found = [
        _take_in(settings, each, password_file, output) if isinstance(each, str) else each for each in paths
    ]
    _sync_paths(settings, tuple(found), workers, watches, output)


def _take_in(settings: Settings, address: str, password_file: Path | None, output: Output) -> Path:
    from turnlog.cli.database import import_database

    return import_database(settings, address, password_file, output)


def _sync_paths(
    settings: Settings, paths: tuple[Path, ...], workers: int | None, watches: bool, output: Output
) -> None:
    if watches:
        from turnlog.cli.sync_watch import watch

        watch(settings, output, paths)
        return
    within = _find_folders(paths, settings)
    with open_archive(settings, writing=True) as store:
        origin = find_origin(settings.home)
        exclusion = Exclusion(settings.exclude)
        check = ChangeCheck(store.find_present(LOCAL, origin), origin)
        # What is excluded now may be known from before, and is not to be taken for what is still there.
        located = _locate(paths, within, None if exclusion else check.is_settled)
        sessions = [files for files in located.sessions if not exclusion.excludes(files)]
        report = check.report_unchanged(sessions, within, list_forgotten(store))
        for obstacle in located.obstacles:
            warn(f"{path_text(obstacle.path)}: {obstacle.reason}")
        if report is None:
            if not exclusion:  # these are all of them
                sessions = [*_locate(paths, within).sessions]
            report = _sync(settings, store, paths, sessions, within, workers)
        save_machine_name(store, origin)
        imported = _import_spool(settings, store)
    told = [f"{plural(imported, 'hook event')} archived"] if imported else []
    output.show(report, [describe_sync(report), *told])


def _sync(
    settings: Settings,
    store: MaintainedStore,
    paths: tuple[Path, ...],
    sessions: list[SessionFiles],
    within: list[Path],
    workers: int | None,
) -> SyncReport:
    """Archive what is new, for which alone it is worth loading all that this takes."""
    from turnlog.ingest.lease import SyncRequest, hold_lease, request_sync
    from turnlog.ingest.pipeline import sync

    place = settings.place
    with show_progress("Archiving") as progress:
        try:
            with hold_lease(place, lambda: None, wait_seconds=_PATIENCE):
                return sync(
                    store,
                    place,
                    sessions,
                    origin=find_origin(settings.home),
                    within=within,
                    forgotten=list_forgotten(store),
                    workers=workers,
                    on_progress=progress,
                    settles_later=True,
                )
        except BusyStoreError:  # the process that keeps the archive up to date does it
            asked = SyncRequest(tuple(os.path.abspath(path) for path in paths))
            return request_sync(settings.home, asked, _LONG_PATIENCE)


def _import_spool(settings: Settings, store: MaintainedStore) -> int:
    """Bring into the store what hooks left in the spool, and return how many deliveries are new."""
    spool = Spool(settings.home / SPOOL)
    if next(iter(spool.list_names()), None) is None:
        return 0
    from turnlog.ingest.spool_import import import_spool

    try:
        return import_spool(spool, store).added
    except BusyStoreError as error:
        warn(f"hook events stay in the spool for now: {error}")
        return 0


def _find_folders(paths: tuple[Path, ...], settings: Settings) -> list[Path]:
    """Return the folders that are looked through."""
    if not paths:
        there = [path for path in settings.session_dirs if path.is_dir()]
        if not there:
            places = ", ".join(path_text(path) for path in settings.config_dirs)
            raise NothingFoundError(f"no Claude Code data in {places}; name a folder")
        return there
    for path in paths:
        if not path.exists():
            raise MisuseError(f"{path_text(path)}: No such file or directory")
    return [path for path in paths if path.is_dir()]


def _locate(
    paths: tuple[Path, ...], within: list[Path], is_settled: Callable[[str], bool] | None = None
) -> Located:
    """Return the sessions of the paths, or of all folders that are looked through."""
    if not paths:
        return locate_sessions(within, is_settled)
    found = [locate_path(path, is_settled) for path in paths]
    sessions = {session.path or session.folder: session for each in found for session in each.sessions}
    obstacles = tuple(obstacle for each in found for obstacle in each.obstacles)
    return Located(tuple(sessions.values()), (), obstacles)
