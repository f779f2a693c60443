"""The process that verifies the archive beside the server (`processes`). It only reads."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import closing

from msgspec import Struct

from turnlog.errors import TurnlogError
from turnlog.ingest.verification import Disagreement, Step, Subject, check_archive
from turnlog.server.processes import find_place, open_input, prepare_child, send_report
from turnlog.server.values import clean_text, one_line
from turnlog.store.model import LOCAL, StorePlace
from turnlog.store.opening import open_store


class Finding(Struct, frozen=True, gc=False, kw_only=True):
    """A problem that verification found in the archive."""

    session: str | None
    """The session's key; null if it concerns the whole store."""
    subject: Subject
    path: str | None
    """The file concerned, if there is one."""
    message: str


_PROGRESS_SECONDS = 0.2
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


def main(place: StorePlace) -> int:
    """Verify until all is done, or standard input ends; return the exit status."""
    prepare_child()
    threading.Thread(target=_await_end, daemon=True).start()
    progress = _Progress()
    try:
        with closing(open_store(place, read_only=True)) as store:
            for step in check_archive(store, LOCAL):
                progress.note(step)
    except TurnlogError as error:
        send_report(VerifierReport(reason=one_line(str(error))))
        return 1
    progress.end()
    return 0


def _await_end() -> None:
    open_input().read()
    os._exit(0)  # nothing is written, so nothing is lost


class _Progress:
    """Tells what is found at once, and how far it is a few times a second."""

    def __init__(self) -> None:
        self._next = 0.0
        self._last = VerifierReport()

    def note(self, step: Step) -> None:
        now = time.monotonic()
        self._last = VerifierReport(
            done=step.done, total=step.total, found=tuple(map(_view, step.checked.left))
        )
        if step.checked.left or now >= self._next:
            self._next = now + _PROGRESS_SECONDS
            send_report(self._last)

    def end(self) -> None:
        send_report(VerifierReport(done=self._last.done, total=self._last.total, is_end=True))


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
    sys.exit(main(find_place(sys.argv[1])))
