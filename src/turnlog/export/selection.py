"""What of a session is given out."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from turnlog.errors import SelectionError
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.records import MessageRecord


class Selection(Struct, frozen=True, gc=False, kw_only=True):
    """What of a session is given out."""

    first_turn: int | None = None
    """From 1."""
    last_turn: int | None = None
    branch: int | None = None
    """The number of a branch: that and what it grew from; None for all of them."""
    thinking: bool = True
    tool_output: bool = True
    agents: bool = True

    @property
    def is_part(self) -> bool:
        """Whether only some turns, or one branch, are given out."""
        return any(each is not None for each in (self.first_turn, self.last_turn, self.branch))


EVERYTHING = Selection()


def select(session: SessionRecords, selection: Selection) -> Iterable[MessageRecord]:
    """Return the messages of the transcript that are given out; raises `SelectionError` if there are none."""
    main = session.main
    path: set[int] | None = None
    if selection.branch is not None:
        branches = [] if main is None else main.list_branches()
        if main is None or not 0 <= selection.branch < len(branches):
            raise SelectionError(
                f"there is no branch {selection.branch}; branches are numbered 0 to {len(branches) - 1}"
            )
        path = set()
        at: int | None = branches[selection.branch].last
        while at is not None:
            path.add(at)
            [row] = main.list_at([at])
            at = row.parent
    chosen: range | None = None
    if selection.first_turn is not None or selection.last_turn is not None:
        count = session.count_turns()
        first, last = selection.first_turn or 1, selection.last_turn or count
        chosen = range(count)[max(first - 1, 0) : last]
        if not chosen:
            raise SelectionError(f"there are no turns {first} to {last}; turns are numbered 1 to {count}")
    return (
        row
        for row in (() if main is None else main.list_messages())
        if (path is None or row.index in path) and (chosen is None or row.turn in chosen)
    )
