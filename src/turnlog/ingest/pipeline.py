"""A sync: from the files of sessions to what the store has of them.

It plans (what is new at a glance), scans (in other processes if it is much), and writes what the scans gave in
batches, each whole or not at all. It goes on from the last byte that was written, so it can be stopped at any
moment and run again; twice in a row, the second one writes nothing.

Worker processes read files, decode, compress and derive; only the one writer writes. They are given small
sessions in bundles. What comes back are batches as bytes, which are cheaper to hand over than their objects;
those with names that are no UTF-8 as plain values. They come in files: through a pipe all workers would have to
wait for one another, and for the writer.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import uuid4

from msgspec import Struct, convert, msgpack, to_builtins
from msgspec.structs import replace

from turnlog.errors import ArchiveError, StoreError
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.copies import note_copies
from turnlog.ingest.session_scan import (
    CachedSession,
    SessionCache,
    derive_again,
    is_outdated,
    scan_session,
    vanish,
)
from turnlog.ingest.sync_plan import Plan, Task, build_plan, measure
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Archive, KnownSession, Store, find_known
from turnlog.store.model import LOCAL, Scope, StorePlace
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import SessionFiles


def _gather(several: Collection[Any]) -> list[Any]:
    """Return what is made as it is gone through; `list` alone would ask for its length, and make it twice."""
    return list(iter(several))


_encode = msgpack.Encoder(enc_hook=_gather).encode
_decode = msgpack.Decoder(list[SessionBatch | None]).decode
OnProgress = Callable[[int, int], None]
"""Takes how many bytes are done, and how many there are."""

_WORTH_PROCESSES = 64 << 20
"""Below so many new bytes, starting other processes takes longer than the work."""
_LARGE = 32 << 20
"""What comes of a session with more lines is not for handing over, and there is room for one at a time."""
_WORTH_SETTLING = 1 << 20
"""After so many new bytes the store may have something to put in order."""
_GROUP_BYTES, _LIVE_BYTES = 8 << 20, 1 << 20
_GROUP_SECONDS, _LIVE_SECONDS = 0.25, 0.05
"""How much is written at once: less if somebody waits to see what is being written meanwhile."""
_BUNDLE_BYTES, _BUNDLE_TASKS = 1 << 20, 64
"""How much a worker is given at once: so many bytes, or so many sessions that have fewer together."""
_WAIT = 0.02
"""For how many seconds the writer waits for workers before it does something else."""
_AHEAD = 2
"""How many bundles there are for each worker, at least."""
_AHEAD_BYTES = 24 << 20
"""How much they may have together beyond that, so that nobody waits while a group is written."""


class ScanContext(Struct, frozen=True, gc=False):
    """On whose behalf sessions are scanned, and when."""

    owner: str
    origin: str
    now_ns: int


class Scanned(Struct, frozen=True):
    """What a scan of a session gave."""

    task: Task
    batch: SessionBatch | None
    """None if nothing had changed after all."""
    cached: CachedSession | None = None
    """The session as it is when the batch is written; None if it is not to be kept at hand."""


def scan_here(
    tasks: Sequence[Task], store: Store, context: ScanContext, cache: SessionCache | None = None
) -> Iterator[Scanned]:
    """Scan sessions one by one in this process, going on from what is in the `cache` if there is one."""
    for task in tasks:
        # Of many that are new, as in a first sync, hardly any is being written to.
        is_live = cache is not None and (task.known is not None or len(tasks) == 1)
        yield Scanned(task, *_scan_task(task, store.archive, context, cache if is_live else None))


def _scan_task(
    task: Task, archive: Archive, context: ScanContext, cache: SessionCache | None
) -> tuple[SessionBatch | None, CachedSession | None]:
    owner, origin, now_ns = context.owner, context.origin, context.now_ns
    if task.files is not None:
        known = None if cache is None else cache.take(task.known)
        found = scan_session(
            task.files,
            task.known,
            archive,
            known,
            owner=owner,
            origin=origin,
            now_ns=now_ns,
            is_last=cache is None,
        )
        return found.batch, found.cached
    if task.known is None:
        return None, None
    try:
        return derive_again(task.known, archive, owner=owner, origin=origin, now_ns=now_ns), None
    except ArchiveError:  # it stays as it is; `turnlog verify` says what is damaged
        return None, None


def scan_in_processes(
    tasks: Iterable[Task],
    place: StorePlace,
    context: ScanContext,
    workers: int,
    on_wait: Callable[[], object],
) -> Iterator[Scanned]:
    """Scan sessions in several processes; the largest come first, so that none is left alone at the end.

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
                    running[pool.submit(_scan_bundle, bundle, context)] = bundle
                    size += sum(task.size for task in bundle)
                if not running:
                    return
                done, _ = wait(running, _WAIT, FIRST_COMPLETED)
                if not done:
                    on_wait()
                for future in done:
                    yield from map(Scanned, running.pop(future), _unpack(future.result()))
        finally:
            pool.shutdown(cancel_futures=True)


def _bundle(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    bundle: list[Task] = []
    size = 0
    for task in tasks:
        bundle.append(task)
        size += task.size
        if size >= _BUNDLE_BYTES or len(bundle) == _BUNDLE_TASKS:
            yield bundle
            bundle, size = [], 0
    if bundle:
        yield bundle


_store: Store
_folder: Path


def _start_worker(place: StorePlace, folder: Path) -> None:
    global _store, _folder
    _folder = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all; the writer ends the others
    _store = open_store(place, read_only=True)


def _scan_bundle(tasks: list[Task], context: ScanContext) -> Any:
    batches = [scanned.batch for scanned in scan_here(tasks, _store, context)]
    try:
        data = _encode(batches)
    except UnicodeEncodeError:  # names of files that are not UTF-8
        return to_builtins(batches, builtin_types=(bytes,), enc_hook=_gather)
    path = _folder / uuid4().hex
    try:
        path.write_bytes(data)
    except OSError:  # without room for a file they go through the pipe
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return data
    return path


def _unpack(found: Any) -> list[SessionBatch | None]:
    if isinstance(found, Path):
        path, found = found, found.read_bytes()
        path.unlink()
    return _decode(found) if isinstance(found, bytes) else convert(found, list[SessionBatch | None])


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sync(
    store: Store,
    place: StorePlace,
    sessions: Iterable[SessionFiles],
    *,
    origin: str,
    within: Iterable[Path] = (),
    scope: Scope = LOCAL,
    known: Iterable[KnownSession] | None = None,
    forgotten: Collection[str] = (),
    workers: int | None = None,
    on_progress: OnProgress | None = None,
    cache: SessionCache | None = None,
) -> SyncReport:
    """Bring the store at `place` up to date with some sessions, and return what was done.

    Known sessions in the folders `within` that are not among them are gone: they are marked, and kept. Whoever
    knows which known sessions these may be gives them as `known`; else the store is asked for all. Known
    sessions whose rows follow older rules are derived again from the archive.
    Sessions that were `forgotten` (`list_forgotten`) are left out. What is in the `cache` is used, and kept up.
    """
    started = time.monotonic()
    known = store.list_known(scope) if known is None else known
    plan = build_plan(sessions, known, origin, within, forgotten)
    context = ScanContext(scope.owner, origin, time.time_ns())
    outside = sum(task.files is not None for task in plan.tasks)
    report = SyncReport(sessions=outside + plan.unchanged, unchanged=plan.unchanged)
    done = 0

    def tell() -> None:
        if on_progress is not None:
            on_progress(done, plan.size)

    scans = _scan_all(plan, store, place, context, workers, cache, tell)
    for group in _group(scans, is_live=cache is not None):
        written = _write(store, group, context, cache)
        report = _add(report, group, written)
        done += sum(scanned.task.size for scanned in group)
        tell()
    if plan.gone:
        store.apply([vanish(session, context.owner, context.origin, context.now_ns) for session in plan.gone])
    if report.bytes >= _WORTH_SETTLING or report.rederived:
        store.maintain(between=tell)
    return replace(report, gone=len(plan.gone), seconds=time.monotonic() - started)


def _scan_all(
    plan: Plan,
    store: Store,
    place: StorePlace,
    context: ScanContext,
    workers: int | None,
    cache: SessionCache | None,
    on_wait: Callable[[], object],
) -> Iterator[Scanned]:
    count = min(count_cores() if workers is None else workers, len(plan.tasks))
    if count < 2 or (workers is None and plan.size < _WORTH_PROCESSES):
        return scan_here(plan.tasks, store, context, cache)
    large = [task for task in plan.tasks if task.weight > _LARGE]
    small = [task for task in plan.tasks if task.weight <= _LARGE]
    return chain(
        scan_in_processes(small, place, context, count, on_wait), scan_here(large, store, context, cache)
    )


def _group(scans: Iterable[Scanned], *, is_live: bool) -> Iterator[list[Scanned]]:
    """Put scans together until there is enough to write, or time enough has passed."""
    most_bytes, most_seconds = (_LIVE_BYTES, _LIVE_SECONDS) if is_live else (_GROUP_BYTES, _GROUP_SECONDS)
    group: list[Scanned] = []
    size, started = 0, time.monotonic()
    for scanned in scans:
        group.append(scanned)
        size += scanned.task.size
        if size >= most_bytes or time.monotonic() - started >= most_seconds:
            yield group
            group, size, started = [], 0, time.monotonic()
    if group:
        yield group


def _write(
    store: Store, scans: list[Scanned], context: ScanContext, cache: SessionCache | None
) -> list[SessionBatch]:
    """Write what some scans gave, one by one if another writer was faster at one of them."""
    batches = [scanned.batch for scanned in scans if scanned.batch is not None]
    try:
        store.apply(note_copies(store, batches))
    except StoreError:
        if len(scans) > 1:
            return [batch for scanned in scans for batch in _write(store, [scanned], context, cache)]
        written = [
            _write_again(store, scanned.task, scanned.batch, context) for scanned in scans if scanned.batch
        ]
        return [batch for batch in written if batch is not None]
    if cache is not None:
        for scanned in scans:
            cache.put(scanned.cached)
    return batches


def _write_again(store: Store, task: Task, former: SessionBatch, context: ScanContext) -> SessionBatch | None:
    """Scan one session again, on top of what another writer has made of it, and write that."""
    known = find_known(store, Scope(context.owner), former.key)
    if task.files is None:
        if known is None or not is_outdated(known):
            return None
    elif measure(task.files, known) is None:
        return None
    [scanned] = scan_here([Task(task.files, known, task.size)], store, context)
    if scanned.batch is not None:
        store.apply(note_copies(store, [scanned.batch]))
    return scanned.batch


def _add(report: SyncReport, group: list[Scanned], written: list[SessionBatch]) -> SyncReport:
    known = {scanned.task.known.key for scanned in group if scanned.task.known is not None}
    added = sum(batch.key not in known for batch in written)
    rederived = sum(_is_retold(batch) for batch in written if batch.key in known)
    inside = {scanned.task.known.key for scanned in group if scanned.task.known and scanned.task.files is None}
    unchanged = len(group) - len(inside) - sum(batch.key not in inside for batch in written)
    sources = [source for batch in written for source in batch.sources]
    return replace(
        report,
        added=report.added + added,
        changed=report.changed + len(written) - added - rederived,
        unchanged=report.unchanged + unchanged,
        rederived=report.rederived + rederived,
        bytes=report.bytes + sum(frame.length for source in sources for frame in source.frames),
        lines=report.lines + sum(source.lines for source in sources),
    )


def _is_retold(batch: SessionBatch) -> bool:
    """Tell whether a batch has nothing that is new of any file."""
    return all(source.texts_from == 0 and not source.frames for source in batch.sources)
