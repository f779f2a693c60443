"""Being the one who writes, for as long as it takes: the lease is renewed in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnlog.errors import BusyStoreError, StoreError
from turnlog.ingest.origin import find_origin
from turnlog.store.catalogue.feed import Lease
from turnlog.store.opening import open_lease
from turnlog.store.places import StorePlace, home_of

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
