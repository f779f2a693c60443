"""A collector, put together: what it pushes, from where, and what it keeps until that is pushed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.forgotten import list_forgotten
from turnlog.ingest.introducing import find_host, find_user
from turnlog.ingest.push.archived import ArchivedSessions
from turnlog.ingest.push.client import PushClient
from turnlog.ingest.push.following import Holder, HookSource
from turnlog.ingest.push.held import HELD, HeldFiles
from turnlog.ingest.push.hooks import SpooledHooks, StoredHooks
from turnlog.ingest.push.pusher import OnTrouble, Pusher
from turnlog.ingest.push.status import find_progress, save_progress
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.ingest.uploads.protocol import Machine
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store


class Collector(Struct, frozen=True):
    """All that pushes."""

    pusher: Pusher
    hooks: HookSource
    holder: Holder


class _Keeping:
    """What is held, and what only the archive has."""

    def __init__(self, held: HeldFiles, archived: ArchivedSessions | None) -> None:
        self._held = held
        self._archived = archived

    def hold(self, pusher: Pusher) -> int:
        return self._held.hold(pusher)

    def plan(self, pusher: Pusher) -> None:
        self._held.plan(pusher)
        if self._archived is not None:
            self._archived.plan(pusher)


def describe_machine() -> Machine:
    """Return what people call this machine and who is at it."""
    return Machine(find_host(), find_user(), version("turnlog"))


@contextmanager
def open_collector(
    client: PushClient,
    home: Path,
    place: Path | None,
    session_dirs: Iterable[Path],
    *,
    origin: str,
    exclusion: Exclusion,
    on_trouble: OnTrouble,
) -> Iterator[Collector]:
    """Open what pushes the sessions of some directories; `place` is where this machine's archive may be."""
    dirs, machine = tuple(session_dirs), describe_machine()
    if place is None or not place.exists():
        yield _build(client, home, None, dirs, origin, machine, exclusion, on_trouble)
        return
    try:
        store = open_store(place)
    except StoreError as error:
        raise StoreError(f"{error}; hook deliveries are in this archive, so it must be usable") from error
    with closing(store):
        yield _build(client, home, store, dirs, origin, machine, exclusion, on_trouble)


def _build(
    client: PushClient,
    home: Path,
    store: CaredStore | None,
    dirs: tuple[Path, ...],
    origin: str,
    machine: Machine,
    exclusion: Exclusion,
    on_trouble: OnTrouble,
) -> Collector:
    pusher = Pusher(
        client,
        dirs,
        origin=origin,
        machine=machine,
        exclusion=exclusion,
        forgotten=tuple if store is None else lambda: list_forgotten(store),
        on_trouble=on_trouble,
    )
    holder = _Keeping(HeldFiles(home / HELD, dirs), None if store is None else ArchivedSessions(store))
    spool = Spool(home / SPOOL)
    if store is None:
        spooled = SpooledHooks(client, spool, origin=origin, machine=machine, exclusion=exclusion)
        return Collector(pusher, spooled, holder)
    epoch = store.read_feed(LOCAL).epoch
    stored = StoredHooks(
        client,
        spool,
        store,
        origin=origin,
        machine=machine,
        exclusion=exclusion,
        after=find_progress(home, client.name, epoch),
        on_done=lambda seq: save_progress(home, client.name, epoch, seq),
    )
    return Collector(pusher, stored, holder)
