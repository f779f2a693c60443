"""Where calls are made, repeated and answered, by the position of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Place
from turnlog.transcripts.conversation.line_index import LineIndex

__all__ = ["CallPlaces"]


class CallPlaces:
    """The places of the calls of some lines."""

    def __init__(self, calls: Sequence[Call], index: LineIndex) -> None:
        """Take the calls that there are; more may come behind them, and those may change."""
        self.calls = calls
        self.made: dict[int, tuple[int, ...]] = {}
        """The calls that a line makes, by their own positions."""
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
                continue
            if position >= self._known:
                self._known = position + 1
                self.made[at] = (*self.made.get(at, ()), position)
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
        """Let go of all but which calls lines make."""
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
        made, calls = self.made, self.calls
        return [calls[position] for line in lines for position in made.get(line, ())]


def _list_places(call: Call) -> Iterator[Place]:
    """Yield where a call is repeated, and where it is answered."""
    yield from call.copies
    if call.result is not None:
        yield call.result.place
    for result in call.other_results:
        yield result.place
