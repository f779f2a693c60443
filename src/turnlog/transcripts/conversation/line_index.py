"""The lines of a conversation by name and identity, and where calls are made, repeated and answered."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from turnlog.messages import Line
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Place


class LineIndex:
    """Where each line stands. Of lines with the same uuid the first is the line, the others are copies."""

    def __init__(self, lines: Sequence[Line] = (), among: Sequence[Line] = ()) -> None:
        """Take the first lines; `among` are all, which may become more."""
        self.by_uuid: dict[str, int] = {}
        self.copies: dict[int, int] = {}
        """Of which earlier line a line is a copy."""
        self.awaited: set[str] = set()
        """What somebody looked for in vain: a line of that name changes what was made of others."""
        self._by_id: dict[int, int] = {}
        """Of lines that do not know it themselves."""
        self._among = among
        self._count = 0
        self.extend(lines)

    def extend(self, lines: Iterable[Line]) -> bool:
        """Take the next lines; tell whether any of them was looked for before it came."""
        by_uuid, by_id, awaited = self.by_uuid, self._by_id, self.awaited
        was_awaited, among = False, self._among
        position = self._count
        for line in lines:
            if getattr(line, "position", None) != position or not among:
                by_id[id(line)] = position
            uuid = getattr(line.entry, "uuid", None)
            if type(uuid) is str:
                first = by_uuid.setdefault(uuid, position)
                if first != position:
                    self.copies[position] = first
                elif uuid in awaited:
                    was_awaited = True
            position += 1
        self._count = position
        return was_awaited

    def finish(self) -> None:
        """Let go of all names: lines are only found by identity from now on."""
        self.by_uuid.clear()
        self.copies.clear()
        self.awaited.clear()

    def find(self, line: Line) -> int | None:
        """Return the position of a line, by identity; None if it is not among them."""
        found = self._by_id.get(id(line))
        return self._find_place(line) if found is None else found

    def _find_place(self, line: Line) -> int | None:
        """Return the position that a line says it has, if it stands there."""
        position: int | None = getattr(line, "position", None)
        if position is None or position >= len(self._among) or self._among[position] is not line:
            return None
        return position

    def look_for(self, uuid: str) -> int | None:
        """Return the position of the line with a uuid; None if there is none so far, which is noted."""
        found = self.by_uuid.get(uuid)
        if found is None:
            self.awaited.add(uuid)
        return found


class CallPlaces:
    """The places of the calls of some lines."""

    def __init__(self, calls: Sequence[Call], index: LineIndex) -> None:
        """Take the calls that there are; more may come behind them, and those may change."""
        self.calls = calls
        self._lines = array("i")
        """The line that makes each call; none is before that of the call before."""
        self.homes: dict[int, int] = {}
        """The line of the call that a line answers, or repeats."""
        self.by_id: dict[str, int] = {}
        """The line that makes a call."""
        self._awaited: set[str] = set()
        self._index = index
        self._known = 0
        self._answers: dict[int, int] = {}  # the first call that a line answers or repeats
        self.update(range(len(calls)), 0)

    def update(self, touched: Iterable[int], first_line: int) -> bool:
        """Take calls that are new or changed, in order; lines from `first_line` on were not asked about yet.

        Tell whether that changes what was said of lines before them.
        """
        late = False
        for position in touched:
            call = self.calls[position]
            at = self._index.find(call.place.line)
            if at is None:
                raise ValueError("a call is in none of the lines that it was found in")
            if position >= self._known:
                self._known = position + 1
                self._lines.append(at)
                if call.id is not None:
                    self.by_id[call.id] = at
                    late = late or call.id in self._awaited
            for place in _list_places(call):
                found = self._index.find(place.line)
                if found is not None and position < self._answers.get(found, len(self.calls)):
                    self._answers[found], self.homes[found] = position, at
                    late = late or found < first_line
        return late

    def finish(self) -> None:
        """Let go of all but which calls lines make: nothing comes any more."""
        for found in (self.homes, self.by_id, self._answers):
            found.clear()

    def look_for(self, call: str) -> int | None:
        """Return the line that makes a call; None if none does so far, which is noted."""
        found = self.by_id.get(call)
        if found is None:
            self._awaited.add(call)
        return found

    def list_made(self, lines: Iterable[int]) -> list[Call]:
        """Return the calls that some lines make."""
        return [self.calls[position] for line in lines for position in self.find_made(line)]

    def find_made(self, line: int) -> range:
        """Return which calls a line makes."""
        return range(bisect_left(self._lines, line), bisect_right(self._lines, line))


def _list_places(call: Call) -> Iterator[Place]:
    """Yield where a call is repeated, and where it is answered."""
    yield from call.copies
    if call.result is not None:
        yield call.result.place
    for result in call.other_results:
        yield result.place
