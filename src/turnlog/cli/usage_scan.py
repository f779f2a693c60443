"""Reading the usage of many files: in as many processes as there are cores, if it is much."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.cli.failures import explain
from turnlog.cli.files import path_text
from turnlog.transcripts.usage.scanning import Scan, scan_file

__all__ = ["ScannedFile", "Showing", "scan_files"]

_WORTH_PROCESSES = 24 << 20
"""Below so many bytes, starting another process takes longer than the work."""
_PIECE = 1 << 20
_MOST_SHARES = 8 << 10
"""So many numbers a pipe can hold."""
_NUMBER = 4


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


def _show_nothing() -> Showing:
    return nullcontext(lambda _, __: None)


def scan_files(
    paths: Sequence[Path], workers: int | None = None, show: Callable[[], Showing] = _show_nothing
) -> Iterator[ScannedFile]:
    """Yield what each file says, in no order; `show` is entered while they are read."""
    sizes = [_size_of(path) for path in paths]
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
        os.close(queue)
        for child in children:
            for told in _collect(child):
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


def _size_of(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


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


def _start(paths: Sequence[Path], queue: int, shares: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Begin to read files in another process; return where it will say what is in them, and its number."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process:
        os.close(theirs)
        return ours, process
    status = 1
    try:
        os.close(ours)
        buffer = bytearray()
        with os.fdopen(theirs, "wb") as pipe:
            taken = (number for share in _take_shares(queue) for number in shares[share])
            pipe.write(_encode([_scan(paths, number, buffer) for number in taken]))
        status = 0
    finally:
        os._exit(status)  # nothing of what the parent has begun is ours to end


def _collect(child: tuple[int, int]) -> list[ScannedFile]:
    pipe, process = child
    data = b"".join(_read(pipe))
    os.close(pipe)
    _, status = os.waitpid(process, 0)
    return _decode(data) if status == 0 else []


def _read(pipe: int) -> Iterator[bytes]:
    while piece := os.read(pipe, _PIECE):
        yield piece
