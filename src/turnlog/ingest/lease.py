"""The lease of the one process that writes, and handing work over to it.

Whoever holds the lease renews it in the background. A process that wants something archived while another one
keeps the archive up to date leaves a request in a folder beside the store, and waits for the answer; the writer
looks there between its own scans. A request that is not answered is taken back.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec import Struct

from turnlog.atomic_files import write_file
from turnlog.errors import BusyStoreError, StoreError
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.machine import find_origin
from turnlog.store.catalogue.feed import Lease
from turnlog.store.model import StorePlace, home_of
from turnlog.store.opening import open_lease

_SECONDS = 120.0
"""How long others wait for a holder on another machine that does not answer."""


@contextmanager
def hold_lease(
    place: StorePlace, on_lost: Callable[[], None], *, wait_seconds: float = 0.0, seconds: float = _SECONDS
) -> Iterator[None]:
    """Hold the lease of the store at a place; if it is lost all the same, say so from another thread.

    Raises `BusyStoreError`, which names the holder, if another process has it.
    """
    with open_lease(place, find_origin(home_of(place)), seconds=seconds) as lease:
        if not lease.take(wait_seconds):
            raise BusyStoreError(f"{_describe(lease.find_holder())} is already keeping {place} up to date")
        done = threading.Event()
        keeper = threading.Thread(target=_keep, args=(lease, done, seconds / 4, on_lost), daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()


def _keep(lease: Lease, done: threading.Event, pause: float, on_lost: Callable[[], None]) -> None:
    while not done.wait(pause):
        try:
            is_ours = lease.renew() or lease.take()
        except StoreError:  # a long write of our own, or a full disk: there is time for another attempt
            continue
        if not is_ours:
            on_lost()
            return


def _describe(holder: str | None) -> str:
    if holder is None:
        return "another process"
    host, pid, _ = holder.rsplit("/", 2)
    return f"process {pid} on {host.partition('pid:')[0] or 'this machine'}"


_FOLDER = "handover"
_ASKED, _ANSWERED = ".ask", ".answer"
_PAUSE = 0.05
_LARGEST = 1 << 20


class SyncRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be archived: some paths, or all of this machine."""

    paths: tuple[str, ...] = ()


class SyncAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """What was done, or why not."""

    report: SyncReport | None = None
    reason: str = ""


def request_sync(home: Path, request: SyncRequest, patience: float) -> SyncReport:
    """Leave a request for the writer of the store in `home`, and return what it did.

    Raises `BusyStoreError` if nobody answers in time, or the writer could not do it.
    """
    folder = home / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = uuid4().hex
    asked, answered = folder / f"{name}{_ASKED}", folder / f"{name}{_ANSWERED}"
    write_file(asked, msgspec.json.encode(request))
    try:
        end = time.monotonic() + patience
        while not answered.exists():
            if time.monotonic() >= end:
                raise BusyStoreError("another process is writing and does not respond")
            time.sleep(_PAUSE)
        answer = msgspec.json.decode(answered.read_bytes(), type=SyncAnswer)
    finally:
        for path in (asked, answered):
            path.unlink(missing_ok=True)
    if answer.report is None:
        raise BusyStoreError(f"the writing process could not do it: {answer.reason}")
    return answer.report


def answer_requests(home: Path, do: Callable[[SyncRequest], SyncAnswer]) -> int:
    """Do what was asked since the last time, and return how many requests there were."""
    folder = home / _FOLDER
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_ASKED))
    except FileNotFoundError:
        return 0
    for name in names:
        asked = folder / name
        with suppress(FileNotFoundError):  # taken back meanwhile
            answer = _do(asked, do)
            if asked.exists():
                write_file(asked.with_suffix(_ANSWERED), msgspec.json.encode(answer))
                asked.unlink()
    return len(names)


def _do(asked: Path, do: Callable[[SyncRequest], SyncAnswer]) -> SyncAnswer:
    with asked.open("rb") as file:
        data = file.read(_LARGEST + 1)
    try:
        request = msgspec.json.decode(data, type=SyncRequest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return SyncAnswer(reason=str(error))
    return do(request)
