"""The process that keeps the archive up to date beside the server.

It is a process of its own because reading sessions takes whole seconds of Python's time, in which no request
would be answered (`processes`). While another process is at it, it waits.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing

from turnlog.config import Settings
from turnlog.errors import BusyStoreError, TurnlogError
from turnlog.ingest.lease import hold_lease
from turnlog.ingest.live_sync import SyncEvent, follow
from turnlog.ingest.machine import Exclusion, find_origin, list_forgotten
from turnlog.ingest.watchers import Watcher, choose_watcher
from turnlog.server.processes import ProgressReporter, parse_place, prepare_child, send_report
from turnlog.server.sync import FollowerReport, SyncPhase
from turnlog.store.model import StorePlace
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import list_roots

_AGAIN_SECONDS = 5.0


def main(place: StorePlace) -> int:
    """Follow until standard input ends; return the exit status."""
    ended = threading.Event()
    watchers: list[Watcher] = []

    def end() -> None:
        ended.set()
        for watcher in watchers:
            watcher.stop()

    prepare_child(end)
    settings = Settings.from_env()
    while not ended.is_set():
        # One that was stopped is of no more use, so each attempt has its own.
        watchers.append(choose_watcher(list_roots(settings.session_dirs), env=os.environ))
        if ended.is_set():
            break
        try:
            _follow(settings, place, watchers[-1])
        except BusyStoreError as error:
            send_report(FollowerReport(phase=SyncPhase.ELSEWHERE, reason=str(error)))
        except TurnlogError as error:
            send_report(FollowerReport(phase=SyncPhase.FAILED, reason=str(error)))
            return 1
        watchers.clear()
        ended.wait(_AGAIN_SECONDS)
    return 0


def _follow(settings: Settings, place: StorePlace, watcher: Watcher) -> None:
    progress = ProgressReporter()

    def report_progress(done: int, total: int) -> None:
        progress.send(FollowerReport(phase=SyncPhase.SYNCING, done=done, total=total))

    with closing(open_store(place)) as store, hold_lease(place, watcher.stop):
        send_report(FollowerReport(phase=SyncPhase.SYNCING))
        follow(
            store,
            place,
            settings.session_dirs,
            origin=find_origin(settings.home),
            watcher=watcher,
            on_report=_report,
            on_progress=report_progress,
            exclusion=Exclusion(settings.exclude),
            forgotten=lambda: list_forgotten(store),
        )


def _report(followed: SyncEvent) -> None:
    report = followed.report
    send_report(
        FollowerReport(
            phase=SyncPhase.WATCHING,
            looked=True,
            reason=followed.reason,
            lines=0 if report is None else report.lines,
            bytes=0 if report is None else report.bytes,
            seconds=0.0 if report is None else report.seconds,
        )
    )


if __name__ == "__main__":
    sys.exit(main(parse_place(sys.argv[1])))
