"""Keeping up: from the files of sessions to what the store has of them.

A sync plans (what is new at a glance), looks (in other processes if it is much), and writes what the looks
gave in batches, each whole or not at all. It goes on from the last byte that was written, so it can be stopped
at any moment and run again; twice in a row, the second one writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.ingest.copies import note_copies
from turnlog.ingest.glance import SyncReport
from turnlog.ingest.hot import HotSessions
from turnlog.ingest.looks import is_outdated, vanish
from turnlog.ingest.planning import Plan, Task, build_plan, measure
from turnlog.ingest.workers import Asker, Looked, count_cores, look_here, look_in_processes
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import KnownSession, Store, find_known
from turnlog.store.model import LOCAL, Scope
from turnlog.store.places import StorePlace
from turnlog.transcripts.files.session_files import SessionFiles

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
    hot: HotSessions | None = None,
) -> SyncReport:
    """Bring the store at `place` up to date with some sessions, and return what was done.

    Known sessions in the folders `within` that are not among them are gone: they are marked, and kept. Whoever
    knows which known sessions these may be gives them as `known`; else the store is asked for all. Known
    sessions whose rows follow older rules are derived again from the archive.
    Sessions that were `forgotten` (`list_forgotten`) are left out. What is `hot` is used, and kept up.
    """
    started = time.monotonic()
    known = store.list_known(scope) if known is None else known
    plan = build_plan(sessions, known, origin, within, forgotten)
    asker = Asker(scope.owner, origin, time.time_ns())
    outside = sum(task.files is not None for task in plan.tasks)
    report = SyncReport(sessions=outside + plan.unchanged, unchanged=plan.unchanged)
    done = 0

    def tell() -> None:
        if on_progress is not None:
            on_progress(done, plan.size)

    tell()
    for group in _group(_look(plan, store, place, asker, workers, hot, tell), is_live=hot is not None):
        written = _write(store, group, asker, hot)
        report = _add(report, group, written)
        done += sum(looked.task.size for looked in group)
        tell()
    if plan.gone:
        store.apply([vanish(session, asker.owner, asker.origin, asker.now_ns) for session in plan.gone])
    if report.bytes >= _WORTH_SETTLING or report.rederived:
        store.maintain(between=tell)
    return replace(report, gone=len(plan.gone), seconds=time.monotonic() - started)


def _look(
    plan: Plan,
    store: Store,
    place: StorePlace,
    asker: Asker,
    workers: int | None,
    hot: HotSessions | None,
    on_wait: Callable[[], object],
) -> Iterator[Looked]:
    count = min(count_cores() if workers is None else workers, len(plan.tasks))
    if count < 2 or (workers is None and plan.size < _WORTH_PROCESSES):
        return look_here(plan.tasks, store, asker, hot)
    large = [task for task in plan.tasks if task.weight > _LARGE]
    small = [task for task in plan.tasks if task.weight <= _LARGE]
    return chain(look_in_processes(small, place, asker, count, on_wait), look_here(large, store, asker, hot))


def _group(looks: Iterable[Looked], *, is_live: bool) -> Iterator[list[Looked]]:
    """Put looks together until there is enough to write, or time enough has passed."""
    most_bytes, most_seconds = (_LIVE_BYTES, _LIVE_SECONDS) if is_live else (_GROUP_BYTES, _GROUP_SECONDS)
    group: list[Looked] = []
    size, started = 0, time.monotonic()
    for looked in looks:
        group.append(looked)
        size += looked.task.size
        if size >= most_bytes or time.monotonic() - started >= most_seconds:
            yield group
            group, size, started = [], 0, time.monotonic()
    if group:
        yield group


def _write(store: Store, looks: list[Looked], asker: Asker, hot: HotSessions | None) -> list[SessionBatch]:
    """Write what some looks gave, one by one if another writer was faster at one of them."""
    batches = [looked.batch for looked in looks if looked.batch is not None]
    try:
        store.apply(note_copies(store, batches))
    except StoreError:
        if len(looks) > 1:
            return [batch for looked in looks for batch in _write(store, [looked], asker, hot)]
        written = [_write_again(store, looked.task, looked.batch, asker) for looked in looks if looked.batch]
        return [batch for batch in written if batch is not None]
    if hot is not None:
        for looked in looks:
            hot.put(looked.hot)
    return batches


def _write_again(store: Store, task: Task, former: SessionBatch, asker: Asker) -> SessionBatch | None:
    """Look at one session again, on top of what another writer has made of it, and write that."""
    known = find_known(store, Scope(asker.owner), former.key)
    if task.files is None:
        if known is None or not is_outdated(known):
            return None
    elif measure(task.files, known) is None:
        return None
    [looked] = look_here([Task(task.files, known, task.size)], store, asker)
    if looked.batch is not None:
        store.apply(note_copies(store, [looked.batch]))
    return looked.batch


def _add(report: SyncReport, group: list[Looked], written: list[SessionBatch]) -> SyncReport:
    known = {looked.task.known.key for looked in group if looked.task.known is not None}
    added = sum(batch.key not in known for batch in written)
    rederived = sum(_is_retold(batch) for batch in written if batch.key in known)
    inside = {looked.task.known.key for looked in group if looked.task.known and looked.task.files is None}
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
