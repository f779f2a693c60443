"""Looking at sessions in other processes, so that all cores are at work.

A worker reads files, decodes, compresses and derives; only the one writer writes. What comes back is a batch as
bytes, which is cheaper to hand over than its objects; one with names that are no UTF-8 as plain values. A large
one comes in a file: through a pipe all workers would have to wait for one another, and for the writer.
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

__all__ = ["Asker", "Looked", "count_cores", "look_here", "look_in_processes"]


def _gather(several: Collection[Any]) -> list[Any]:
    """Return what is made as it is gone through; `list` alone would ask for its length, and make it twice."""
    return list(iter(several))


_encode = msgpack.Encoder(enc_hook=_gather).encode
_decode = msgpack.Decoder(SessionBatch).decode
_AHEAD = 2
"""How many tasks there are for each worker, at least."""
_AHEAD_BYTES = 24 << 20
"""How much they may have together beyond that, so that nobody waits while a group is written."""
_PIPED = 32 << 10
"""What a pipe holds without anybody reading it."""


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


def look_in_processes(tasks: Iterable[Task], place: StorePlace, asker: Asker, workers: int) -> Iterator[Looked]:
    """Look at sessions in several processes; the largest come first, so that none is left alone at the end."""
    waiting = iter(sorted(tasks, key=lambda task: -task.size))
    running: dict[Future[Any], Task] = {}
    with tempfile.TemporaryDirectory(prefix="turnlog-", ignore_cleanup_errors=True) as folder:
        # A forked process would inherit the writer's connection.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (place, Path(folder)))
        try:
            _fill(pool, waiting, running, asker, workers * _AHEAD)
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    task, found = running.pop(future), future.result()
                    yield Looked(task, None if found is None else _unpack(found))
                _fill(pool, waiting, running, asker, workers * _AHEAD)
        finally:
            pool.shutdown(cancel_futures=True)


def _fill(
    pool: ProcessPoolExecutor,
    waiting: Iterator[Task],
    running: dict[Future[Any], Task],
    asker: Asker,
    most: int,
) -> None:
    size = sum(task.size for task in running.values())
    while (len(running) < most or size < _AHEAD_BYTES) and (task := next(waiting, None)) is not None:
        running[pool.submit(_look, task, asker)] = task
        size += task.size


_find_store: Callable[[], Store]
_folder: Path


def _start_worker(place: StorePlace, folder: Path) -> None:
    global _find_store, _folder
    _folder = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all; the writer ends the others
    store = open_store(place, read_only=True)
    _find_store = lambda: store  # noqa: E731


def _look(task: Task, asker: Asker) -> Any:
    [looked] = look_here([task], _find_store(), asker)
    if looked.batch is None:
        return None
    try:
        data = _encode(looked.batch)
    except UnicodeEncodeError:  # names of files that are not UTF-8
        return to_builtins(looked.batch, builtin_types=(bytes,), enc_hook=_gather)
    if len(data) > _PIPED:
        with suppress(OSError):  # without room for a file it goes through the pipe
            with tempfile.NamedTemporaryFile(dir=_folder, delete=False) as file:
                file.write(data)
            return Path(file.name)
    return data


def _unpack(found: Any) -> SessionBatch:
    if isinstance(found, Path):
        path, found = found, found.read_bytes()
        path.unlink()
    return _decode(found) if isinstance(found, bytes) else convert(found, SessionBatch)


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
