"""Saying that something takes its time: on a terminal, and only after a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, TypeVar

from turnlog.cli.terminal import shorten

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""How many seconds pass before anything is shown."""

_Item = TypeVar("_Item")


@contextmanager
def waiting(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show that work goes on; whoever does it may say how much is done, and of how much."""
    with _shown_late(label, None) as progress:

        def report(done: int, total: int) -> None:
            if progress is not None:
                progress.update(progress.task_ids[0], completed=done, total=total)

        yield report


def track(items: Iterable[_Item], label: str, total: int) -> Iterator[_Item]:
    """Give out items, and show how many of them are done."""
    with _shown_late(label, total if total > 1 else None) as progress:
        for item in items:
            yield item
            if progress is not None:
                progress.advance(progress.task_ids[0])


@contextmanager
def _shown_late(label: str, total: int | None) -> Iterator[Progress | None]:
    """Show progress after a while; there is none where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    # A timer starts it: the work itself need not look at the clock.
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True, markup=False, emoji=False), transient=True)
    progress.add_task(shorten(label, 60), total=total)
    turn = Lock()
    timer = Timer(PATIENCE, _start, (progress, turn))
    timer.daemon = True
    timer.start()
    try:
        yield progress
    finally:
        timer.cancel()
        if not turn.acquire(blocking=False):
            timer.join()
            progress.stop()


def _start(progress: Progress, turn: Lock) -> None:
    if turn.acquire(blocking=False):  # else the work was done in the very moment
        progress.start()
