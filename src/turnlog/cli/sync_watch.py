"""`turnlog sync --watch`: following what is written, until interrupted."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from turnlog.cli.output import Output, show_progress
from turnlog.cli.plain_text import describe_sync
from turnlog.cli.stores import open_archive
from turnlog.cli.terminal import MisuseError, clean_line, stopped_by_signals, warn
from turnlog.config import Settings
from turnlog.errors import BusyStoreError
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.lease import hold_lease
from turnlog.ingest.live_sync import Occasion, SyncEvent, follow
from turnlog.ingest.machine import Exclusion, find_origin, list_forgotten
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.ingest.spool_import import SpoolImporter
from turnlog.ingest.watchers import choose_watcher
from turnlog.shapes import fill
from turnlog.transcripts.session_files import list_roots, path_text

_PATIENCE = 2.0
"""How long to wait for another process to stop writing: a service that is restarted needs a moment."""
_SHOWN = 3


class FollowedDocument(Struct, frozen=True, gc=False, kw_only=True):
    """A line of what `turnlog sync --watch --json` prints."""

    occasion: Occasion
    paths: tuple[str, ...]
    report: SyncReport | None
    reason: str
    again_in: float


def watch(settings: Settings, output: Output, paths: tuple[Path, ...]) -> None:
    """Archive all there is, and then what is written, until interrupted or terminated."""
    config_dirs = [_require_config_dir(path) for path in paths] or list(settings.session_dirs)
    watcher = choose_watcher(list_roots(config_dirs), env=os.environ)
    place = settings.place
    lost: list[bool] = []

    def on_lost() -> None:
        lost.append(True)
        watcher.stop()

    with (
        open_archive(settings, writing=True) as store,
        hold_lease(place, on_lost, wait_seconds=_PATIENCE),
        stopped_by_signals(watcher.stop),
        ExitStack() as ending,
        ExitStack() as first,
    ):

        def on_report(followed: SyncEvent) -> None:
            first.close()  # there is no end to the progress of the rest
            _report(output, followed)

        taker = SpoolImporter(Spool(settings.home / SPOOL), store)
        taker.start()
        ending.callback(taker.stop)
        follow(
            store,
            place,
            config_dirs,
            origin=find_origin(settings.home),
            watcher=watcher,
            on_report=on_report,
            on_progress=first.enter_context(show_progress("Archiving")),
            exclusion=Exclusion(settings.exclude),
            forgotten=lambda: list_forgotten(store),
        )
    if lost:
        raise BusyStoreError(f"another process took over writing to {place}")


def _require_config_dir(path: Path) -> Path:
    if not path.is_dir():
        raise MisuseError(f"{path_text(path)}: No such directory")
    if not any(root.is_dir() for root in list_roots([path])):
        raise MisuseError(f"{path_text(path)}: only folders with Claude Code's `projects` in them are watched")
    return Path(os.path.abspath(path))


def _report(output: Output, followed: SyncEvent) -> None:
    if output.as_json:
        output.print_json(fill(FollowedDocument, followed, paths=tuple(map(path_text, followed.paths))))
    elif followed.report is not None and output.is_terminal:
        output.print([f"{datetime.now():%H:%M:%S}  {_describe(followed, followed.report)}"])
    if followed.reason:
        where = ", ".join(map(path_text, followed.paths)) or "all sessions"
        warn(f"{where}: {followed.reason} (trying again in {followed.again_in:.0f} s)")


def _describe(followed: SyncEvent, report: SyncReport) -> str:
    if followed.occasion is not Occasion.CHANGE:
        return describe_sync(report)
    names = [clean_line(path_text(path.stem)) for path in followed.paths[:_SHOWN]]
    if len(followed.paths) > _SHOWN:
        names.append(f"{len(followed.paths) - _SHOWN:,} more")
    if report.gone:
        return f"{', '.join(names)}: deleted from disk and kept here"
    return f"{', '.join(names)}: {report.lines:,} lines, {report.bytes:,} bytes"
