"""The usage of files as they are, without an archive.

Much is read in as many processes as there are cores, and added up while other files are still read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from turnlog.cli.files import FoundFiles
from turnlog.cli.output import show_progress
from turnlog.cli.terminal import describe_os_error, warn
from turnlog.instants import to_microseconds
from turnlog.store import usage_cells
from turnlog.store.usage_report import FAILED, AnswerCell, CallUse, ReportedCost
from turnlog.transcripts.session_files import path_text, project_name
from turnlog.transcripts.usage.prices import Charger, Prices, PriceTable, to_dollars
from turnlog.transcripts.usage.scanner import ReportedSighting, Scan, scan_file
from turnlog.transcripts.usage.tokens import MessageUsage, SightingFold

if TYPE_CHECKING:
    from turnlog.messages import Line

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
            from turnlog.transcripts.usage.sightings import read_usage

            scan = read_usage(path, path_text(path))
    except OSError as error:
        return ScannedFile(number, None, describe_os_error(error))
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


class FileUsage:
    """What some files say, each answer once."""

    def __init__(self, found: FoundFiles, prices: Prices) -> None:
        """Read all files; what cannot be read is said, and makes the figures incomplete."""
        self._found = found
        self._prices = prices
        self._charger = Charger(prices)
        self._scans: dict[str, Scan] = {}
        """What each file says."""
        self._sums: dict[str, Mapping[usage_cells.SumKey, usage_cells.AnswerSum]] = {}
        """What its answers come to, added up while other files are still read."""
        self._shared: dict[str, set[str]] = {}
        """Answers that stand in several places, by the files that have some of them."""
        self._homes: dict[str, usage_cells.Home] = {}
        self.is_complete = not found.obstacles
        """Whether all files could be read."""
        show = partial(show_progress, "Reading sessions") if sys.stderr.isatty() else show_nothing
        self._take(scan_files(found.paths, found.sizes, show=show))

    def list_cells(self, _: usage_cells.Detail = usage_cells.FULL) -> list[usage_cells.UsageCell]:
        """Return what answers used, in quarters of an hour; each that stands in several places by itself."""
        shared = set().union(*self._shared.values())
        cells = [self._price(message) for message in self._gather(self._shared, shared).list_messages()]
        for source, scan in self._scans.items():
            sums = self._sums[source]
            if source in self._shared:
                own = [each for each in scan.answers if each.message not in shared]
                sums = usage_cells.sum_answers(scan.groups, own, self._charger)
            cells += usage_cells.build_cells(sums, scan.groups, self._homes[source])
        return cells

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""
        messages = self._gather(self._scans).list_messages()
        return [AnswerCell(message.message, self._price(message)) for message in messages]

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""
        calls: list[CallUse] = []
        for path in self._found.paths:
            with suppress(OSError):  # it was said when its usage was read
                calls += _read_calls(path)
        return calls

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost, beside what their own lines come to."""
        best: dict[str, ReportedSighting] = {}
        for scan in self._scans.values():
            for each in scan.reported:
                known = best.get(each.session)
                best[each.session] = each if known is None else max(each, known, key=_by_worth)
        costs = self._sum_own(best) if best else {}
        return [
            ReportedCost(
                session=session,
                source="cost-state" if best[session].kind == "cost-state" else "result",
                cost_usd=best[session].cost,
                computed_usd=to_dollars(costs[session]),
            )
            for session in sorted(best)
        ]

    def _sum_own(self, sessions: Iterable[str]) -> dict[str, int]:
        """Return what the answers in some sessions cost, by the lines of each alone."""
        costs = dict.fromkeys(sessions, 0)
        shared = set().union(*self._shared.values())
        for scan in self._scans.values():
            if any(group.session in costs for group in scan.groups):
                for answer in scan.answers:
                    group = scan.groups[answer.group]
                    if group.session in costs and answer.message not in shared:
                        charged = self._charger.find_charge(
                            group.model, answer.time, answer.tokens, group.terms
                        )
                        costs[group.session] += 0 if charged is None else charged.cost
        for session, messages in self._gather(self._shared, shared).list_own().items():
            if session in costs:
                costs[session] += sum(self._price(message).cost for message in messages)
        return costs

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        return self._prices.find_table()

    def count_files(self) -> int:
        """Return how many files were read."""
        return len(self._found.paths)

    def _price(self, message: MessageUsage) -> usage_cells.UsageCell:
        return usage_cells.build_cell(message, self._charger, self._homes[message.source])

    def _gather(self, sources: Iterable[str], messages: Container[str] | None = None) -> SightingFold:
        """Return what some files say of all answers, or of some."""
        fold = SightingFold()
        for source in sources:
            for sighting in self._scans[source].list_sightings(source, messages):
                fold.add_sighting(sighting)
        return fold

    def _take(self, scanned: Iterable[ScannedFile]) -> None:
        sources = [path_text(path) for path in self._found.paths]
        places: dict[str, str] = {}
        for file in scanned:
            if file.scan is None:
                warn(file.problem)
                self.is_complete = False
                continue
            source, scan = sources[file.number], file.scan
            self._scans[source] = scan
            self._sums[source] = usage_cells.sum_answers(scan.groups, scan.answers, self._charger)
            for answer in scan.answers:
                message = answer.message
                if message in places:
                    for each in (source, places[message]):
                        self._shared.setdefault(each, set()).add(message)
                else:
                    places[message] = source
        left = iter(sources)
        for session in self._found.sessions:
            own = list(islice(left, len(session.paths)))
            cwds = [cwd for source in own if source in self._scans for cwd in self._scans[source].cwds]
            home = usage_cells.Home(session.name, project_name(cwds, session.project_folder))
            self._homes.update(dict.fromkeys(own, home))


def _read_calls(path: Path) -> Iterator[CallUse]:
    """Yield the calls of a file; raises `OSError`."""
    from turnlog.messages.envelope import instant
    from turnlog.transcripts.call_builder import build_calls
    from turnlog.transcripts.line_reader import read_lines
    from turnlog.transcripts.usage.sightings import find_sighting

    def find_time(line: Line) -> int | None:
        moment = instant(getattr(line.entry, "timestamp", None))
        return None if moment is None else to_microseconds(moment)

    source = path_text(path)
    for index, call in enumerate(build_calls(read_lines(path, source=source)).calls):
        answer = find_sighting(call.place.line)
        yield CallUse(
            message=None if answer is None else answer.message,
            id=call.id,
            name=call.name,
            failed=call.state in FAILED,
            started=find_time(call.place.line),
            ended=None if call.result is None else find_time(call.result.place.line),
            source=source,
            order=index,
        )


def _by_worth(reported: ReportedSighting) -> tuple[object, ...]:
    """Of several files', the one that has run furthest; what is on disk before what was in the stream."""
    return reported.kind == "cost-state", reported.cost, reported.source
