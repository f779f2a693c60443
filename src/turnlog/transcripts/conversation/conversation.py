"""The lines of one file, and all that follows from them alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from turnlog.messages import Line
from turnlog.transcripts.calls.builder import Calls, build_calls
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Result
from turnlog.transcripts.conversation.compactions import Compaction, build_compactions
from turnlog.transcripts.conversation.line_index import LineIndex
from turnlog.transcripts.conversation.lineage import build_lineage
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Placement
from turnlog.transcripts.conversation.timeline import Timeline, build_timeline
from turnlog.transcripts.conversation.tree import Tree, build_tree

__all__ = ["Conversation"]


class Conversation:
    """The conversation in some lines of one file. Each part is built when it is first asked for, and kept."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)

    @property
    def calls(self) -> tuple[Call, ...]:
        """All tool calls, in order of appearance, each with its result."""
        return self._paired.calls

    @property
    def orphans(self) -> tuple[Result, ...]:
        """Results whose call is not here."""
        return self._paired.orphans

    @property
    def messages(self) -> tuple[Message, ...]:
        """What people read, in file order."""
        return self._timeline.messages

    @property
    def placements(self) -> tuple[Placement, ...]:
        """What became of each line."""
        return self._timeline.placements

    @cached_property
    def tree(self) -> Tree:
        """Which message follows which, with its branches."""
        lineage = build_lineage(self.lines, self.calls, self._index)
        return build_tree(self.lines, lineage, self.messages, self.placements)

    @cached_property
    def compactions(self) -> tuple[Compaction, ...]:
        """Where the conversation was made shorter."""
        return build_compactions(self.messages)

    @cached_property
    def _index(self) -> LineIndex:
        return LineIndex(self.lines)

    @cached_property
    def _paired(self) -> Calls:
        return build_calls(self.lines)

    @cached_property
    def _timeline(self) -> Timeline:
        return build_timeline(self.lines, self.calls, self._index)
