"""Verifying the archive in a process beside the server (`processes`), one run at a time. It only reads."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import TurnlogError
from turnlog.ingest.verification import Disagreement, Subject, check_archive
from turnlog.server import processes
from turnlog.server.errors import RequestError
from turnlog.server.values import clean_text, one_line
from turnlog.store.model import LOCAL, StorePlace
from turnlog.store.opening import open_store

logger = logging.getLogger("turnlog.server")


class Finding(Struct, frozen=True, gc=False, kw_only=True):
    """A problem that verification found in the archive."""

    session: str | None
    """The session's key; null if it concerns the whole store."""
    subject: Subject
    path: str | None
    """The file concerned, if there is one."""
    message: str


_FILES = frozenset({Subject.BYTES, Subject.LINES, Subject.TEXTS})
"""What is about files, and says where."""


class VerifierReport(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What the verifier tells: a line of JSON each."""

    done: int = 0
    total: int = 0
    found: tuple[Finding, ...] = ()
    is_end: bool = False
    """Whether all of it was checked."""
    reason: str = ""
    """Why it failed."""


class VerifyState(StrEnum):
    """The state of a verification."""

    RUNNING = "running"
    CLEAN = "clean"
    """Everything agrees."""
    FOUND = "found"
    """Something disagrees."""
    FAILED = "failed"
    """It could not be done to the end."""


class VerifyJob(Struct, frozen=True, gc=False, kw_only=True):
    """A verification of the whole archive, running in the background."""

    state: VerifyState
    done: int
    total: int
    """Sessions."""
    started_at: datetime
    ended_at: datetime | None = None
    findings: tuple[Finding, ...] = ()
    """At most 200."""
    found: int = 0
    """All of them."""
    message: str | None = None
    """Why it failed."""


_PATIENCE = 2.0
_MOST_FINDINGS = 200


class VerifierProcess:
    """The verification that runs, or the last one."""

    def __init__(self, place: StorePlace | None, env: Mapping[str, str] = os.environ) -> None:
        self._place = place
        self._env = dict(env)
        self._lock = threading.Lock()
        self._job: VerifyJob | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._is_over = False

    def find_job(self) -> VerifyJob | None:
        """Return how far it is; None if there was none."""
        return self._job

    def start(self) -> VerifyJob:
        """Begin, and return at once; raises `RequestError` if one is running."""
        with self._lock:
            if self._place is None or self._is_over:
                raise RequestError(503, "unavailable", "This archive cannot be verified now")
            if self._job is not None and self._job.state is VerifyState.RUNNING:
                raise RequestError(409, "running", "A verification is already running")
            process = processes.start_child("turnlog.server.verifier", self._place, self._env)
            job = VerifyJob(state=VerifyState.RUNNING, done=0, total=0, started_at=datetime.now(UTC))
            self._process, self._job = process, job
            self._thread = threading.Thread(target=self._listen, args=(process,), name="verifier", daemon=True)
            self._thread.start()
            return job

    def stop(self) -> None:
        """End it, with the server."""
        with self._lock:
            self._is_over = True
            process, thread = self._process, self._thread
        if process is not None and thread is not None:
            processes.end_child(process, _PATIENCE)
            thread.join(_PATIENCE)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        for report in processes.read_reports(process, VerifierReport):
            self._take(report)
        assert self._job is not None
        if self._job.state is VerifyState.RUNNING:
            if not self._is_over:
                logger.error("the verifier exited with status %d", process.returncode)
            self._end(VerifyState.FAILED, "It ended before everything was checked")

    def _take(self, news: VerifierReport) -> None:
        assert self._job is not None
        if news.reason:
            self._end(VerifyState.FAILED, news.reason)
            return
        shown = (*self._job.findings, *news.found)[:_MOST_FINDINGS]
        found = self._job.found + len(news.found)
        self._job = replace(self._job, done=news.done, total=news.total, findings=shown, found=found)
        if news.is_end:
            self._end(VerifyState.FOUND if found else VerifyState.CLEAN)

    def _end(self, state: VerifyState, message: str | None = None) -> None:
        assert self._job is not None
        self._job = replace(self._job, state=state, ended_at=datetime.now(UTC), message=message)


def main(place: StorePlace) -> int:
    """Verify until all is done, or standard input ends; return the exit status."""
    processes.prepare_child(lambda: os._exit(0))  # nothing is written, so nothing is lost
    progress, last = processes.ProgressReporter(), VerifierReport()
    try:
        with closing(open_store(place, read_only=True)) as store:
            for step in check_archive(store, LOCAL):
                found = tuple(map(_view, step.checked.left))
                last = VerifierReport(done=step.done, total=step.total, found=found)
                progress.send(last, at_once=bool(found))
    except TurnlogError as error:
        processes.send_report(VerifierReport(reason=one_line(str(error))))
        return 1
    processes.send_report(VerifierReport(done=last.done, total=last.total, is_end=True))
    return 0


def _view(found: Disagreement) -> Finding:
    is_file = found.subject in _FILES
    message = found.message if is_file or not found.where else f"{found.where}: {found.message}"
    return Finding(
        session=found.session or None,
        subject=found.subject,
        path=clean_text(found.where) if is_file else None,
        message=one_line(message),
    )


if __name__ == "__main__":
    sys.exit(main(processes.parse_place(sys.argv[1])))
