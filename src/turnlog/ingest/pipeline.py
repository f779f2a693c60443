"""A sync: from the files of sessions to what the store has of them.

It plans (what is new at a glance), scans (in other processes if it is much), and writes what the scans gave in
batches, each whole or not at all. It goes on from the last byte that was written, so it can be stopped at any
moment and run again; twice in a row, the second one writes nothing.

Worker processes read files, decode, compress, derive and index; only the one writer writes. They are given
sessions in bundles. What comes back are batches as bytes, which are cheaper to hand over than their objects;
those with names that are no UTF-8 as plain values. With them comes a shard of the index that has their texts,
where the store takes those (`Sharding`). They come in files: through a pipe all workers would have to wait for
one another, and for the writer.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import uuid4

from msgspec import Struct, convert, msgpack, to_builtins
from msgspec.structs import replace

from turnlog.errors import ArchiveError, StoreError
from turnlog.ingest.change_check import SyncReport, is_outdated
from turnlog.ingest.copies import mark_copies
from turnlog.ingest.session_scan import CachedSession, SessionCache, derive_again, scan_session, vanish
from turnlog.ingest.sync_plan import Plan, Task, build_plan, measure
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Archive, KnownSession, Store, find_known
from turnlog.store.model import LOCAL, Scope, ServerPlace, StorePlace
from turnlog.store.opening import open_sharding, open_store
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
_LARGE, _HUGE = 32 << 20, 128 << 20
"""There is room for one session with more lines at a time; what comes of still more is not for handing over."""
_WORTH_SETTLING = 1 << 20
"""After so many new bytes the store may have something to put in order."""
_GROUP_BYTES, _LIVE_BYTES = 8 << 20, 1 << 20
_GROUP_SECONDS, _LIVE_SECONDS = 0.25, 0.05
"""How much is written at once: less if somebody waits to see what is being written meanwhile."""
_BUNDLE_BYTES, _BUNDLE_TASKS = 2 << 20, 64
"""How much a worker is given at once: so many bytes, or so many sessions that have fewer together."""
_LEAST_BYTES, _BUNDLES_LEFT = 256 << 10, 4
"""Less towards the end, when there are not so many bundles left for each worker, so that none works alone."""
_BYTES_PER_CELL = 256
"""More than so many texts for what is read are indexed by the writer, which nobody has seen."""
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


Bundle = list[Scanned]
"""What is written together: the texts of all may be in a shard that one of the batches has."""


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
    most_bytes: int = _BUNDLE_BYTES,
) -> Iterator[Bundle]:
    """Scan sessions in several processes; the largest come first, so that none is left alone at the end.

    `on_wait` is called now and then while there is nothing to be had.
    """
    waiting = sorted(tasks, key=lambda task: task.size)
    large = [task for task in waiting if task.weight > _LARGE]
    small = [task for task in waiting if task.weight <= _LARGE]
    left = sum(task.size for task in waiting)
    running: dict[Future[Any], list[Task]] = {}
    spawning = get_context("spawn")  # a forked process would inherit the writer's connection
    sharding = open_sharding(place)
    numbers = range(0) if sharding is None else sharding.reserve(left // _BYTES_PER_CELL)
    following = spawning.Value("q", numbers.start)
    with tempfile.TemporaryDirectory(prefix="turnlog-", ignore_cleanup_errors=True) as folder:
        initial = place, Path(folder), numbers.stop, following
        pool = ProcessPoolExecutor(workers, spawning, _start_worker, initial)
        try:
            while True:
                size = sum(task.size for bundle in running.values() for task in bundle)
                while len(running) < workers * _AHEAD or size < _AHEAD_BYTES:
                    is_large = any(bundle[0].weight > _LARGE for bundle in running.values())
                    wanted = min(left // (workers * _BUNDLES_LEFT), most_bytes)
                    bundle = _take_bundle(small, [] if is_large else large, max(wanted, _LEAST_BYTES))
                    if not bundle:
                        break
                    running[pool.submit(_scan_bundle, bundle, context)] = bundle
                    taken = sum(task.size for task in bundle)
                    size, left = size + taken, left - taken
                if not running:
                    return
                done, _ = wait(running, _WAIT, FIRST_COMPLETED)
                if not done:
                    on_wait()
                for future in done:
                    yield [*map(Scanned, running.pop(future), _unpack(future.result()))]
        finally:
            pool.shutdown(cancel_futures=True)
            if sharding is not None:
                sharding.release(numbers, following.value - numbers.start)
                sharding.close()


def _take_bundle(small: list[Task], large: list[Task], size: int) -> list[Task]:
    """Take the next tasks for a worker: a large one, or small ones of so many bytes."""
    if large:
        return [large.pop()]
    bundle: list[Task] = []
    while small and size > 0 and len(bundle) < _BUNDLE_TASKS:
        bundle.append(small.pop())
        size -= bundle[-1].size
    return bundle


class _Worker:
    """What a worker process has at hand."""

    def __init__(self, place: StorePlace, folder: Path, end: int, following: Any) -> None:
        self._store = open_store(place, read_only=True)
        self._sharding = open_sharding(place)
        self._folder = folder
        self._end, self._following = end, following

    def scan(self, tasks: list[Task], context: ScanContext) -> Any:
        """Scan sessions, and return what there is of them, or the file that it is in."""
        batches = (scanned.batch for scanned in scan_here(tasks, self._store, context))
        found = [*batches] if self._sharding is None else self._sharding.build(batches, self._allot)
        try:
            data = _encode(found)
        except UnicodeEncodeError:  # names of files that are not UTF-8
            return to_builtins(found, builtin_types=(bytes,), enc_hook=_gather)
        path = self._folder / uuid4().hex
        try:
            path.write_bytes(data)
        except OSError:  # without room for a file they go through the pipe
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return data
        return path

    def _allot(self, cells: int) -> int | None:
        """Return the first of so many numbers that no other worker has; None if there are no more."""
        with self._following.get_lock():
            first: int = self._following.value
            if first + cells > self._end:
                return None
            self._following.value += cells
            return first


_worker: _Worker


def _start_worker(*given: Any) -> None:
    global _worker
    # Little of what a scan makes is in cycles: looking for those at the usual pace takes a tenth of its time.
    gc.set_threshold(50_000)
    if hasattr(os, "nice"):  # the writer, for whom others may be waiting, comes first
        os.nice(5)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all; the writer ends the others
    _worker = _Worker(*given)


def _scan_bundle(tasks: list[Task], context: ScanContext) -> Any:
    return _worker.scan(tasks, context)


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
    settles_later: bool = False,
) -> SyncReport:
    """Bring the store at `place` up to date with some sessions, and return what was done.

    Known sessions in the folders `within` that are not among them are gone: they are marked, and kept. Whoever
    knows which known sessions these may be gives them as `known`; else the store is asked for all. Known
    sessions whose rows follow older rules are derived again from the archive.
    Sessions that were `forgotten` (`list_forgotten`) are left out. What is in the `cache` is used, and kept up.
    After much was written the store is put in order: before this returns, or later, in the background.
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

    bundles = _scan_all(plan, store, place, context, workers, cache, tell)
    for group in _group(bundles, is_live=cache is not None):
        written = _write(store, group, context, cache)
        report = _add(report, group, written)
        done += sum(scanned.task.size for scanned in group)
        tell()
    if plan.gone:
        store.apply([vanish(session, context.owner, context.origin, context.now_ns) for session in plan.gone])
    is_later = settles_later and report.bytes >= _WORTH_PROCESSES and settle_later(place) is not None
    if not is_later and (report.bytes >= _WORTH_SETTLING or report.rederived):
        store.maintain(between=tell)
    return replace(report, gone=len(plan.gone), seconds=time.monotonic() - started)


def settle_later(place: StorePlace) -> subprocess.Popen[bytes] | None:
    """Put the store at a place in order in a process of its own, which goes on when this one has ended.

    Whatever ends it, the store is as good as before, and the next one goes on from there. Return None where
    there is no way to do that.
    """
    if isinstance(place, ServerPlace):
        return None
    nothing = subprocess.DEVNULL
    with suppress(OSError):
        return subprocess.Popen(
            [sys.executable, "-c", _SETTLE, place.absolute()],
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )
    return None


_SETTLE = """
import sys
from contextlib import closing
from pathlib import Path
from turnlog.store.opening import open_store
with closing(open_store(Path(sys.argv[1]))) as store:
    store.maintain()
"""


def _scan_all(
    plan: Plan,
    store: Store,
    place: StorePlace,
    context: ScanContext,
    workers: int | None,
    cache: SessionCache | None,
    on_wait: Callable[[], object],
) -> Iterator[Bundle]:
    count = min(count_cores() if workers is None else workers, len(plan.tasks))
    here, elsewhere = plan.tasks, tuple[Task, ...]()
    if count > 1 and (workers is not None or plan.size >= _WORTH_PROCESSES):
        here = tuple(task for task in plan.tasks if task.weight > _HUGE)
        elsewhere = tuple(task for task in plan.tasks if task.weight <= _HUGE)
    if elsewhere:
        most_bytes = _BUNDLE_BYTES if cache is None else _LIVE_BYTES
        yield from scan_in_processes(elsewhere, place, context, count, on_wait, most_bytes)
    yield from ([scanned] for scanned in scan_here(here, store, context, cache))


def _group(bundles: Iterable[Bundle], *, is_live: bool) -> Iterator[Bundle]:
    """Put bundles together until there is enough to write, or time enough has passed."""
    most_bytes, most_seconds = (_LIVE_BYTES, _LIVE_SECONDS) if is_live else (_GROUP_BYTES, _GROUP_SECONDS)
    group: Bundle = []
    size, started = 0, time.monotonic()
    for bundle in bundles:
        group += bundle
        size += sum(scanned.task.size for scanned in bundle)
        if size >= most_bytes or time.monotonic() - started >= most_seconds:
            yield group
            group, size, started = [], 0, time.monotonic()
    if group:
        yield group


def _write(store: Store, scans: Bundle, context: ScanContext, cache: SessionCache | None) -> list[SessionBatch]:
    """Write what some scans gave; if another writer was faster at one of them, scan them again one by one."""
    batches = [scanned.batch for scanned in scans if scanned.batch is not None]
    try:
        store.apply(mark_copies(store, batches))
    except StoreError:
        again = (_write_again(store, each.task, each.batch, context) for each in scans if each.batch)
        return [batch for batch in again if batch is not None]
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
        store.apply(mark_copies(store, [scanned.batch]))
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
