"""Looking at sessions in other processes, so that all cores are at work.

A worker reads files, decodes, compresses and derives; only the one writer writes. It is given small sessions in
bundles. What comes back are batches as bytes, which are cheaper to hand over than their objects; those with
names that are no UTF-8 as plain values. They come in files: through a pipe all workers would have to wait for
one another, and for the writer.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, msgpack, to_builtins

from turnlog.errors import ArchiveError
from turnlog.ingest.hot import HotSession, HotSessions
from turnlog.ingest.looks import derive_again, look_on
from turnlog.ingest.planning import Task
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Archive, Store
from turnlog.store.opening import open_store
from turnlog.store.places import StorePlace


def _gather(several: Collection[Any]) -> list[Any]:
    """Return what is made as it is gone through; `list` alone would ask for its length, and make it twice."""
    return list(iter(several))


_encode = msgpack.Encoder(enc_hook=_gather).encode
_decode = msgpack.Decoder(list[SessionBatch | None]).decode
_BUNDLE = 1 << 20
"""How many bytes are looked at in one go, at least."""
_WAIT = 0.02
"""Seconds."""
_AHEAD = 2
"""How many bundles there are for each worker, at least."""
_AHEAD_BYTES = 24 << 20
"""How much they may have together beyond that, so that nobody waits while a group is written."""


class Asker(Struct, frozen=True, gc=False):
    """On whose behalf sessions are looked at."""

    owner: str
    origin: str
    now_ns: int


class Looked(Struct, frozen=True):
    """What a look at a session gave."""

    task: Task
    batch: SessionBatch | None
    """None if nothing had changed after all."""
    hot: HotSession | None = None
    """The session as it is when the batch is written; None if it is not to be kept at hand."""


def look_here(
    tasks: Sequence[Task], store: Store, asker: Asker, hot: HotSessions | None = None
) -> Iterator[Looked]:
    """Look at sessions one by one in this process; go on from what is `hot`, if anything may be kept so."""
    for task in tasks:
        # Of many that are new, as in a first sync, hardly any is being written to.
        is_live = hot is not None and (task.known is not None or len(tasks) == 1)
        yield Looked(task, *_look_at(task, store.archive, asker, hot if is_live else None))


def _look_at(
    task: Task, archive: Archive, asker: Asker, hot: HotSessions | None
) -> tuple[SessionBatch | None, HotSession | None]:
    owner, origin, now_ns = asker.owner, asker.origin, asker.now_ns
    if task.files is not None:
        known = None if hot is None else hot.take(task.known)
        found = look_on(
            task.files,
            task.known,
            archive,
            known,
            owner=owner,
            origin=origin,
            now_ns=now_ns,
            is_last=hot is None,
        )
        return found.batch, found.hot
    if task.known is None:
        return None, None
    try:
        return derive_again(task.known, archive, owner=owner, origin=origin, now_ns=now_ns), None
    except ArchiveError:  # it stays as it is; `turnlog verify` says what is damaged
        return None, None


def look_in_processes(
    tasks: Iterable[Task], place: StorePlace, asker: Asker, workers: int, on_wait: Callable[[], object]
) -> Iterator[Looked]:
    """Look at sessions in several processes; the largest come first, so that none is left alone at the end.

    `on_wait` is called now and then while there is nothing to be had.
    """
    waiting = _bundle(sorted(tasks, key=lambda task: -task.size))
    running: dict[Future[Any], list[Task]] = {}
    with tempfile.TemporaryDirectory(prefix="turnlog-", ignore_cleanup_errors=True) as folder:
        # A forked process would inherit the writer's connection.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (place, Path(folder)))
        try:
            while True:
                size = sum(task.size for bundle in running.values() for task in bundle)
                while len(running) < workers * _AHEAD or size < _AHEAD_BYTES:
                    bundle = next(waiting, None)
                    if bundle is None:
                        break
                    running[pool.submit(_look, bundle, asker)] = bundle
                    size += sum(task.size for task in bundle)
                if not running:
                    return
                done, _ = wait(running, _WAIT, FIRST_COMPLETED)
                if not done:
                    on_wait()
                for future in done:
                    yield from map(Looked, running.pop(future), _unpack(future.result()))
        finally:
            pool.shutdown(cancel_futures=True)


def _bundle(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    bundle: list[Task] = []
    size = 0
    for task in tasks:
        bundle.append(task)
        size += task.size
        if size >= _BUNDLE:
            yield bundle
            bundle, size = [], 0
    if bundle:
        yield bundle


_find_store: Callable[[], Store]
_folder: Path


def _start_worker(place: StorePlace, folder: Path) -> None:
    global _find_store, _folder
    _folder = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all; the writer ends the others
    store = open_store(place, read_only=True)
    _find_store = lambda: store  # noqa: E731


def _look(tasks: list[Task], asker: Asker) -> Any:
    batches = [looked.batch for looked in look_here(tasks, _find_store(), asker)]
    try:
        data = _encode(batches)
    except UnicodeEncodeError:  # names of files that are not UTF-8
        return to_builtins(batches, builtin_types=(bytes,), enc_hook=_gather)
    with suppress(OSError):  # without room for a file they go through the pipe
        with tempfile.NamedTemporaryFile(dir=_folder, delete=False) as file:
            file.write(data)
        return Path(file.name)
    return data


def _unpack(found: Any) -> list[SessionBatch | None]:
    if isinstance(found, Path):
        path, found = found, found.read_bytes()
        path.unlink()
    return _decode(found) if isinstance(found, bytes) else convert(found, list[SessionBatch | None])


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
