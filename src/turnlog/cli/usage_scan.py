"""Reading the usage of many files: in as many processes as there are cores, if it is much."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.cli.failures import explain
from turnlog.transcripts.files.session_files import path_text
from turnlog.transcripts.usage.scanning import Scan, scan_file

_WORTH_PROCESSES = 24 << 20
"""Below so many bytes, starting another process takes longer than the work."""
_PIECE = 1 << 20
_MOST_SHARES = 8 << 10
"""So many numbers a pipe can hold."""
_NUMBER = 4
_TOLD = 16
"""Of so many files at once a process tells what is in them, so that it is added up while others are read."""


class ScannedFile(Struct, frozen=True, gc=False, array_like=True):
    """What became of one file."""

    number: int
    scan: Scan | None
    problem: str = ""
    """Why it could not be read."""


_decode = msgspec.msgpack.Decoder(list[ScannedFile]).decode
_encode = msgspec.msgpack.Encoder().encode


Showing = AbstractContextManager[Callable[[int, int], None]]
"""Shows how far the work has come, which is told in parts and wholes."""


def show_nothing() -> Showing:
    """Show nothing."""
    return nullcontext(lambda _, __: None)


def scan_files(
    paths: Sequence[Path],
    sizes: Sequence[int],
    workers: int | None = None,
    show: Callable[[], Showing] = show_nothing,
) -> Iterator[ScannedFile]:
    """Yield what each file says, in no order; `show` is entered while they are read."""
    order = sorted(range(len(paths)), key=lambda number: -sizes[number])
    count = _count_workers(sum(sizes)) if workers is None else workers
    buffer = bytearray()
    if min(count, len(paths)) <= 1:
        with show() as progress:
            for done, number in enumerate(order):
                progress(done, len(order))
                yield _scan(paths, number, buffer)
        return
    queue, shares = _queue_up(order)
    # First, since another process must not be started while threads run, as those that show progress.
    children = [_start(paths, queue, shares) for _ in range(min(count, len(paths)) - 1)]
    left = set(order)
    with show() as progress:
        for share in _take_shares(queue):
            progress(share, len(shares))
            for number in shares[share]:
                left.remove(number)
                yield _scan(paths, number, buffer)
            for told in chain.from_iterable(child.receive() for child in children):
                left.remove(told.number)
                yield told
        os.close(queue)
        for told in chain.from_iterable(child.finish() for child in children):
            left.remove(told.number)
            yield told
        # A process that ended early is no reason to count less.
        for number in sorted(left):
            yield _scan(paths, number, buffer)


def _scan(paths: Sequence[Path], number: int, buffer: bytearray) -> ScannedFile:
    path = paths[number]
    try:
        scan = scan_file(os.fspath(path), path_text(path), buffer)
        if scan is None:
            from turnlog.transcripts.usage.reading import read_usage

            scan = read_usage(path, path_text(path))
    except OSError as error:
        return ScannedFile(number, None, explain(error))
    return ScannedFile(number, scan)


def _count_workers(size: int) -> int:
    if size < _WORTH_PROCESSES or not hasattr(os, "fork"):
        return 1
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)


def _queue_up(order: Sequence[int]) -> tuple[int, list[Sequence[int]]]:
    """Return a pipe from which processes take the numbers of shares, and the shares, the largest files first.

    So whoever is done early goes on, and nobody waits at the end for more than a small file.
    """
    count = min(len(order), _MOST_SHARES)
    queue, numbers = os.pipe()
    os.write(numbers, b"".join(share.to_bytes(_NUMBER, "little") for share in range(count)))
    os.close(numbers)
    return queue, [order[share::count] for share in range(count)]


def _take_shares(queue: int) -> Iterator[int]:
    """Yield numbers of shares that no other process has taken."""
    while taken := os.read(queue, _NUMBER):
        yield int.from_bytes(taken, "little")


class _Child:
    """A process that reads files, and what it has told of them so far."""

    def __init__(self, process: int, pipe: int) -> None:
        self._process = process
        self._pipe = pipe
        self._data = bytearray()
        os.set_blocking(pipe, False)

    def receive(self) -> Iterator[ScannedFile]:
        """Yield what has been told since, without waiting."""
        with suppress(BlockingIOError):
            while piece := os.read(self._pipe, _PIECE):
                self._data += piece
        while len(self._data) > _NUMBER:
            end = _NUMBER + int.from_bytes(self._data[:_NUMBER], "little")
            if len(self._data) < end:
                break
            yield from _decode(self._data[_NUMBER:end])
            del self._data[:end]

    def finish(self) -> Iterator[ScannedFile]:
        """Yield the rest; nothing of what it did not get to."""
        os.set_blocking(self._pipe, True)
        yield from self.receive()
        os.close(self._pipe)
        os.waitpid(self._process, 0)


def _start(paths: Sequence[Path], queue: int, shares: Sequence[Sequence[int]]) -> _Child:
    """Begin to read files in another process."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process:
        os.close(theirs)
        return _Child(process, ours)
    status = 1
    try:
        os.close(ours)
        buffer, told = bytearray(), bytearray()
        done: list[ScannedFile] = []
        os.set_blocking(theirs, False)
        for share in _take_shares(queue):
            done += (_scan(paths, number, buffer) for number in shares[share])
            if len(done) >= _TOLD:
                told += _frame(done)
                done = []
                with suppress(BlockingIOError):  # whoever reads it may be busy, which is no reason to wait
                    del told[: os.write(theirs, told)]
        os.set_blocking(theirs, True)
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(told + _frame(done))
        status = 0
    finally:
        os._exit(status)  # nothing of what the parent has begun is ours to end


def _frame(done: list[ScannedFile]) -> bytes:
    data = _encode(done)
    return len(data).to_bytes(_NUMBER, "little") + data
