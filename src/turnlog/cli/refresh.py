"""Bringing the archive up to date before a command asks it, and what a sync did in words.

Whether anything is new is seen at a glance; what a sync takes is loaded only if there is something to do. Where
another process keeps the archive up to date, it is trusted.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from turnlog.cli.files import warn
from turnlog.cli.output import waiting
from turnlog.cli.units import size_text
from turnlog.config import Settings
from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.export.plain_text import plural
from turnlog.ingest.change_check import SyncReport, report_unchanged
from turnlog.ingest.machine import find_origin, list_forgotten
from turnlog.store.model import LOCAL
from turnlog.store.opening import find_holder, open_store
from turnlog.transcripts.files.locate import locate_sessions
from turnlog.transcripts.files.session_files import SessionFiles


def refresh(settings: Settings) -> None:
    """Archive what is new of the sessions of this machine; the archive must be there.

    What stands in the way is said, and the archive stays as it is.
    """
    there = [path for path in settings.session_dirs if path.is_dir()]
    sessions = locate_sessions(there).sessions
    try:
        if _is_behind(settings, there, sessions):
            _sync(settings, there, sessions)
    except NewerStoreError:
        raise
    except BusyStoreError:
        pass  # whoever writes does it
    except (StoreError, OSError) as error:
        warn(f"the archive is not up to date: {error}")


def _is_behind(settings: Settings, there: list[Path], sessions: tuple[SessionFiles, ...]) -> bool:
    place = settings.place
    try:
        opened = open_store(place, read_only=True)
    except NewerStoreError:
        raise
    except StoreError:
        return True  # of an older version: opening it for writing brings it up
    with closing(opened) as store:
        if find_holder(place, find_origin(settings.home)) is not None:
            return False
        unchanged = report_unchanged(
            sessions,
            store.list_known(LOCAL),
            find_origin(settings.home),
            there,
            list_forgotten(store),
            lambda files: _excludes(settings, files),
        )
    return unchanged is None


def _excludes(settings: Settings, files: SessionFiles) -> bool:
    if not settings.exclude:
        return False
    from turnlog.ingest.machine import Exclusion

    return Exclusion(settings.exclude).excludes(files)


def _sync(settings: Settings, there: list[Path], sessions: tuple[SessionFiles, ...]) -> None:
    from turnlog.ingest.lease import hold_lease
    from turnlog.ingest.pipeline import sync

    place = settings.place
    with closing(open_store(place)) as store, hold_lease(place, lambda: None), waiting("Archiving") as progress:
        sync(
            store,
            place,
            [files for files in sessions if not _excludes(settings, files)],
            origin=find_origin(settings.home),
            within=there,
            forgotten=list_forgotten(store),
            on_progress=progress,
        )


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
