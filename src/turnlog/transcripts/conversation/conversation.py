"""The lines of one file, and all that follows from them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from turnlog.messages import Line
from turnlog.transcripts.call_builder import CallBuilder
from turnlog.transcripts.calls import Call, Result
from turnlog.transcripts.conversation.lineage import CallPlaces, LineageBuilder, LineIndex
from turnlog.transcripts.conversation.messages import Compaction, Message, Placement, build_compactions
from turnlog.transcripts.conversation.timeline import Growth, TimelineBuilder
from turnlog.transcripts.conversation.tree import Tree, TreeBuilder


class Conversation:
    """The conversation in some lines of one file. Each part is built when it is first asked for, and kept.

    What was asked for stays as it was when the conversation is extended.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = list(lines)
        self._is_last = False

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All lines, in file order."""
        return tuple(self._lines)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All tool calls, in order of appearance, each with its result."""
        return tuple(self.live_calls)

    @property
    def orphans(self) -> tuple[Result, ...]:
        """Results whose call is not here."""
        return tuple(self._paired.builder.list_orphans())

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """What people read, in file order."""
        return tuple(self.live_messages)

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        """What became of each line."""
        return tuple(self._timeline.placements)

    @cached_property
    def tree(self) -> Tree:
        """Which message follows which, with its branches."""
        return self.live_tree.build(self._lineage.build())

    @cached_property
    def compactions(self) -> tuple[Compaction, ...]:
        """Where the conversation was made shorter."""
        return build_compactions(self.messages)

    @property
    def live_lines(self) -> Sequence[Line]:
        """All lines; more are added to these when the conversation is extended."""
        return self._lines

    @property
    def live_calls(self) -> Sequence[Call]:
        """All calls; these change when the conversation is extended."""
        return self._paired.calls

    @property
    def live_messages(self) -> Sequence[Message]:
        """All messages; these change when the conversation is extended."""
        return self._timeline.messages

    @property
    def live_placements(self) -> Sequence[Placement]:
        """The places of all lines; these change when the conversation is extended."""
        return self._timeline.placements

    @cached_property
    def live_tree(self) -> TreeBuilder:
        """Which message follows which; one that changes when the conversation is extended."""
        lineage = self._lineage
        timeline = self._timeline
        tree = TreeBuilder(
            self._lines, lineage.parents, lineage.forward, timeline.messages, timeline.placements
        )
        tree.extend(0, 0)
        return tree

    def extend(self, lines: Iterable[Line]) -> Growth:
        """Take further lines, and return what is new: the same as if all had been taken at once."""
        start, paired = len(self._lines), self._paired
        moves = paired.builder.moves
        self._lines += lines
        built = self.__dict__.keys() & _PARTS
        for name in self.__dict__.keys() & _COPIES:
            del self.__dict__[name]
        calls = paired.extend(self._lines[start:])
        growth: Growth | None = None
        if start and built == _PARTS:
            late = self._index.extend(self._lines[start:])
            late = self._places.update(calls, start) or late or paired.builder.moves > moves
            growth = None if late else self._timeline.extend(calls)
        flipped: frozenset[int] | None = None
        if growth is not None and self._lineage.extend(calls):
            flipped = self.live_tree.extend(growth.message, growth.anchored)
        if growth is None or flipped is None:
            # Only what the lines themselves tell is left; all else is built anew when somebody asks for it.
            for name in built:
                del self.__dict__[name]
            return Growth(start, 0, calls=calls)
        return replace(growth, flipped=flipped, calls=calls)

    def read_through(self, take: Callable[[Line], object]) -> None:
        """Build what is gathered line by line, and let `take` see each line, too: all in one go."""
        self._paired, self._index = _Paired(), LineIndex(among=self._lines)
        for first in range(0, len(self._lines), _AT_ONCE):
            lines = self._lines[first : first + _AT_ONCE]
            self._paired.extend(lines)
            self._index.extend(lines)
            for line in lines:
                take(line)

    def prepare(self) -> None:
        """Build all parts one after another, and let go of what each was built from as soon as nobody needs it.

        For conversations that are to be finished: they must not be extended any more.
        """
        if self._is_last:
            return
        self._is_last = True
        self._paired.builder = CallBuilder()
        _ = self._timeline
        self._places.finish()
        _ = self._lineage
        self._index.finish()
        _ = self.live_tree

    def finish(self) -> None:
        """Let go of what only further lines, `tree` and `orphans` need: none of them may be asked for any more.

        What is left is a third of a long conversation.
        """
        self.prepare()
        self.live_tree.finish()
        self.__dict__.pop("_lineage", None)

    def release(self, line: int, messages: Iterable[int], calls: Iterable[int]) -> None:
        """Let go of messages and calls of which there are records; of messages, if they end before a line.

        For conversations that are finished: nothing but lines may be asked for any more.
        """
        for number in messages:
            if (self.find_line(self._timeline.messages[number].lines[-1]) or 0) < line:
                self._timeline.messages[number] = _RELEASED
        for number in calls:
            self._paired.calls[number] = _RELEASED

    def find_line(self, line: Line) -> int | None:
        """Return which of the lines one is, by identity."""
        return self._index.find(line)

    def list_numbers(self, lines: Iterable[Line]) -> tuple[int, ...]:
        """Return which of the lines some are, those that are among them."""
        found = map(self._index.find, lines)
        return tuple([number for number in found if number is not None])

    def list_made(self, message: Message) -> list[int]:
        """Return the positions of the calls that a message makes."""
        if not message.calls:
            return []
        lines = (self._index.find(line) for line in message.lines)
        return [position for line in lines if line is not None for position in self._places.find_made(line)]

    def find_position(self, call: Call) -> int | None:
        """Return which of the calls one is, by where it stands."""
        at = self._index.find(call.place.line)
        made = () if at is None else self._places.find_made(at)
        return next(
            (position for position in made if self.live_calls[position].place.index == call.place.index), None
        )

    def find_caller(self, call: Call) -> int | None:
        """Return the message that makes a call; None if none does that is shown."""
        at = self._index.find(call.place.line)
        message = None if at is None else self.live_placements[at].message
        if message is None or not any(each is call for each in self.live_messages[message].calls):
            return None
        return message

    @cached_property
    def _paired(self) -> _Paired:
        paired = _Paired()
        paired.extend(self._lines)
        return paired

    @cached_property
    def _index(self) -> LineIndex:
        return LineIndex(self._lines, self._lines)

    @cached_property
    def _places(self) -> CallPlaces:
        return CallPlaces(self.live_calls, self._index)

    @cached_property
    def _timeline(self) -> TimelineBuilder:
        timeline = TimelineBuilder(self._lines, self._places, self._index)
        timeline.extend(is_last=self._is_last)
        return timeline

    @cached_property
    def _lineage(self) -> LineageBuilder:
        lineage = LineageBuilder(self._lines, self.live_calls, self._index)
        lineage.extend(range(len(self.live_calls)))
        return lineage


_AT_ONCE = 512
_RELEASED: Any = None
_COPIES = frozenset({"lines", "calls", "messages", "placements", "tree", "compactions"})
_PARTS = frozenset({"_index", "_places", "_timeline", "_lineage", "live_tree"})
"""What is built of lines and calls, and can be extended only together."""


class _Paired:
    """Calls with their results, as they are now."""

    def __init__(self) -> None:
        self.builder = CallBuilder()
        self.calls: list[Call] = []

    def extend(self, lines: Iterable[Line]) -> tuple[int, ...]:
        """Take further lines; return the calls that are new or have changed, in order."""
        builder, calls = self.builder, self.calls
        touched: set[int] = set()
        for line in lines:
            found = builder.add(line)
            if found:
                touched.update(found)
        ordered = sorted(touched)
        for position in ordered:
            calls[position : position + 1] = (builder.get_call(position),)
        return tuple(ordered)
