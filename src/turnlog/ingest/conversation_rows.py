"""The conversation of one file as rows: a chapter of its session."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from turnlog.ingest.facts import microseconds, time_of
from turnlog.ingest.packed_rows import gather
from turnlog.ingest.sighting_rows import SightingRows
from turnlog.ingest.spill import Spill
from turnlog.messages import Line
from turnlog.store.batch import ChapterRows
from turnlog.store.identity import Place
from turnlog.store.rows import CallRow, MessageRow, PlacementRow, SightingRow
from turnlog.transcripts.actions.events import read_event
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.touched import find_file
from turnlog.transcripts.conversation.conversation import Conversation, Growth
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.usage.tokens import Sighting

__all__ = ["ChapterBuilder"]

_NEVER = -(1 << 63)
"""Before all times."""


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
        self.sightings = SightingRows(source)
        self._generation = generation
        self._agent_id = agent_id
        self._reached = array("q")
        """For each line the latest time that it or one above it has, or `_NEVER`."""
        self._reach()

    def build(self, spill: Spill | None = None) -> ChapterRows:
        """Return all rows; those of a large session are put aside in a `spill`."""
        messages, calls, lines, _ = map(range, self._sizes)
        return ChapterRows(
            self.source,
            gather(MessageRow, self._build_messages(messages), spill),
            gather(CallRow, self._build_calls(calls), spill),
            gather(PlacementRow, map(self._build_placement, lines), spill),
            gather(SightingRow, self.sightings.build(), spill),
        )

    def extend(
        self, growth: Growth, moved: Iterable[int], seen: Mapping[str, Sequence[Sighting]]
    ) -> ChapterRows:
        """Return the rows that are new or differ, now that the conversation has grown.

        `moved` are messages that are in another turn, and `seen` is what the file says of some answers by now.
        """
        conversation = self.conversation
        self._reach()
        new = range(growth.message, len(conversation.live_messages))
        before = {own for own in (*growth.touched, *growth.flipped, *moved) if own < growth.message}
        messages = [*sorted(before), *new]
        made = {at for own in messages for at in conversation.list_made(conversation.live_messages[own])}
        calls = sorted({*growth.calls, *made})
        lines = [*growth.moved, *range(growth.line, len(conversation.live_placements))]
        sightings = self.sightings.update(seen)
        return ChapterRows(
            self.source,
            tuple(self._build_messages(messages)),
            tuple(self._build_calls(calls)),
            tuple(map(self._build_placement, lines)),
            sightings,
            self._sizes,
        )

    def list_changed(self, message: int) -> tuple[str, ...]:
        """Return the files that the calls of a message changed."""
        found = map(find_file, self.conversation.live_messages[message].calls)
        return tuple([path for path, changes in found if changes and path is not None])

    @property
    def _sizes(self) -> tuple[int, int, int, int]:
        """How many rows there are of each kind."""
        conversation = self.conversation
        return (
            len(conversation.live_messages),
            len(conversation.live_calls),
            len(conversation.live_placements),
            len(self.sightings),
        )

    def _build_messages(self, numbers: Iterable[int]) -> Iterator[MessageRow]:
        messages, tree = self.conversation.live_messages, self.conversation.live_tree
        parents, branches, way = tree.edges.parents, tree.branch_of, tree.way
        turn_of = self.turn_of
        for own in numbers:
            turn = turn_of[own] if turn_of and turn_of[own] >= 0 else None
            yield self._build_message(messages[own], parents[own], branches[own], own in way, turn)

    def _build_calls(self, positions: Iterable[int]) -> Iterator[CallRow]:
        conversation = self.conversation
        for position in positions:
            call = conversation.live_calls[position]
            yield self._build_call(position, call, conversation.find_caller(call))

    def _build_placement(self, number: int) -> PlacementRow:
        line, placement = self.conversation.live_lines[number], self.conversation.live_placements[number]
        event = None if placement.rule is Rule.COPY else read_event(line)
        if event is None:
            return PlacementRow(index=number, source=self.source, message=placement.message)
        time, took = time_of(line), event.duration_ms
        return PlacementRow(
            index=number,
            source=self.source,
            message=placement.message,
            category=event.category.value,
            name=event.name,
            state=event.state.value,
            duration_ms=took,
            hook=event.hook,
            tool_use_id=event.tool_use_id,
            # What a line says of how long it took is said at the end.
            time=None if time is None else time - 1000 * (took or 0),
            reached=self._find_reached(number),
        )

    def _reach(self) -> None:
        """Note the times of lines that are new."""
        latest = self._reached[-1] if self._reached else _NEVER
        for line in islice(self.conversation.live_lines, len(self._reached), None):
            time = time_of(line)
            if time is not None and time > latest:
                latest = time
            self._reached.append(latest)

    def _find_reached(self, number: int | None) -> int | None:
        reached = self._reached[number or 0]
        return None if reached == _NEVER else reached

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
            reached=self._find_reached(self.conversation.find_line(message.lines[0])),
        )

    def _build_call(self, index: int, call: Call, message: int | None) -> CallRow:
        line, result = call.place.line, call.result
        number = self.conversation.find_line(line) or 0
        path, changes = find_file(call)
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
            line=number,
            reached=self._find_reached(number),
        )

    def _list_places(self, lines: Sequence[Line]) -> tuple[Place, ...]:
        return tuple([self._place(line) for line in lines])

    def _place(self, line: Line) -> Place:
        at = line.at
        if at is None:
            raise ValueError("a line without a place is nothing that can be kept")
        return Place(at.source, self._generation, at.offset)
