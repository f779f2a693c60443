"""Messages and calls with what they say, put together from their records and their lines.

A record says which lines a message is made of, and which block answers a call. So nothing is paired, ordered or
placed here a second time: what stands in the lines is read where the record says that it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from turnlog.messages import Line, Position, decode
from turnlog.messages.blocks import McpToolUseBlock
from turnlog.messages.codec import END, LONGEST, decode_long
from turnlog.messages.system import SystemNotice
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Place, Result, read_result
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.kinds import CallState, Category, MessageType, Role
from turnlog.transcripts.lines.blocks import is_call, list_blocks
from turnlog.transcripts.lines.categories import is_known_tool
from turnlog.transcripts.lines.prompts import prompt_of
from turnlog.transcripts.queries.chapters import Chapter, ChapterFacts, SegmentReader
from turnlog.transcripts.records import CallRecord, MessageRecord
from turnlog.transcripts.segments import SEGMENT

UNSAID = frozenset({Rule.META, Rule.LONE_RESULT})
"""Messages in the user's place that are no prompts."""


class DecodedChapter(Chapter):
    """The records of a file whose lines are at hand, and the messages of which they are the records."""

    def __init__(
        self, facts: ChapterFacts, reader: SegmentReader, lines: Sequence[Line], messages: Sequence[Message]
    ) -> None:
        super().__init__(facts, reader)
        self.lines = lines
        self.messages = messages

    def read_raw(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return lines as they stand, in order."""
        return {number: self.lines[number].raw for number in sorted(set(numbers))}


def decode_lines(chapter: Chapter, numbers: Iterable[int]) -> dict[int, Line]:
    """Return lines of a chapter as they are typed, by their numbers; raises `KeyError` as `read_raw` does.

    Of a line of over 16 MB, no more is read than it is typed by.
    """
    if isinstance(chapter, DecodedChapter):
        return {number: chapter.lines[number] for number in sorted(set(numbers))}
    records = {number: chapter.get_line(number) for number in sorted(set(numbers))}
    found = {
        number: decode(data, at=Position(chapter.source, records[number].offset))
        for number, data in chapter.read_raw(
            each for each in records if records[each].length <= LONGEST
        ).items()
    }
    for number, line in records.items():
        if line.length > LONGEST:
            head, end = chapter.read_bytes([(line.offset, LONGEST), (line.offset + line.length - END, END)])
            found[number] = decode_long(head, end, line.length, Position(chapter.source, line.offset))
    return {number: found[number] for number in records}


def read_json(chapter: Chapter, numbers: Iterable[int] | None = None) -> Iterator[bytes]:
    """Yield lines as JSON, all of them or some, in order: as they stand, or what is read of a long one."""
    wanted = iter(range(chapter.count_lines) if numbers is None else sorted(set(numbers)))
    while some := [*islice(wanted, SEGMENT)]:
        if isinstance(chapter, DecodedChapter):
            yield from (chapter.lines[number].json for number in some)
        elif all(chapter.get_line(number).length <= LONGEST for number in some):
            yield from chapter.read_raw(some).values()
        else:
            yield from (line.json for line in decode_lines(chapter, some).values())


def decode_all(chapter: Chapter) -> Iterator[Line]:
    """Yield all lines of a chapter as they are typed, some of them at a time."""
    for head in chapter.heads:
        yield from decode_lines(chapter, range(head.line, head.line + head.lines)).values()


def build_message(
    record: MessageRecord, lines: Mapping[int, Line], calls: Sequence[CallRecord] = ()
) -> Message:
    """Return a message, with those of its calls that are given, in their order.

    `lines` are lines of its chapter, by their numbers. Its own must be among them (raises `KeyError`); of what
    is folded into it, it has what is there.
    """
    own = record.lines[: record.own_lines]
    rule = Rule(record.rule)
    agent = getattr(lines[own[0]].entry, "agent_id", None)
    return Message(
        index=record.index,
        rule=rule,
        role=Role(record.role),
        types=tuple(map(MessageType, record.types)),
        lane=Lane(record.lane),
        agent_id=agent if isinstance(agent, str) else None,
        lines=tuple(lines[number] for number in own),
        folded=tuple(lines[number] for number in record.lines[record.own_lines :] if number in lines),
        calls=tuple(build_call(call, lines, record.lines) for call in calls),
        prompt=None if rule in UNSAID else prompt_of(lines[own[0]].entry),
        aborted=record.aborted,
    )


def build_call(record: CallRecord, lines: Mapping[int, Line], near: Sequence[int] = ()) -> Call:
    """Return a call, and its result if the line of that is there; raises `KeyError` if its own is not.

    It does not say by what the two were joined, nor where else they stand. `near` are lines in which a copy of
    it may be: where only that has the call's id, it is what tells of the call.
    """
    place = Place(lines[record.line], record.block)
    block = place.block
    by_server = type(block) is McpToolUseBlock
    return Call(
        id=record.id,
        name=record.name,
        category=Category(record.category),
        known=by_server or is_known_tool(record.name),
        place=place,
        told_at=place
        if record.id is None or block.id == record.id
        else _find_copy(record.id, lines, near) or place,
        state=CallState(record.state),
        result=_find_result(record, lines),
        agent_id=record.agent_id,
    )


def is_told_elsewhere(record: CallRecord, lines: Mapping[int, Line]) -> bool:
    """Tell whether only a copy of a call has its id, which is then in a line that is folded."""
    return record.id is not None and Place(lines[record.line], record.block).block.id != record.id


def _find_result(record: CallRecord, lines: Mapping[int, Line]) -> Result | None:
    line = None if record.result_line is None else lines.get(record.result_line)
    if line is None or record.result_block is None:
        return None
    place = Place(line, record.result_block)
    # In spec 000 an error line as a whole is what became of a call.
    return read_result(place, line.entry if isinstance(line.entry, SystemNotice) else place.block)


def _find_copy(id: str, lines: Mapping[int, Line], near: Sequence[int]) -> Place | None:
    for line in (lines[number] for number in near if number in lines):
        for index, block in enumerate(list_blocks(line.entry)):
            if is_call(block) and block.id == id:
                return Place(line, index)
    return None
