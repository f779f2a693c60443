"""Handing work over to the process that writes.

There is one writer. Who wants something archived while another process keeps the archive up to date leaves word
in a folder beside the store, and waits for the answer; the writer looks there between its own looks. A request
that nobody answers is taken back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec import Struct

from turnlog.errors import BusyStoreError
from turnlog.ingest.glance import SyncReport

_FOLDER = "handover"
_ASKED, _ANSWERED = ".ask", ".answer"
_PAUSE = 0.05
_LARGEST = 1 << 20


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be archived: some paths, or all of this machine."""

    paths: tuple[str, ...] = ()


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """What was done, or why not."""

    report: SyncReport | None = None
    reason: str = ""


def hand_over(home: Path, request: Request, patience: float) -> SyncReport:
    """Leave a request for the writer of the store in `home`, and return what it did.

    Raises `BusyStoreError` if nobody answers in time, or the writer could not do it.
    """
    folder = home / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = uuid4().hex
    asked, answered = folder / f"{name}{_ASKED}", folder / f"{name}{_ANSWERED}"
    _write(asked, msgspec.json.encode(request))
    try:
        end = time.monotonic() + patience
        while not answered.exists():
            if time.monotonic() >= end:
                raise BusyStoreError("another process is writing and does not respond")
            time.sleep(_PAUSE)
        answer = msgspec.json.decode(answered.read_bytes(), type=Answer)
    finally:
        for path in (asked, answered):
            path.unlink(missing_ok=True)
    if answer.report is None:
        raise BusyStoreError(f"the writing process could not do it: {answer.reason}")
    return answer.report


def answer_requests(home: Path, do: Callable[[Request], Answer]) -> int:
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
                _write(asked.with_suffix(_ANSWERED), msgspec.json.encode(answer))
                asked.unlink()
    return len(names)


def _do(asked: Path, do: Callable[[Request], Answer]) -> Answer:
    with asked.open("rb") as file:
        data = file.read(_LARGEST + 1)
    try:
        request = msgspec.json.decode(data, type=Request)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Answer(reason=str(error))
    return do(request)


def _write(path: Path, data: bytes) -> None:
    """Write a file of the owner's alone, there all at once."""
    new = path.with_suffix(f"{path.suffix}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    os.replace(new, path)
