"""From lines to messages: each line gets its place, and lines that belong together become one message.

File order is the order of messages. A message stands where its first line stands; lines that come later
(further blocks of the same `message.id`, results, progress) are folded into it. Some things can only be told
from what comes later, so lines are first gathered, then placed: thinking waits for its answer (spec 002 §2.1),
a result may come before its call, and a prompt may never leave the queue.

A file that grows is gathered on; what was settled is settled anew from the first message that the new lines
have to do with. What changes earlier ones in other ways is rare, and then all of it is built anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.gathering import (
    Board,
    Draft,
    Gathering,
    QueueSettler,
    ThinkingSettler,
    settle_superseded,
)
from turnlog.transcripts.conversation.line_index import CallPlaces, LineIndex
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Placement, Rule

_UNSHOWN = {rule: Placement(rule) for rule in Rule}


class Timeline(Struct, frozen=True, gc=False):
    """The messages of some lines, and the place of each line."""

    messages: tuple[Message, ...]
    placements: tuple[Placement, ...]
    """One for each line."""


class Stretch(Struct, frozen=True, gc=False):
    """What of a timeline is new: all messages from one on, and a few before."""

    message: int
    """From which message on all are new."""
    line: int
    """From which line on lines may have another place, or belong to another message."""
    touched: frozenset[int] = frozenset()
    """Messages before, to which something was added."""
    moved: tuple[int, ...] = ()
    """Lines before those that came now whose places were written anew."""


def build_timeline(lines: Sequence[Line], calls: Sequence[Call], index: LineIndex | None = None) -> Timeline:
    """Return the messages of all lines of a file; `calls` and `index` are those of the same lines."""
    index = index or LineIndex(lines)
    builder = TimelineBuilder(lines, CallPlaces(calls, index), index)
    builder.extend()
    return Timeline(tuple(builder.messages), tuple(builder.placements))


class TimelineBuilder:
    """The messages of lines that become more."""

    def __init__(self, lines: Sequence[Line], calls: CallPlaces, index: LineIndex) -> None:
        self.messages: list[Message] = []
        self.placements: list[Placement] = []
        self._calls = calls
        self._index = index
        self._board = Board(lines)
        self._gathering = Gathering(self._board, calls, index)
        self._queue = QueueSettler(self._board, self._gathering.queue)
        self._thinking = ThinkingSettler(self._board)

    def extend(self, calls: Iterable[int] = (), *, is_last: bool = False) -> Stretch | None:
        """Take the lines that came, and the calls that are new or changed with them.

        Return what is new; None if that cannot be told, and all has to be built anew. If this `is_last`, it
        takes less memory, and nothing may come behind it.
        """
        board, gathering = self._board, self._gathering
        start, drafts = len(self.placements), len(board.drafts)
        board.grow()
        gathering.gather(start)
        if start and (gathering.superseded or gathering.is_entangled or any(d.is_cut for d in board.grown)):
            return None
        low = min((board.find_ordinal(draft) for draft in board.grown if draft.first < start), default=drafts)
        low = self._queue.settle(low)
        settle_superseded(board, gathering.superseded, self._index)
        gathering.superseded.clear()
        low = self._thinking.settle(low)
        board.settle_folds()
        if is_last:
            del gathering  # all drafts are in it
            self._build_last()
            return Stretch(0, 0)
        first = self._build_messages(low)
        touched = self._build_touched(first, calls) if first else frozenset()
        moved = self._list_moved(low) if start else []
        self._place((*moved, *range(start, len(board.rules))))
        board.grown.clear()
        board.touched.clear()
        return Stretch(first, min((start, *moved)), touched, tuple(moved))

    def _build_last(self) -> None:
        """Build all messages, and let go of each draft as it is built: nothing comes any more."""
        board = self._board
        for number, draft in enumerate(draft for draft in board.drafts if draft.lines):
            draft.number = number
        self._place(range(len(board.rules)))
        self._board = Board(())
        self._gathering = Gathering(self._board, self._calls, self._index)
        self._queue = QueueSettler(self._board, self._gathering.queue)
        self._thinking = ThinkingSettler(self._board)
        drafts = board.drafts
        drafts.reverse()
        for others in (board.draft_of, board.grown, board.touched):
            others.clear()
        while drafts:
            draft = drafts.pop()
            if draft.number is not None and draft.lines:
                self.messages.append(board.build_message(draft, draft.number, self._calls))

    def _build_messages(self, low: int) -> int:
        """Build the messages of all drafts from one on anew; return the number of the first."""
        board, calls, messages = self._board, self._calls, self.messages
        before = (board.drafts[at] for at in range(low - 1, -1, -1))
        first = next((draft.number + 1 for draft in before if draft.lines and draft.number is not None), 0)
        del messages[first:]
        for draft in board.drafts[low:]:
            if draft.lines:
                draft.number = len(messages)
                messages.append(board.build_message(draft, draft.number, calls))
        return first

    def _build_touched(self, first: int, calls: Iterable[int]) -> frozenset[int]:
        """Build those messages anew that stay what they were but for what was added to them."""
        board = self._board
        touched = [draft.find_shown() for draft in (*board.touched, *self._list_callers(calls))]
        found = {draft.number: draft for draft in touched if draft.number is not None and draft.number < first}
        for number, draft in found.items():
            self.messages[number] = board.build_message(draft, number, self._calls)
        return frozenset(found)

    def _list_callers(self, calls: Iterable[int]) -> list[Draft]:
        lines = (self._index.find(self._calls.calls[position].place.line) for position in calls)
        drafts = (None if line is None else self._board.draft_of[line] for line in lines)
        return [draft for draft in drafts if draft is not None]

    def _list_moved(self, low: int) -> list[int]:
        start = len(self.placements)
        lines = [*self._queue.take_vacated()]
        for draft in self._board.drafts[low:]:
            lines += draft.gathered
            lines += draft.folded or ()
        return sorted(line for line in lines if line < start)

    def _place(self, lines: Iterable[int]) -> None:
        placements, rules, draft_of = self.placements, self._board.rules, self._board.draft_of
        placements += [_UNSHOWN[Rule.SYSTEM]] * (len(rules) - len(placements))
        for index in lines:
            draft = draft_of[index]
            if draft is None:
                placements[index] = _UNSHOWN[rules[index]]
                continue
            while draft.taker is not None:
                draft = draft.taker
            placements[index] = Placement(rules[index], draft.number)
