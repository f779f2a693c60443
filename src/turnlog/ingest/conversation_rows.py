"""The conversation of one file as rows: a chapter of its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from turnlog.ingest.facts import microseconds, time_of
from turnlog.ingest.sighting_rows import SightingRows
from turnlog.messages import Line
from turnlog.store.batch import ChapterRows
from turnlog.store.identity import Place
from turnlog.store.rows import CallRow, MessageRow, PlacementRow
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.touched import FILE_TOOLS, NOT_DONE
from turnlog.transcripts.conversation.conversation import Conversation, Growth
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.usage.tokens import Sighting

__all__ = ["ChapterBuilder"]

R = TypeVar("R")


class ChapterBuilder:
    """The rows of one file's conversation, kept up as it grows."""

    def __init__(
        self,
        source: str,
        generation: int,
        conversation: Conversation,
        *,
        agent_id: str | None = None,
        turn_of: Sequence[int] = (),
    ) -> None:
        """Take a conversation; `agent_id` is of messages whose lines name no agent.

        `turn_of` says of which turn messages are, -1 if of none; it must be kept up, too.
        """
        self.source = source
        self.conversation = conversation
        self.turn_of = turn_of
        self.messages: list[MessageRow] = []
        self.calls: list[CallRow] = []
        self.placements: list[PlacementRow] = []
        self.sightings = SightingRows(source)
        self._generation = generation
        self._agent_id = agent_id
        self._build_messages(range(len(conversation.live_messages)))
        self._build_calls(range(len(conversation.live_calls)))
        self._build_placements(range(len(conversation.live_placements)))

    def build(self) -> ChapterRows:
        """Return all rows."""
        rows = self.sightings.rows
        return ChapterRows(
            self.source, tuple(self.messages), tuple(self.calls), tuple(self.placements), tuple(rows)
        )

    def extend(
        self, growth: Growth, moved: Iterable[int], seen: Mapping[str, Sequence[Sighting]]
    ) -> ChapterRows:
        """Return the rows that are new or differ, now that the conversation has grown.

        `moved` are messages that are in another turn, and `seen` is what the file says of some answers by now.
        """
        conversation = self.conversation
        new = range(growth.message, len(conversation.live_messages))
        before = {own for own in (*growth.touched, *growth.flipped, *moved) if own < growth.message}
        messages = [*sorted(before), *new]
        made = {at for own in messages for at in conversation.list_made(conversation.live_messages[own])}
        calls = sorted({*growth.calls, *made})
        lines = [*growth.moved, *range(growth.line, len(conversation.live_placements))]
        del self.messages[growth.message :]
        return ChapterRows(
            self.source,
            self._build_messages(messages),
            self._build_calls(calls),
            self._build_placements(lines),
            self.sightings.update(seen),
            (len(self.messages), len(self.calls), len(self.placements), len(self.sightings.rows)),
        )

    def list_changed(self, message: int) -> tuple[str, ...]:
        """Return the files that the calls of a message changed."""
        made = self.conversation.list_made(self.conversation.live_messages[message])
        rows = (self.calls[position] for position in made)
        return tuple([row.path for row in rows if row.changes_file and row.path is not None])

    def _build_messages(self, numbers: Iterable[int]) -> tuple[MessageRow, ...]:
        messages, tree = self.conversation.live_messages, self.conversation.live_tree
        parents, branches, way = tree.edges.parents, tree.branch_of, tree.way.places
        turn_of = self.turn_of
        found: list[MessageRow] = []
        for own in numbers:
            turn = turn_of[own] if turn_of and turn_of[own] >= 0 else None
            row = self._build_message(messages[own], parents[own], branches[own], own in way, turn)
            _put(self.messages, own, row)
            found.append(row)
        return tuple(found)

    def _build_calls(self, positions: Iterable[int]) -> tuple[CallRow, ...]:
        conversation, found = self.conversation, []
        for position in positions:
            call = conversation.live_calls[position]
            row = self._build_call(position, call, conversation.find_caller(call))
            _put(self.calls, position, row)
            found.append(row)
        return tuple(found)

    def _build_placements(self, lines: Iterable[int]) -> tuple[PlacementRow, ...]:
        placements, source = self.conversation.live_placements, self.source
        found = [PlacementRow(index=line, source=source, message=placements[line].message) for line in lines]
        for row in found:
            _put(self.placements, row.index, row)
        return tuple(found)

    def _build_message(
        self,
        message: Message,
        parent: int | None,
        branch: int,
        active: bool,
        turn: int | None,
    ) -> MessageRow:
        category = message.category
        return MessageRow(
            index=message.index,
            source=self.source,
            id=message.id,
            lines=self._list_places((*message.lines, *message.folded)),
            own_lines=len(message.lines),
            rule=message.rule.value,
            role=message.role.value,
            types=tuple([each.value for each in message.types]),
            author=message.author.value,
            lane=message.lane.value,
            is_sidechain=message.is_sidechain,
            category=None if category is None else category.value,
            agent_id=message.agent_id or self._agent_id,
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
            source=self.source,
            id=call.id,
            name=call.name,
            category=call.category.value,
            state=call.state.value,
            at=self._place(line),
            block=call.place.index,
            message=message,
            result_at=None if result is None else self._place(result.place.line),
            result_block=None if result is None else result.place.index,
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
        return Place(at.source, self._generation, at.offset)


def _put(rows: list[R], index: int, row: R) -> None:
    """Put a row into its place, which may be the next one."""
    if index == len(rows):
        rows.append(row)
    else:
        rows[index] = row


def _find_file(call: Call) -> tuple[str | None, bool]:
    """Return the file that a call works on, and whether it was changed."""
    field, changes = FILE_TOOLS.get(call.name, ("", False))
    path = getattr(call.view_input().value, field, None) if field else None
    if not isinstance(path, str):
        return None, False
    return path, changes and call.state not in NOT_DONE
