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
_TOGETHER = 4
"""Putting everything together takes as long as reading one part in so many."""


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
    count = _count_workers(sum(sizes)) if workers is None else workers
    shares = _share(sizes, min(count, len(paths)) or 1)
    # First, since another process must not be started while threads run, as those that show progress.
    children = [_start(paths, share) for share in shares[1:]]
    with show() as progress:
        for done, number in enumerate(shares[0]):
            progress(done, len(shares[0]))
            yield _scan(paths, number)
        for share, child in zip(shares[1:], children, strict=True):
            told = _collect(child)
            # A process that ended early is no reason to count less.
            yield from told if len(told) == len(share) else (_scan(paths, number) for number in share)


def _scan(paths: Sequence[Path], number: int) -> ScannedFile:
    path = paths[number]
    try:
        scan = scan_file(os.fspath(path), path_text(path))
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


def _share(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Return which files each process takes: the largest first, each to whoever has least so far.

    The first process has to put everything together, while the others are still reading.
    """
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    loads[0] = sum(sizes) // _TOGETHER if count > 1 else 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        at = loads.index(min(loads))
        shares[at].append(number)
        loads[at] += sizes[number]
    return shares


def _start(paths: Sequence[Path], share: Sequence[int]) -> tuple[int, int]:
    """Begin to read files in another process; return where it will say what is in them, and its number."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process:
        os.close(theirs)
        return ours, process
    status = 1
    try:
        os.close(ours)
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(_encode([_scan(paths, number) for number in share]))
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
