"""Whose a machine is that something comes from.

A machine that nobody knows becomes the person's who pushes from it. One that has sessions already does not:
whoever learned its name could take them for their own, so an admin has to say whose it is. That is asked of the
store at most twice a minute for each machine, since machines push all the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct

from turnlog.errors import TakenMachineError, UploadError
from turnlog.ingest.uploads.protocol import Machine
from turnlog.store import model
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL, Scope

MACHINE_TAKEN = "machine_taken"
"""What a machine is told whose sessions are another person's."""
MACHINE_UNASSIGNED = "machine_unassigned"
"""What a machine is told that has sessions which are nobody's."""
_SECONDS = 30.0
_MOST = 10_000
_LONGEST = 200
"""Characters of what a machine is called."""


class _Noted(Struct, frozen=True, gc=False):
    person: str | None
    host: str
    user: str
    at: float


class KnownMachines:
    """Remembers whose machines are; for several threads."""

    def __init__(
        self, store: CaredStore, scope: Scope = LOCAL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._scope = scope
        self._clock = clock
        self._noted: dict[str, _Noted] = {}
        self._known: dict[str, model.Machine] = {}
        self._known_at = 0.0
        self._lock = threading.Lock()

    def note(self, origin: str, person: str | None, told: Machine) -> None:
        """Note that something comes from a machine; raises `UploadError` if it may not come from this person.

        Without `person`, it is nobody's or whoever's it was. Raises `StoreError`.
        """
        host, user = told.host[:_LONGEST], told.user[:_LONGEST]
        with self._lock:
            now, last = self._clock(), self._noted.get(origin)
            is_fresh = last is not None and now - last.at < _SECONDS
            if is_fresh and last is not None and (last.person, last.host, last.user) == (person, host, user):
                return
            if person is not None:
                self._check(origin, now)
            try:
                self._store.save_machine(self._scope, origin, person=person, host=host, user=user)
            except TakenMachineError:
                self._noted.pop(origin, None)
                reason = "This machine belongs to another person; an admin can reassign it"
                raise UploadError(MACHINE_TAKEN, reason) from None
            self._noted[origin] = _Noted(person, host, user, now)
            while len(self._noted) > _MOST:
                del self._noted[next(iter(self._noted))]

    def forget(self, origin: str) -> None:
        """Ask anew when something next comes from a machine: somebody said whose it is."""
        with self._lock:
            self._noted.pop(origin, None)
            self._known_at = 0.0

    def _check(self, origin: str, now: float) -> None:
        """Raise `UploadError` for a machine with sessions that are nobody's."""
        if origin not in self._known or not self._known_at or now - self._known_at >= _SECONDS:
            self._known = {machine.origin: machine for machine in self._store.list_machines(self._scope)}
            self._known_at = now
        known = self._known.get(origin)
        if known is not None and known.person is None and known.sessions:
            reason = "This machine has sessions here without an owner; an admin has to assign it first"
            raise UploadError(MACHINE_UNASSIGNED, reason)
