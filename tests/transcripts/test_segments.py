"""Segments: records come back as they were packed, and a file that grows has those that it has all at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from zstandard import ZstdCompressor

import turnlog
from golden import DATA
from made_up_lines import made_up_lines
from turnlog.ingest.derivation import Deriver, derive
from turnlog.messages import Line, Position
from turnlog.store.batch import Derived
from turnlog.testing.batch_contract import merge_derived
from turnlog.testing.builders import FileRecords, make_lines, make_message, pack_records, unpack_records
from turnlog.transcripts.line_reader import read_lines
from turnlog.transcripts.segment_builder import pack_lines
from turnlog.transcripts.segments import (
    AGENTS,
    PART,
    SEGMENT,
    TURNS,
    AgentRecord,
    BranchPart,
    CallRecord,
    EventRecord,
    LineRecord,
    MessageRecord,
    OutlineKind,
    SightingRecord,
    TurnRecord,
    pack_segment,
    unpack_segment,
)
from turnlog.transcripts.session import Session

GOLDEN = sorted((DATA / "transcripts").rglob("*.jsonl"))
SOURCE = "file"
_EXAMPLES = settings.default.max_examples if settings.default else 100
texts = st.text(st.characters(exclude_categories=()), max_size=8)
"""Also lone surrogates, as in names of files that are no UTF-8, and the mark of what is spelled otherwise."""
integers = st.integers(-(2**63), 2**63 - 1)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Return what a field of a record may have."""
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(*map(values, get_args(kind)))
    if get_origin(kind) is tuple:
        return st.lists(values(get_args(kind)[0]), max_size=3).map(tuple)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: integers, str: texts, bool: st.booleans(), type(None): st.none()
    }  # fmt: skip
    return plain[kind]


def records(kind: type[Any]) -> st.SearchStrategy[list[Any]]:
    """Return lists of records with anything in them."""
    fields = {name: values(type) for name, type in get_type_hints(kind).items()}
    return st.lists(st.builds(kind, **fields), max_size=3)


@given(
    records(LineRecord),
    records(MessageRecord),
    records(CallRecord),
    records(EventRecord),
    records(SightingRecord),
)
def test_records_come_back_as_they_were_packed(
    lines: list[LineRecord],
    messages: list[MessageRecord],
    calls: list[CallRecord],
    events: list[EventRecord],
    sightings: list[SightingRecord],
) -> None:
    data = pack_segment(lines, messages, calls, events, sightings)
    assert pack_segment(lines, messages, calls, events, sightings) == data
    segment = unpack_segment(data)
    assert (segment.lines, segment.messages, segment.calls) == (lines, messages, calls)
    assert (segment.events, segment.sightings) == (events, sightings)
    assert all(segment.may_have_message(message.id) for message in messages)
    assert all(segment.may_have_call(call.id) for call in calls if call.id is not None)
    assert segment == unpack_segment(data)


@given(records(TurnRecord), records(AgentRecord))
def test_turns_and_agents_come_back_as_they_were_packed(
    turns: list[TurnRecord], agents: list[AgentRecord]
) -> None:
    assert TURNS.unpack(TURNS.pack(turns)) == turns
    assert AGENTS.unpack(AGENTS.pack(agents)) == agents


def make_agents(count: int) -> list[AgentRecord]:
    return [
        AgentRecord(index=index, id=f"a{index}", state="done", depth=1, inline=False, background=False)
        for index in range(count)
    ]


def test_an_outline_is_cut_into_parts_and_those_that_have_changed_are_cut_alone() -> None:
    agents = make_agents(2 * PART + 1)
    parts = AGENTS.cut(agents)
    assert [number for number, _ in parts] == [0, 1, 2]
    assert [agent for _, data in parts for agent in AGENTS.unpack(data)] == agents
    assert AGENTS.cut(agents, [PART, PART + 7]) == (parts[1],)
    assert AGENTS.cut(agents, [2 * PART, 2 * PART + 1, 0]) == (parts[0], parts[2])
    assert AGENTS.cut(agents, []) == AGENTS.cut([]) == ()


def test_what_is_not_there_is_told_without_unpacking_it() -> None:
    segment = unpack_segment(pack_segment((), [make_message(0, id="one")], (), (), ()))
    assert segment.may_have_message("one")
    assert not segment.may_have_message("two")
    assert not segment.may_have_message("\ud83d")
    assert not segment.may_have_call("one")


def test_branches_are_told_by_the_messages_that_a_segment_has() -> None:
    parts = [(4, 0, None, True), (5, 2, 4, False), (6, 0, 5, False), (7, 2, 5, False)]
    messages = [
        make_message(index, branch=branch, parent=parent, active=active)
        for index, branch, parent, active in parts
    ]
    branches = unpack_segment(pack_segment((), messages, (), (), ())).branches
    assert branches == [BranchPart(0, 4, 6, None, 2, True), BranchPart(2, 5, 7, 4, 2, False)]


def test_a_section_is_read_when_it_is_asked_for() -> None:
    call = CallRecord(index=0, id="c", name="Bash", category="builtin", state="resolved", line=0, block=0)
    damaged = msgspec.msgpack.encode(([], "nonsense", [call], [[1]], [], [], False))
    segment = unpack_segment(ZstdCompressor().compress(damaged))
    assert segment.calls == [call]
    assert segment.lines == []
    for section in ("messages", "events"):
        with pytest.raises(ValueError, match="Expected"):
            getattr(segment, section)


def compress(value: object) -> bytes:
    return ZstdCompressor().compress(msgspec.msgpack.encode(value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"text",
        compress(b"other bytes"),
        compress({"lines": []}),
        compress(([], [])),
        ZstdCompressor().compress(b"\xc1"),
        ZstdCompressor(write_content_size=False).compress(b"\x00" * 100),
        b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8,  # says that it has 16 EiB
    ],
)
def test_bytes_that_are_no_segment_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"Expected|cannot be decompressed|malformed"):
        unpack_segment(data)
    for kind in (TURNS, AGENTS):
        with pytest.raises(ValueError, match=r"Expected|cannot be decompressed|malformed"):
            kind.unpack(data)


@given(st.data())
def test_damaged_bytes_are_a_clear_error_or_other_records(data: st.DataObject) -> None:
    odd = data.draw(st.sampled_from(["plain", "half \ud83d"]))
    packed = bytearray(pack_segment([], [make_message(at, id=f"{odd} {at}") for at in range(5)], [], [], []))
    at = data.draw(st.integers(0, len(packed) - 1))
    if data.draw(st.booleans()):
        del packed[at:]
    else:
        packed[at] ^= data.draw(st.integers(1, 255))
    try:
        segment = unpack_segment(bytes(packed))
        found = [segment.lines, segment.messages, segment.calls, segment.events, segment.sightings]
    except ValueError:
        return
    assert all(isinstance(section, list) for section in found)


@given(records(LineRecord), st.integers(1, 3))
def test_texts_that_are_no_utf8_change_nothing_else(lines: list[LineRecord], count: int) -> None:
    own = [replace(line, number=at) for at, line in enumerate(lines)]
    odd = [make_message(at, id=f"\udcff{at}", model="\x00plain") for at in range(count)]
    segment = unpack_segment(pack_segment(own, odd, (), (), ()))
    assert (segment.lines, segment.messages) == (own, odd)


# How a file is cut


def decode_all(data: bytes) -> list[Line]:
    offset, found = 0, []
    for raw in data.splitlines(keepends=True):
        found.append(turnlog.decode(raw.rstrip(b"\n"), at=Position(SOURCE, offset)))
        offset += len(raw)
    return found


@pytest.mark.parametrize("count", [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT + 1])
def test_lines_that_are_no_conversation_are_cut_by_their_number(count: int) -> None:
    lines = decode_all(b'{"n":1}\n' * count)
    segments = list(pack_lines(lines))
    assert [segment.head.number for segment in segments] == [*range(-(-count // SEGMENT))]
    assert sum(segment.head.lines for segment in segments) == count
    assert [line.offset for line in unpack_records(segments).lines] == [*range(0, 8 * count, 8)]
    assert all(segment.head.offset == 8 * segment.head.line for segment in segments)


def test_a_line_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="without a place"):
        list(pack_lines([turnlog.decode(b"{}")]))


@pytest.mark.parametrize("count", [1, SEGMENT, SEGMENT + 3, 2 * SEGMENT + 90])
def test_heads_say_what_is_in_a_segment(count: int) -> None:
    """The records of a real file, cut by another piece of code."""
    flawed = make_lines(3) + b"{broken\n"
    lines = decode_all(flawed + make_lines(count, first=3))
    [chapter] = derive_all(lines).chapters
    found = unpack_records(chapter.segments)
    assert [line.number for line in found.lines] == [*range(count + 4)]
    assert [message.index for message in found.messages] == [*range(len(found.messages))]
    assert pack_records(found) == chapter.segments


def test_a_line_has_what_it_says() -> None:
    said = {"type": "user", "uuid": "u", "parentUuid": "p", "sessionId": "s", "isSidechain": True}
    said |= {"message": {"role": "user", "content": "é"}, "timestamp": "2026-01-02T00:00:01.500Z"}
    raw = json.dumps(said).encode()
    [line] = unpack_records(pack_lines([turnlog.decode(raw, at=Position(SOURCE, 7))])).lines
    assert line == LineRecord(
        number=0, offset=7, length=len(raw), type="user", time=1_767_312_001_500_000, uuid="u", parent_uuid="p",
        session_id="s", is_sidechain=True,
    )  # fmt: skip


# How it grows


def derive_all(lines: Sequence[Line]) -> Derived:
    return derive(Session(lines), SOURCE, (), {})


class Growing:
    """A transcript whose lines come in pieces, and what is kept of it."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = [*lines]
        self.deriver = Deriver(Session(lines), SOURCE, ())
        self.derived = self.deriver.build({})

    def extend(self, lines: Sequence[Line]) -> tuple[int, ...]:
        """Take further lines, and return the numbers of the segments that were replaced."""
        self.lines += lines
        new = self.deriver.extend({SOURCE: lines})
        assert new.is_partial
        self.derived = merge_derived(self.derived, new)
        [chapter] = new.chapters
        return tuple(segment.head.number for segment in chapter.segments)

    def check(self) -> None:
        """Check that all is as if the lines had come at once, byte for byte."""
        expected = derive_all(self.lines)
        assert self.derived.chapters == expected.chapters
        assert self.derived.outline == expected.outline
        assert self.derived.session == expected.session
        assert {*self.derived.usage} == {*expected.usage}


def read_golden(path: Path) -> list[Line]:
    """Return the lines of a file whose lines all have places, as the archive has them."""
    found = [line for line in read_lines(path) if line.at is not None]
    return [replace(line, at=Position(SOURCE, line.at.offset)) for line in found if line.at is not None]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_line_by_line_gives_the_segments_of_all_at_once(path: Path) -> None:
    lines = read_golden(path)
    growing = Growing(lines[:1])
    for line in lines[1:]:
        growing.extend([line])
        growing.check()


@given(made_up_lines(), st.lists(st.integers(1, 24), max_size=4))
def test_in_any_pieces_the_segments_are_those_of_all_at_once(lines: list[Line], cuts: list[int]) -> None:
    edges = sorted({min(cut, len(lines)) for cut in cuts} | {len(lines)})
    growing = Growing(lines[: edges[0]])
    for start, end in pairwise(edges):
        growing.extend(lines[start:end])
    growing.check()


@settings(max_examples=max(_EXAMPLES // 5, 5))
@given(made_up_lines(), made_up_lines(), st.integers(SEGMENT - 30, SEGMENT + 2), st.integers(1, 5))
def test_lines_that_concern_earlier_segments_replace_these(
    first: list[Line], last: list[Line], between: int, step: int
) -> None:
    """What comes behind the end of a segment has to do with what is in it, and with what is far above."""
    filler = decode_all(make_lines(between))
    lines = place([*first, *filler, *last])
    growing = Growing(lines[: len(first) + between])
    for start in range(len(first) + between, len(lines), step):
        growing.extend(lines[start : start + step])
    growing.check()


def place(lines: Sequence[Line]) -> list[Line]:
    """Return lines one behind the other."""
    found, offset = [], 0
    for line in lines:
        found.append(replace(line, at=Position(SOURCE, offset)))
        offset += len(line.raw) + 1
    return found


def test_a_file_that_grows_replaces_its_last_segment_alone() -> None:
    lines = decode_all(make_lines(2 * SEGMENT + 40))
    growing = Growing(lines[: 2 * SEGMENT - 6])
    replaced = [growing.extend([line]) for line in lines[2 * SEGMENT - 6 :]]
    assert replaced[:6] == [(1,)] * 6
    assert set(replaced[6:]) <= {(2,), (1, 2)}
    assert replaced.count((1, 2)) <= 1, "the line before the first of a segment may be another one by it"
    growing.check()


def test_a_result_far_below_its_call_replaces_the_segment_of_the_call() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    call = {
        "type": "assistant", "uuid": "call", "parentUuid": None, "sessionId": "s",
        "message": {"role": "assistant", "id": "m", "model": "claude-opus-5", "content": [use]},
        "timestamp": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    back = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    result = {
        "type": "user", "uuid": "result", "parentUuid": "call", "sessionId": "s",
        "message": {"role": "user", "content": [back]}, "timestamp": "2026-01-03T00:00:00.000Z",
    }  # fmt: skip
    filler = make_lines(2 * SEGMENT + 5)
    lines = decode_all(json.dumps(call).encode() + b"\n" + filler + json.dumps(result).encode() + b"\n")
    growing = Growing(lines[:-1])
    [before] = unpack_file(growing.derived).calls
    assert (before.state, before.result_line) == ("unresolved", None)
    replaced = growing.extend(lines[-1:])
    assert {0, 2} <= set(replaced)
    growing.check()
    [after] = unpack_file(growing.derived).calls
    assert (after.state, after.result_line, after.line) == ("resolved", len(lines) - 1, 0)


def unpack_file(derived: Derived) -> FileRecords:
    [chapter] = derived.chapters
    return unpack_records(chapter.segments)


def test_kinds_of_outlines_have_names() -> None:
    assert {each.name for each in (TURNS, AGENTS)} == {"turns", "agents"}
    assert isinstance(TURNS, OutlineKind)
