"""Where calls are made, repeated and answered, by the position of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Place
from turnlog.transcripts.conversation.line_index import LineIndex

__all__ = ["CallPlaces"]


class CallPlaces:
    """The places of the calls of some lines."""

    def __init__(self, calls: Iterable[Call], index: LineIndex) -> None:
        self.made: dict[int, list[Call]] = {}
        """The calls that a line makes."""
        self.homes: dict[int, int] = {}
        """The line of the call that a line answers, or repeats."""
        self.by_id: dict[str, int] = {}
        """The line that makes a call."""
        for call in calls:
            at = index.find(call.place.line)
            if at is None:
                continue
            self.made.setdefault(at, []).append(call)
            if call.id is not None:
                self.by_id[call.id] = at
            for place in _list_places(call):
                found = index.find(place.line)
                if found is not None:
                    self.homes.setdefault(found, at)


def _list_places(call: Call) -> Iterator[Place]:
    """Yield where a call is repeated, and where it is answered."""
    yield from call.copies
    if call.result is not None:
        yield call.result.place
    for result in call.other_results:
        yield result.place
