"""Importing the spool into the store: once, or for as long as somebody waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from itertools import islice

from msgspec import Struct

from turnlog.errors import TurnlogError
from turnlog.ingest.spool import Spool
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.transcripts.hooks import HookDelivery

logger = logging.getLogger("turnlog.ingest")

OnImported = Callable[[Sequence[HookDelivery]], None]

_NAMES = 5_000
"""How many names are looked at together: with a million of them, memory stays small."""
_AT_ONCE = 256
_BYTES_AT_ONCE = 16 << 20
"""How much is written in one transaction, a single large payload aside."""
_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE = 30.0
_PATIENCE = 10.0


class Imported(Struct, frozen=True, gc=False):
    """The result of importing a spool."""

    added: int = 0
    """Deliveries that are new in the store."""
    quarantined: int = 0
    failed: int = 0
    """Files that could not be read, moved or removed."""


def import_spool(spool: Spool, store: MaintainedStore, on_imported: OnImported | None = None) -> Imported:
    """Import everything in a spool into the store, and return the result.

    `on_imported` is called with deliveries that the store has, before their files are removed; those that it
    had before are among them. Raises `StoreError`; what is not in the store by then stays in the spool.
    """
    work = _Import(spool, store, on_imported)
    while True:
        names = sorted(islice((name for name in spool.list_names() if name not in work.failed), _NAMES))
        if not names or len(work.failed) > _NAMES:
            return Imported(work.added, work.quarantined, len(work.failed))
        work.run(names)


class _Import:
    def __init__(self, spool: Spool, store: MaintainedStore, on_imported: OnImported | None) -> None:
        self._spool = spool
        self._store = store
        self._on_imported = on_imported
        self._names: list[str] = []
        self._deliveries: list[HookDelivery] = []
        self._size = 0
        self.added = 0
        self.quarantined = 0
        self.failed: set[str] = set()

    def run(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                deliveries = self._read(name)
            except OSError:
                self.failed.add(name)
                continue
            if deliveries is None:
                continue
            self._names.append(name)
            self._deliveries += deliveries
            self._size += sum(len(delivery.payload) for delivery in deliveries)
            if len(self._names) >= _AT_ONCE or self._size >= _BYTES_AT_ONCE:
                self._commit()
        self._commit()

    def _read(self, name: str) -> list[HookDelivery] | None:
        """Return what can be read of a file; None if there is nothing, and the file was put aside."""
        found = self._spool.read(name)
        unreadable = [each for each in found or () if not each.is_readable]
        self.quarantined += 1 if found is None else len(unreadable)
        if found is None or len(found) == len(unreadable) == 1:
            self._spool.put_aside(name)
            return None
        for each in unreadable:
            self._spool.write_aside(each.delivery_id, each.payload)
        return [each for each in found if each.is_readable]

    def _commit(self) -> None:
        if self._deliveries:
            self.added += self._store.add_deliveries(LOCAL, self._deliveries)
            if self._on_imported is not None:
                self._on_imported(self._deliveries)
        for name in self._names:
            try:
                self._spool.remove(name)
            except OSError:
                self.failed.add(name)
        self._names, self._deliveries, self._size = [], [], 0


class SpoolImporter:
    """A thread that imports what comes into a spool, within a second or when it is woken."""

    def __init__(self, spool: Spool, store: MaintainedStore, on_imported: OnImported | None = None) -> None:
        self._spool = spool
        self._store = store
        self._on_imported = on_imported
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)
        self._reason = ""

    def start(self) -> None:
        """Begin, with what is there already."""
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Look now."""
        self._woken.set()

    def stop(self) -> None:
        """End, after what is being written just now; the rest is imported next time."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        pause = _PAUSE_SECONDS
        while not self._stopping.is_set():
            self._woken.wait(pause)
            self._woken.clear()
            if self._stopping.is_set():
                return
            fine = self._import()
            pause = _PAUSE_SECONDS if fine else min(2 * pause, _LONGEST_PAUSE)
            if not fine:
                self._stopping.wait(_PAUSE_SECONDS)  # being woken all the time must not make it worse

    def _import(self) -> bool:
        try:
            done = import_spool(self._spool, self._store, on_imported=self._on_imported)
        except (TurnlogError, OSError) as error:
            self._tell(f"hook deliveries stay in the spool for now: {error}")
            return False
        except Exception:  # whatever it is, deliveries that come later must not wait for a restart
            logger.exception("hook deliveries stay in the spool for now")
            return False
        if done.failed:
            self._tell(f"{self._spool.folder}: {done.failed} files cannot be read or removed")
            return False
        self._reason = ""
        return True

    def _tell(self, reason: str) -> None:
        if reason != self._reason:
            logger.warning("%s", reason)
            self._reason = reason
