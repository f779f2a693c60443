"""What of a session is given out."""

from __future__ import annotations

from msgspec import Struct

from turnlog.errors import SelectionError
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.session import Session

__all__ = ["EVERYTHING", "Selection", "select"]


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


def select(session: Session, selection: Selection) -> list[Message]:
    """Return the messages of the transcript that are given out; raises `SelectionError` if there are none."""
    messages: list[Message] = list(session.messages)
    if selection.branch is not None:
        branches = session.tree.branches
        if not 0 <= selection.branch < len(branches):
            raise SelectionError(
                f"there is no branch {selection.branch}; branches are numbered 0 to {len(branches) - 1}"
            )
        wanted = set(session.tree.list_path(branches[selection.branch].messages[-1]))
        messages = [message for message in messages if message.index in wanted]
    if selection.first_turn is None and selection.last_turn is None:
        return messages
    turns = session.turns
    first, last = selection.first_turn or 1, selection.last_turn or len(turns)
    chosen = turns[max(first - 1, 0) : last]
    if not chosen:
        raise SelectionError(f"there are no turns {first} to {last}; turns are numbered 1 to {len(turns)}")
    inside = {message.index for turn in chosen for message in turn.messages}
    return [message for message in messages if message.index in inside]
