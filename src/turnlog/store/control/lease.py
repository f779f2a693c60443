"""Who keeps a machine's sessions up to date: one process of it at a time (`turnlog.store.leases`)."""

from __future__ import annotations

from types import TracebackType

from turnlog.errors import BusyStoreError
from turnlog.store.control.interface import Control
from turnlog.store.leases import is_gone, name_holder, take_in_time
from turnlog.store.portable.database import Execute

__all__ = ["ControlLease", "find_holder"]


class ControlLease:
    """The right to write what one machine has, for a time."""

    def __init__(self, control: Control, machine: str, *, seconds: float = 30.0) -> None:
        self._control = control
        self._machine = machine
        self._nanoseconds = round(seconds * 1e9)
        self._is_closed = False
        self.holder = name_holder()
        """By what name this one is known."""

    def take(self, wait_seconds: float = 0.0) -> bool:
        """Take it, or wait for it; return whether it is ours. One's own is renewed."""
        return take_in_time(self, wait_seconds)

    def try_once(self) -> bool:
        """Take it if it is free; return whether it is ours."""
        try:
            return self._control.write(self._take, is_repeatable=True)
        except BusyStoreError:
            return False

    def renew(self) -> bool:
        """Hold it for another while; return False if it was lost to somebody else, or let go."""
        return self._control.write(self._renew, is_repeatable=True)

    def release(self) -> None:
        """Let others have it; nothing happens if it is not ours."""
        statement = "DELETE FROM @leases WHERE machine = ? AND holder = ?"
        values = (self._machine, self.holder)
        self._control.write(lambda execute: execute(statement, values), is_repeatable=True)

    def find_holder(self) -> str | None:
        """Return the holder, None if there is none that lives."""
        return find_holder(self._control, self._machine)

    def close(self) -> None:
        """Let go of it, and of the control database; again does nothing."""
        if not self._is_closed:
            self._is_closed = True
            try:
                self.release()
            finally:
                self._control.close()

    def __enter__(self) -> ControlLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, execute: Execute) -> bool:
        now = self._control.find_now(execute)
        # There is a row from now on, which one at a time can change.
        execute("INSERT INTO @leases VALUES (?, ?, 0) ON CONFLICT DO NOTHING", (self._machine, self.holder))
        [(holder, expires_ns)] = execute(
            "UPDATE @leases SET expires_ns = expires_ns WHERE machine = ? RETURNING holder, expires_ns",
            (self._machine,),
        )
        if holder != self.holder and _lives(holder, expires_ns, now):
            return False
        self._write(execute, now)
        return True

    def _renew(self, execute: Execute) -> bool:
        query = "UPDATE @leases SET expires_ns = expires_ns WHERE machine = ? AND holder = ? RETURNING holder"
        if not execute(query, (self._machine, self.holder)):
            return False
        self._write(execute, self._control.find_now(execute))
        return True

    def _write(self, execute: Execute, now: int) -> None:
        statement = "UPDATE @leases SET holder = ?, expires_ns = ? WHERE machine = ?"
        execute(statement, (self.holder, now + self._nanoseconds, self._machine))


def find_holder(control: Control, machine: str) -> str | None:
    """Return who writes what a machine has, without writing anything; None if nobody does."""

    def work(execute: Execute) -> str | None:
        found = execute("SELECT holder, expires_ns FROM @leases WHERE machine = ?", (machine,))
        now = control.find_now(execute)
        return next((str(holder) for holder, ends in found if _lives(holder, ends, now)), None)

    return control.read(work)


def _lives(holder: str, expires_ns: int, now: int) -> bool:
    return expires_ns > now and not is_gone(holder)
