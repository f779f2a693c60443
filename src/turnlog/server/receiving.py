"""Receiving hook deliveries: on the disk before the answer, in the store soon after.

What arrives while the disk is busy is gathered and written with one flush (group commit), into the spool, so
that a hook never waits for whoever writes to the store. A thread imports the spool, with whatever else lies
there: what hooks left while no server ran, and what a server that was killed had not brought into the store.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct
from msgspec.structs import astuple

from turnlog.ingest.spool import Frame, Spool, find_time, is_delivery_id, make_delivery_id
from turnlog.ingest.spool_import import SpoolImporter
from turnlog.server.errors import RequestError
from turnlog.server.live_window import LiveWindow
from turnlog.server.shapes.hooks import HookReceipt
from turnlog.store.interface import CaredStore
from turnlog.transcripts.hooks.deliveries import HookDelivery, build_delivery

logger = logging.getLogger("turnlog.server")

OnDelivery = Callable[[HookDelivery], None]

_BATCH_BYTES = 32 << 20
_REMEMBERED = 20_000
"""How many deliveries are remembered: the same one may come from the spool and by a request."""
_LARGE = 1 << 20
_LARGE_AT_ONCE = 4


class _Kept(Struct, frozen=True):
    aside: frozenset[str]
    deliveries: list[HookDelivery]


_Waiting = tuple[Frame, "asyncio.Future[HookReceipt]"]


class HookReceiver:
    """Takes deliveries in, keeps them, and tells of them.

    Whoever wants to hear of each delivery adds a function to `listeners`. It is called once for each, on the
    event loop's thread, as soon as the delivery is on the disk, which may be before it is in the store; for
    what lay in the spool, when it is in the store. Deliveries that were made earlier may come later:
    `received_ns` says when they were made. A listener must return quickly; if one raises, that is logged and
    harms no other.
    """

    def __init__(self, store: CaredStore, folder: Path | None) -> None:
        self.window = LiveWindow()
        self.listeners: list[OnDelivery] = []
        self.received = {"archive": 0, "aside": 0}
        """How many requests brought something, by what became of it."""
        self.spool = None if folder is None else Spool(folder)
        self._importer = None if self.spool is None else SpoolImporter(self.spool, store, self._on_imported)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hooks")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None
        self._known: OrderedDict[str, None] = OrderedDict()
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    async def start(self) -> None:
        """Begin to import the spool."""
        self._loop = asyncio.get_running_loop()
        if self._importer is not None:
            self._importer.start()

    async def stop(self) -> None:
        """End; what is in the spool stays there."""
        if self._importer is not None:
            await asyncio.to_thread(self._importer.stop)
        self._thread.shutdown(wait=False)

    def limit(self, size: int | None) -> asyncio.Semaphore | None:
        """Return what a request of such a size must hold while it is read: only few large ones at a time."""
        return self._large if size is None or size > _LARGE else None

    async def receive(
        self, delivery_id: str | None, payload: bytes, received_ns: int | None = None, origin: str = ""
    ) -> HookReceipt:
        """Keep a payload, and return when it is on the disk; raises `RequestError` if it cannot be kept.

        `received_ns` says when it came to another machine, and `origin` which one that is, if it did.
        """
        if self.spool is None:
            raise RequestError(503, "cannot_keep", "This server does not accept hook deliveries")
        if delivery_id is None or not is_delivery_id(delivery_id):
            delivery_id = make_delivery_id()
        kept: asyncio.Future[HookReceipt] = asyncio.get_running_loop().create_future()
        at_ns = find_time(delivery_id, time.time_ns() if received_ns is None else received_ns)
        self._waiting.append((Frame(delivery_id, at_ns, payload, origin), kept))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all(self.spool))
        return await kept

    async def _write_all(self, spool: Spool) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._take_batch()
            arrived = [each for each, _ in batch]
            try:
                kept = await loop.run_in_executor(self._thread, _keep, spool, arrived)
            except OSError as error:
                logger.error("hook deliveries cannot be stored: %s", error)
                refusal = RequestError(
                    507, "cannot_keep", "The delivery cannot be stored: writing to disk failed"
                )
                for _, future in batch:
                    if not future.done():
                        future.set_exception(refusal)
                continue
            self._answer(batch, kept)

    def _take_batch(self) -> list[_Waiting]:
        size, count = 0, 0
        for arrived, _ in self._waiting:
            size += len(arrived.payload)
            if count and size > _BATCH_BYTES:
                break
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    def _answer(self, batch: Sequence[_Waiting], kept: _Kept) -> None:
        for arrived, future in batch:
            place: Literal["archive", "aside"] = "aside" if arrived.delivery_id in kept.aside else "archive"
            self.received[place] += 1
            if not future.done():  # who asked may be gone; it is kept all the same
                future.set_result(HookReceipt(delivery_id=arrived.delivery_id, kept=place))
        for delivery in kept.deliveries:
            self._tell(delivery, stored=False)
        if self._importer is not None and kept.deliveries:
            self._importer.wake()

    def _on_imported(self, deliveries: Sequence[HookDelivery]) -> None:
        """Hear from the importer's thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._note_imported, list(deliveries))

    def _note_imported(self, deliveries: Sequence[HookDelivery]) -> None:
        for delivery in deliveries:
            self._tell(delivery, stored=True)
        self.window.note_stored(deliveries)

    def _tell(self, delivery: HookDelivery, *, stored: bool) -> None:
        if delivery.delivery_id in self._known:
            return
        self._known[delivery.delivery_id] = None
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        self.window.add(delivery, stored=stored)
        for listener in self.listeners:
            try:
                listener(delivery)
            except Exception:
                logger.exception("a listener failed at a hook delivery")


def _keep(spool: Spool, arrived: Sequence[Frame]) -> _Kept:
    """Write what arrived to the disk, in one go; raises `OSError`."""
    built = [build_delivery(*astuple(each)) for each in arrived]
    unreadable = [each for each in built if not each.is_readable]
    for each in unreadable:
        spool.write_aside(each.delivery_id, each.payload)
    deliveries = [each for each in built if each.is_readable]
    if deliveries:
        spool.write(deliveries)
    return _Kept(frozenset(each.delivery_id for each in unreadable), deliveries)


GivenHooks = NamedDependency[SkipValidation[HookReceiver]]
"""Parameter `hooks`: what receives hook deliveries."""
