"""The messages and calls of a session's conversations as rows, numbered through all of its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnlog.ingest.facts import microseconds, time_of
from turnlog.messages import Line
from turnlog.store.identity import Place
from turnlog.store.rows import CallRow, MessageRow
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.touched import FILE_TOOLS, NOT_DONE
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.tree import Tree

__all__ = ["RowBuilder"]


class RowBuilder:
    """Gathers rows, one conversation after the other."""

    def __init__(self, generations: Mapping[str, int]) -> None:
        """Begin with nothing; `generations` are those of the sources that lines name."""
        self.messages: list[MessageRow] = []
        self.calls: list[CallRow] = []
        self.call_at: dict[int, int] = {}
        """The index of each call, by the call's identity."""
        self._generations = generations

    def add(
        self, source: str, conversation: Conversation, agent_id: str | None, turn_of: Mapping[int, int]
    ) -> None:
        """Take the conversation of one file; `agent_id` is of messages whose lines name no agent."""
        tree = conversation.tree
        active = frozenset(tree.active or _list_last_path(tree))
        first = len(self.messages)
        made_by: dict[int, int] = {}
        for message in conversation.messages:
            number = message.index
            for call in message.calls:
                made_by[id(call)] = first + number
            self.messages.append(
                self._build_message(
                    message, first, source, agent_id, tree.parents[number], tree.branch_of[number],
                    number in active, turn_of.get(number),
                )
            )  # fmt: skip
        for call in conversation.calls:
            self.call_at[id(call)] = len(self.calls)
            self.calls.append(self._build_call(len(self.calls), call, made_by.get(id(call))))

    def _build_message(
        self,
        message: Message,
        first: int,
        source: str,
        agent_id: str | None,
        parent: int | None,
        branch: int,
        active: bool,
        turn: int | None,
    ) -> MessageRow:
        category = message.category
        return MessageRow(
            index=first + message.index,
            id=message.id,
            source=source,
            number=message.index,
            lines=self._list_places((*message.lines, *message.folded)),
            own_lines=len(message.lines),
            rule=message.rule.value,
            role=message.role.value,
            types=tuple([each.value for each in message.types]),
            author=message.author.value,
            lane=message.lane.value,
            is_sidechain=message.is_sidechain,
            category=None if category is None else category.value,
            agent_id=message.agent_id or agent_id,
            parent=parent,
            branch=branch,
            active=active,
            turn=turn,
            time=microseconds(message.time),
            model=message.model,
            aborted=message.aborted,
            calls=len(message.calls),
        )

    def _build_call(self, index: int, call: Call, message: int | None) -> CallRow:
        line, result = call.place.line, call.result
        path, changes = _find_file(call)
        return CallRow(
            index=index,
            id=call.id,
            name=call.name,
            category=call.category.value,
            state=call.state.value,
            at=self._place(line),
            block=call.place.index,
            message=message,
            result_at=None if result is None else self._place(result.place.line),
            agent_id=call.agent_id,
            path=path,
            changes_file=changes,
            started=time_of(line),
            ended=None if result is None else time_of(result.place.line),
        )

    def _list_places(self, lines: Sequence[Line]) -> tuple[Place, ...]:
        return tuple([self._place(line) for line in lines])

    def _place(self, line: Line) -> Place:
        at = line.at
        if at is None:
            raise ValueError("a line without a place is nothing that can be kept")
        return Place(at.source, self._generations[at.source], at.offset)


def _list_last_path(tree: Tree) -> list[int]:
    """Return the way to the last message, where nobody but sub-agents speaks."""
    return tree.list_path(len(tree.parents) - 1) if tree.parents else []


def _find_file(call: Call) -> tuple[str | None, bool]:
    """Return the file that a call works on, and whether it was changed."""
    field, changes = FILE_TOOLS.get(call.name, ("", False))
    path = getattr(call.view_input().value, field, None) if field else None
    if not isinstance(path, str):
        return None, False
    return path, changes and call.state not in NOT_DONE
