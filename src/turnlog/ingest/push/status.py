"""How a collector is doing, for whoever asks: a small file that it keeps up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.ingest.push.pusher import PushCounts

_STATUS = "push.json"
_SECONDS = 1.0
"""How often the file is written at most, unless something happened."""


class PushPhase(StrEnum):
    """What a collector is at."""

    CONNECTING = "connecting"
    PUSHING = "pushing"
    WATCHING = "watching"
    """All is there; what is written is pushed as it comes."""
    OFFLINE = "offline"
    STOPPED = "stopped"


class PushStatus(Struct, frozen=True, kw_only=True):
    """How a collector is doing."""

    server: str
    pid: int
    phase: PushPhase
    started_at: float
    """Times are in seconds since 1970."""
    at: float
    """When this was so."""
    last_success_at: float | None = None
    reason: str = ""
    """Why it is offline."""
    again_at: float | None = None
    waiting: int = 0
    """Sessions that are to be pushed."""
    waiting_bytes: int = 0
    held_bytes: int = 0
    """Of files that are kept until they are pushed, whatever becomes of them."""
    counts: PushCounts = msgspec.field(default_factory=PushCounts)


class StatusFile:
    """The file of one collector."""

    def __init__(self, home: Path, server: str, clock: Callable[[], float] = time.time) -> None:
        self._path = home / _STATUS
        self._clock = clock
        self._written = 0.0
        self.status = PushStatus(
            server=server, pid=os.getpid(), phase=PushPhase.CONNECTING, started_at=clock(), at=clock()
        )

    def note(self, **news: object) -> None:
        """Note what is new; how far it is alone is written about once a second."""
        now = self._clock()
        before, self.status = self.status, msgspec.structs.replace(self.status, at=now, **news)
        changed = any(getattr(before, name) != getattr(self.status, name) for name in ("phase", "again_at"))
        if changed or not 0.0 <= now - self._written < _SECONDS:
            self._written = now
            with suppress(OSError):  # it is only for whoever asks
                _write(self._path, msgspec.json.encode(self.status))


def read_status(home: Path) -> PushStatus | None:
    """Return what the last collector said; None if there was none."""
    try:
        return msgspec.json.decode((home / _STATUS).read_bytes(), type=PushStatus)
    except (OSError, msgspec.DecodeError):
        return None


class _Progress(Struct, frozen=True):
    epoch: str
    seq: int


def find_progress(home: Path, server: str, epoch: str) -> int:
    """Return up to where the feed of the archive was pushed to a server; 0 if that is not known."""
    try:
        found = msgspec.json.decode(_find_path(home, server).read_bytes(), type=_Progress)
    except (OSError, msgspec.DecodeError):
        return 0
    return found.seq if found.epoch == epoch else 0


def save_progress(home: Path, server: str, epoch: str, seq: int) -> None:
    """Remember up to where the feed was pushed; if that is lost, the server is offered all of it again."""
    with suppress(OSError):
        _write(_find_path(home, server), msgspec.json.encode(_Progress(epoch, seq)))


def _find_path(home: Path, server: str) -> Path:
    return home / f"push-{blake2b(server.encode(), digest_size=8).hexdigest()}.json"


def _write(path: Path, data: bytes) -> None:
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    os.replace(new, path)
