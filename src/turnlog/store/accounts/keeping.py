"""What all parts of accounts rest on: the database, the clock, and what is remembered for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from turnlog.errors import AccountError
from turnlog.store.accounts.wording import is_name
from turnlog.store.catalogue.database import Database, Execute

__all__ = ["Clock", "Keeping", "check_instant", "require_user", "take_turn"]

T = TypeVar("T")
Clock = Callable[[], int]
"""The time, in nanoseconds since 1970."""
_MOMENT_SECONDS = 0.5
"""For how long it is not asked again whether anything ended, or whether there are users."""
_LAST_INSTANT = 2**63 - 1


class Keeping:
    """The database, and who asks it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._has_users: tuple[bool, float] | None = None
        self._version: tuple[int, float] | None = None

    def has_users(self) -> bool:
        """Tell whether there are any users."""
        known = self._has_users
        # Users are never removed, so who has some has some for good.
        if known is not None and (known[0] or _is_fresh(known[1])):
            return known[0]
        found = bool(self._read(lambda execute: execute("SELECT 1 FROM users LIMIT 1")))
        self._has_users = (found, time.monotonic())
        return found

    def find_version(self) -> int:
        """Return a number that grows whenever anybody or anything stops being let in."""
        known = self._version
        if known is not None and _is_fresh(known[1]):
            return known[0]
        asked = time.monotonic()
        [(version,)] = self._read(lambda execute: execute("SELECT version FROM state"))
        self._version = (int(version), asked)
        return int(version)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def _read(self, work: Callable[[Execute], T]) -> T:
        return self._database.read(lambda connection: work(connection.execute))

    def _write(self, work: Callable[[Execute], T], *, is_repeatable: bool = False) -> T:
        return self._database.write(lambda connection: work(connection.execute), is_repeatable=is_repeatable)

    def _try_write(self, work: Callable[[Execute], object]) -> None:
        self._database.try_write(lambda connection: work(connection.execute))

    def _forget_moment(self) -> None:
        """Ask again: something was just changed."""
        self._has_users = self._version = None


def take_turn(execute: Execute, *, ends: bool) -> None:
    """Wait until nobody else adds, ends or changes anybody; say that something ends, if so.

    It comes first in a transaction, so that what is read behind it stays true until its end.
    """
    execute("UPDATE state SET version = version + ?", (int(ends),))


def require_user(execute: Execute, name: str) -> str:
    """Return the name of a user who may come in; raises `AccountError` if there is none."""
    found = execute("SELECT disabled_ns FROM users WHERE name = ?", (name,)) if is_name(name) else []
    if not found:
        raise AccountError(f"There is no user {name if name.isprintable() else ascii(name)}")
    if found[0][0] is not None:
        raise AccountError(f"{name} is disabled")
    return name


def check_instant(at_ns: int) -> int:
    """Return an instant that can be kept; raises `AccountError` for any other."""
    if not 0 <= at_ns <= _LAST_INSTANT:
        raise AccountError("Expected an instant between the years 1970 and 2262")
    return at_ns


def _is_fresh(asked: float) -> bool:
    return time.monotonic() - asked < _MOMENT_SECONDS
