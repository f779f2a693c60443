"""One file of a session: windows in both directions, whatever segments they begin and end in."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import turnlog
from memory_session import MemorySession
from turnlog.messages import Position
from turnlog.store.model import SourceKind
from turnlog.testing.builders import FileLines, FileRecords, make_lines, make_message, make_records
from turnlog.transcripts.queries.chapters import CallFilter, Chapter, ChapterFacts, MessageFilter
from turnlog.transcripts.queries.threads import decode_lines
from turnlog.transcripts.segments import SEGMENT, BranchPart, CallRecord, MessageRecord

COUNT = 2 * SEGMENT + 76
SOURCE = "file"
FACTS = ChapterFacts(source=SOURCE, generation=0, is_main=True)
DATA = make_lines(5) + b"{broken\n" + make_lines(COUNT - 7, first=5) + b"not JSON\n"
EDGES = (0, 1, 5, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, COUNT - 1, COUNT, COUNT + 9)
MESSAGE_FILTERS = (
    MessageFilter(),
    MessageFilter(roles=("user",)),
    MessageFilter(roles=("assistant", "tool_use")),
    MessageFilter(lanes=("main",), branch=0),
    MessageFilter(active=True),
    MessageFilter(active=False),
    MessageFilter(categories=("builtin",)),
    MessageFilter(roles=("nobody",)),
    MessageFilter(agent_id="agent-a"),
)


def make_file(data: bytes = DATA) -> FileRecords:
    offset, lines = 0, []
    for raw in data.splitlines(keepends=True):
        lines.append(turnlog.decode(raw.rstrip(b"\n"), at=Position(SOURCE, offset)))
        offset += len(raw)
    return make_records("session-1", FileLines(SOURCE, SourceKind.TRANSCRIPT, tuple(lines)))


RECORDS = make_file()


def open_file(records: FileRecords = RECORDS, data: bytes = DATA) -> tuple[Chapter, MemorySession]:
    reader = MemorySession.build({FACTS: records}, files={(SOURCE, 0): data})
    return Chapter(FACTS, reader), reader


@pytest.fixture
def chapter() -> Chapter:
    return open_file()[0]


def is_wanted(message: MessageRecord, where: MessageFilter) -> bool:
    asked = (
        (message.lane, where.lanes),
        (message.role, where.roles),
        (message.category, where.categories),
    )
    return all(words is None or word in words for word, words in asked) and (
        where.branch in (None, message.branch)
        and where.agent_id in (None, message.agent_id)
        and where.active in (None, message.active)
    )


def test_everything_is_counted_without_a_segment() -> None:
    chapter, reader = open_file()
    assert (chapter.count_lines, chapter.count_messages) == (COUNT, len(RECORDS.messages))
    assert chapter.count_calls == len(RECORDS.calls)
    assert reader.loaded == []


def test_an_empty_file_has_nothing() -> None:
    chapter, _ = open_file(FileRecords(), b"")
    assert (chapter.count_lines, chapter.count_messages, chapter.count_calls) == (0, 0, 0)
    assert [
        *chapter.list_lines(),
        *chapter.list_messages(),
        *chapter.list_calls(),
        *chapter.list_flawed(),
    ] == []
    assert chapter.list_after(0, 9) == chapter.list_before(9, 9) == chapter.list_at([0]) == []
    assert (chapter.find_line(0), chapter.find_message("m"), chapter.find_reached(1 << 60)) == (
        None,
        None,
        None,
    )
    assert [*chapter.list_branches(), *chapter.find_calls(["c"]), *chapter.list_calls_at([0])] == []
    with pytest.raises(KeyError):
        chapter.get_line(0)


@pytest.mark.parametrize("first", EDGES)
def test_lines_and_messages_come_in_windows(chapter: Chapter, first: int) -> None:
    for count in (None, 0, 1, 3, SEGMENT, COUNT):
        end = None if count is None else first + count
        assert [*chapter.list_lines(first, count)] == [*RECORDS.lines[first:end]]
        assert [*chapter.list_messages(first, count)] == [*RECORDS.messages[first:end]]


@pytest.mark.parametrize("where", MESSAGE_FILTERS)
def test_windows_go_in_both_directions_and_have_what_is_wanted(chapter: Chapter, where: MessageFilter) -> None:
    for at in EDGES:
        above = [each for each in RECORDS.messages[:at] if is_wanted(each, where)]
        below = [each for each in RECORDS.messages[at:] if is_wanted(each, where)]
        for count in (0, 1, 3, 1000):
            assert chapter.list_after(at, count, where) == below[:count]
            assert chapter.list_before(at, count, where) == above[max(len(above) - count, 0) :]


def test_before_the_first_there_is_nothing(chapter: Chapter) -> None:
    assert chapter.list_after(-5, 2) == [*RECORDS.messages[:2]]
    assert chapter.list_before(-5, 2) == []


def test_a_window_loads_the_segments_that_it_is_in() -> None:
    chapter, reader = open_file()
    chapter.list_after(SEGMENT + 5, 3)
    chapter.list_before(SEGMENT + 5, 3)
    chapter.get_line(SEGMENT)
    chapter.list_at([SEGMENT + 9])
    assert {number for _, number in reader.loaded} == {1}


def test_a_line_is_found_by_its_number_and_by_its_byte(chapter: Chapter) -> None:
    for line in (RECORDS.lines[at] for at in (0, 5, SEGMENT - 1, SEGMENT, COUNT - 1)):
        assert chapter.get_line(line.number) == line
        assert chapter.find_line(line.offset) == line
        assert chapter.find_line(line.offset + 1) is None
    assert chapter.find_line(-1) is None
    for number in (-1, COUNT):
        with pytest.raises(KeyError):
            chapter.get_line(number)


def test_lines_are_read_as_they_stand(chapter: Chapter) -> None:
    lines = DATA.splitlines()
    numbers = [COUNT - 1, 3, SEGMENT, 3]
    assert chapter.read_raw(numbers) == {at: lines[at] for at in sorted(set(numbers))}
    found = decode_lines(chapter, numbers)
    assert {at: line.raw for at, line in found.items()} == chapter.read_raw(numbers)
    assert [line.at for line in found.values()] == [
        Position(SOURCE, RECORDS.lines[at].offset) for at in sorted(set(numbers))
    ]
    assert chapter.measure([0, 7]) == len(lines[0]) + len(lines[7])
    assert chapter.read_raw([]) == {}


def test_bytes_that_are_gone_are_missing() -> None:
    chapter, _ = open_file(data=DATA[:1000])
    assert chapter.read_raw([0])
    with pytest.raises(KeyError):
        chapter.read_raw([0, COUNT - 1])


def test_flawed_lines_are_listed(chapter: Chapter) -> None:
    flawed = [line.number for line in chapter.list_flawed()]
    assert flawed == [line.number for line in RECORDS.lines if line.problems] == [5, COUNT - 1]


def test_messages_are_found_by_indexes_and_ids(chapter: Chapter) -> None:
    wanted = [SEGMENT, 3, 3, -1, COUNT + 7, COUNT - 1]
    assert chapter.list_at(wanted) == [RECORDS.messages[at] for at in (3, SEGMENT, COUNT - 1)]
    for at in (0, 17, SEGMENT + 1):
        assert chapter.find_message(RECORDS.messages[at].id) == RECORDS.messages[at]
    assert chapter.find_message("nobody") is None
    # Part of another id, which the packed bytes have.
    assert chapter.find_message(RECORDS.messages[17].id[:-3]) is None


def test_of_messages_with_the_same_id_the_first_is_found() -> None:
    messages = tuple(replace(message, id=f"m{message.index % 7}") for message in RECORDS.messages)
    chapter, _ = open_file(replace(RECORDS, messages=messages))
    assert chapter.find_message("m6") == messages[6]


def test_a_message_is_found_by_the_time_that_was_reached(chapter: Chapter) -> None:
    times = sorted({message.reached or 0 for message in RECORDS.messages})
    for at in (0, times[0] - 1, times[0], times[5] + 1, times[SEGMENT], times[-1], times[-1] + 99):
        reached = [message for message in RECORDS.messages if (message.reached or 0) <= at]
        assert chapter.find_reached(at) == (reached[-1] if reached else None)


def test_what_was_reached_is_found_behind_segments_without_messages() -> None:
    lines = tuple(replace(line, message=None) for line in RECORDS.lines)
    messages = tuple(make_message(at, at, reached=RECORDS.lines[at].time) for at in range(3))
    chapter, _ = open_file(FileRecords(lines=lines, messages=messages))
    assert chapter.find_reached(1 << 60) == messages[2]
    assert [*chapter.list_messages()] == [*messages]
    assert chapter.list_before(1000, 2) == [*messages[1:]]


def test_branches_are_told_by_their_messages(chapter: Chapter) -> None:
    expected = []
    for branch in sorted({message.branch for message in RECORDS.messages}):
        own = [message for message in RECORDS.messages if message.branch == branch]
        active = any(message.active for message in own)
        expected.append(BranchPart(branch, own[0].index, own[-1].index, own[0].parent, len(own), active))
    assert chapter.list_branches() == expected


def is_call_wanted(call: CallRecord, where: CallFilter) -> bool:
    return (
        (where.categories is None or call.category in where.categories)
        and (where.states is None or call.state in where.states)
        and where.name in (None, call.name)
    )


@pytest.mark.parametrize(
    "where",
    [
        CallFilter(),
        CallFilter(categories=("builtin",)),
        CallFilter(categories=()),
        CallFilter(states=("resolved", "failed")),
        CallFilter(name="Bash", states=("unresolved",)),
        CallFilter(name="Nothing"),
    ],
)
def test_calls_are_listed_as_they_are_wanted(chapter: Chapter, where: CallFilter) -> None:
    assert [*chapter.list_calls(where)] == [each for each in RECORDS.calls if is_call_wanted(each, where)]


def test_calls_are_found_by_messages_indexes_and_ids(chapter: Chapter) -> None:
    for messages in (range(COUNT), [5, 9, SEGMENT + 1], [0], []):
        found = chapter.list_calls_of(chapter.list_at(messages))
        own = [call for call in RECORDS.calls if call.message in messages]
        assert [call for calls in found.values() for call in calls] == own
        assert all(call.message == at for at, calls in found.items() for call in calls)
    last = len(RECORDS.calls) - 1
    assert chapter.list_calls_at([last, 0, 0, -1, last + 1]) == [RECORDS.calls[0], RECORDS.calls[last]]
    ids = {RECORDS.calls[at].id or "" for at in (1, last)} | {"nobody"}
    assert [*chapter.find_calls(ids)] == [call for call in RECORDS.calls if call.id in ids]
    assert [*chapter.find_calls(())] == []


def test_the_calls_of_a_message_may_stand_in_several_segments() -> None:
    message = make_message(0, 0, lines=(0, SEGMENT + 2, 3), own_lines=2, calls=2)
    calls = tuple(
        replace(RECORDS.calls[0], index=at, line=line, message=0) for at, line in enumerate((0, SEGMENT + 2))
    )
    chapter, _ = open_file(FileRecords(lines=RECORDS.lines, messages=(message,), calls=calls))
    assert chapter.list_calls_of([message]) == {0: [*calls]}


def test_events_are_listed_and_found_by_their_lines(chapter: Chapter) -> None:
    assert [*chapter.list_events()] == [*RECORDS.events]
    hooks = [event for event in RECORDS.events if event.hook is not None]
    assert [*chapter.list_events(hooks_only=True)] == hooks
    assert [*chapter.list_events(1)] == [event for event in RECORDS.events if event.line >= SEGMENT]
    assert chapter.list_events_at([SEGMENT + 3, 3, 4, -1, COUNT]) == [
        event for event in RECORDS.events if event.line in (3, SEGMENT + 3)
    ]


def test_what_is_said_about_usage_is_listed(chapter: Chapter) -> None:
    assert [*chapter.list_sightings()] == [*RECORDS.sightings]
