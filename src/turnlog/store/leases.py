"""Who keeps a store up to date: one process at a time, known to the others by a row that expires.

A `sync` beside a running server sees that there is a writer, and leaves the work to it. A holder that crashed
is found out at once on its own machine, elsewhere when its lease expires.
"""

from __future__ import annotations

import os
import platform
import time
from types import TracebackType
from typing import Protocol
from uuid import uuid4

__all__ = ["Lease", "name_holder", "take_in_time", "is_gone"]

_PAUSE = 0.05
"""Seconds between two attempts to take it."""


class Lease(Protocol):
    """The right to write for a time; it must be renewed before that is over."""

    @property
    def holder(self) -> str:
        """By what name this one is known."""

    def take(self, wait_seconds: float = 0.0) -> bool:
        """Take it, or wait for it; return whether it is ours. One's own is renewed."""

    def renew(self) -> bool:
        """Hold it for another while; return False if it was lost to somebody else, or let go."""

    def release(self) -> None:
        """Let others have it; nothing happens if it is not ours."""

    def find_holder(self) -> str | None:
        """Return the holder, None if there is none that lives."""

    def close(self) -> None:
        """Let go of it, and of the store."""

    def __enter__(self) -> Lease: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _Taking(Protocol):
    def try_once(self) -> bool: ...


def take_in_time(lease: _Taking, wait_seconds: float) -> bool:
    """Try to take a lease until it is ours, or the time is over."""
    deadline = time.monotonic() + wait_seconds
    while not lease.try_once():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(_PAUSE, left))
    return True


def name_holder() -> str:
    """Return a name for this process, by which others can tell whether it still runs."""
    return f"{_name_host()}/{os.getpid()}/{uuid4().hex}"


def is_gone(holder: str) -> bool:
    """Tell whether a holder is a process of this machine that ended."""
    host, pid, _ = holder.rsplit("/", 2)
    return host == _name_host() and not _is_running(int(pid))


def _name_host() -> str:
    """Return a name for what process ids are about: a machine, or a container on one."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{platform.node()}{space}"


def _is_running(pid: int) -> bool:
    if os.name != "posix":
        return True  # there, asking by signal would end the process; the lease expires in time
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
