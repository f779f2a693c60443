"""Reading files: what becomes a line, and going on where reading stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnlog
from golden import DATA
from strategies import damaged
from turnlog.transcripts.line_reader import LineSplitter, Reading, Tail, read_lines, read_new
from turnlog.transcripts.session_files import Change, Checkpoint

FILES = DATA / "transcripts"
ONE, TWO, THREE = (b'{"type":"user","uuid":"%d"}' % n for n in (1, 2, 3))
SEPARATORS = b" \t\r\n\0[],"
WINDOWS = 2 * 2 * 4096
"""What comparing and fingerprinting may read, at most."""


def golden(phenomenon: str) -> Path:
    [path] = (FILES / phenomenon).iterdir()
    return path


def split(data: bytes, chunk_size: int = 1 << 20) -> tuple[list[turnlog.Line], Tail | None]:
    splitter = LineSplitter("a source")
    found = [
        line for at in range(0, len(data), chunk_size) for line in splitter.feed(data[at : at + chunk_size])
    ]
    return found + splitter.finish(), splitter.tail


def raws(found: list[turnlog.Line] | tuple[turnlog.Line, ...]) -> list[bytes]:
    return [line.raw for line in found]


def is_broken(line: turnlog.Line) -> bool:
    return any(problem.kind is turnlog.ProblemKind.MALFORMED for problem in line.problems)


def leftovers(data: bytes, found: list[turnlog.Line], tail: Tail | None) -> Iterator[bytes]:
    """Yield the bytes between lines, and check that lines and tail are where they say they are."""
    at = 0
    for line in found:
        assert line.at is not None
        assert line.at.offset >= at
        yield data[at : line.at.offset]
        at = line.at.offset + len(line.raw)
        assert data[line.at.offset : at] == line.raw
    if tail is not None:
        assert tail.size > 0
        yield data[at : tail.offset]
        at = tail.offset + tail.size
        assert at == len(data)
    yield data[at:]


def assert_all_is_accounted_for(data: bytes, found: list[turnlog.Line], tail: Tail | None) -> None:
    for position, between in enumerate(leftovers(data, found, tail)):
        rest = between.removeprefix(b"\xef\xbb\xbf") if position == 0 else between
        assert not rest.strip(SEPARATORS), rest


@pytest.mark.parametrize(
    ("phenomenon", "uuids"),
    [
        ("glued", ["u-1", "u-2", "u-3"]),
        ("torn-tail", ["u-1"]),
        ("no-final-newline", ["u-1", "u-2"]),
        ("malformed", ["u-1", None, None, "u-3"]),
        ("torn-then-glued", [None, "u-3"]),
        ("crlf", ["u-1", "u-2"]),
        ("byte-order-mark", ["u-1", "u-2"]),
        ("nul-padding", ["u-1", "u-2"]),
        ("blank-lines", ["u-1", "u-2"]),
        ("line-separators", ["u-1", "u-2"]),
        ("zero-bytes", []),
        ("array", ["u-1", "u-2"]),
        ("pretty-array", ["u-1", "u-2"]),
        ("pretty-objects", ["u-1", "u-2"]),
        ("pretty-torn", [None, "u-2", "u-3"]),
        ("log-with-brackets", [None, "u-1", None]),
    ],
)
def test_every_phenomenon_gives_the_lines_it_holds(phenomenon: str, uuids: list[str | None]) -> None:
    reader = read_lines(golden(phenomenon))
    found = list(reader)
    said = [None if is_broken(line) else getattr(line.entry, "uuid", "nothing") for line in found]
    assert said == uuids
    assert [line.problems for line in found if not is_broken(line)] == [()] * (len(uuids) - uuids.count(None))
    assert (reader.tail is not None) == (phenomenon == "torn-tail")
    assert_all_is_accounted_for(golden(phenomenon).read_bytes(), found, reader.tail)


def test_lines_know_their_source_and_offset() -> None:
    path = golden("glued")
    data = path.read_bytes()
    found = list(read_lines(path))
    assert [line.at and line.at.offset for line in found] == [0, data.index(b"}{") + 1, data.index(b"\n") + 1]
    assert {line.at and line.at.source for line in found} == {str(path)}
    assert [line.at and line.at.source for line in read_lines(path, source="here")] == ["here"] * 3


def test_a_line_can_be_read_by_its_offset() -> None:
    path = golden("pretty-array")
    for line in read_lines(path):
        assert line.at is not None
        assert next(read_lines(path, line.at.offset)) == line


def test_a_torn_tail_waits_and_says_where_it_is() -> None:
    found, tail = split(ONE + b"\n" + TWO[:-4])
    assert raws(found) == [ONE]
    assert tail == Tail(len(ONE) + 1, len(TWO) - 4)


def test_a_whole_object_needs_no_newline_but_other_values_do() -> None:
    assert raws(split(ONE + b" ")[0]) == [ONE]
    assert split(b"12") == ([], Tail(0, 2))
    assert raws(split(b"12\n")[0]) == [b"12"]


def test_broken_things_behind_an_object_are_one_broken_line() -> None:
    found, tail = split(ONE + b" oops " + TWO + b"\n" + THREE + b"\n")
    assert raws(found) == [ONE, b"oops " + TWO, THREE]
    assert [is_broken(line) for line in found] == [False, True, False]
    assert tail is None


def test_carriage_returns_and_padding_are_no_part_of_a_line() -> None:
    assert raws(split(ONE + b"\0\0\n" + TWO + b" \r\n\0\0\0" + THREE)[0]) == [ONE, TWO, THREE]


def test_a_byte_order_mark_is_skipped_only_where_the_file_begins() -> None:
    found, _ = split(b"\xef\xbb\xbf" + ONE + b"\n\xef\xbb\xbf" + TWO + b"\n")
    assert raws(found) == [ONE, b"\xef\xbb\xbf" + TWO]
    assert [bool(line.problems) for line in found] == [False, True]


def test_commas_and_brackets_separate_only_inside_arrays() -> None:
    found, _ = split(b"[" + ONE + b",\n\n" + TWO + b"\n]\n" + THREE + b"\n,\n]\n[1]\n")
    assert raws(found) == [ONE, TWO, THREE, b",", b"]", b"[1]"]


def test_an_empty_array_holds_no_lines() -> None:
    assert split(b"[]\n") == ([], None)
    assert split(b"[\n]") == ([], None)
    assert split(b"[") == ([], Tail(0, 1))


def test_a_broken_item_does_not_hide_the_next_line_of_an_array() -> None:
    found, _ = split(b"[\n" + ONE + b",\n{oops},\n" + TWO + b"\n]")
    assert raws(found) == [ONE, b"{oops},", TWO]


def test_a_pretty_object_that_is_not_finished_waits() -> None:
    data = json.dumps({"type": "user", "message": {"role": "user", "content": "x"}}, indent=1).encode()
    for end in range(2, len(data)):
        assert split(data[:end]) == ([], Tail(0, end))
    assert raws(split(data)[0]) == [data]


def test_a_pretty_object_with_an_open_string_is_one_broken_line() -> None:
    data = b'{\n  "type": "user,\n'
    found, tail = split(data + ONE + b"\n")
    assert raws(found) == [data.strip(), ONE]
    assert tail is None


def test_a_pretty_object_that_is_no_json_is_one_broken_line() -> None:
    found, _ = split(b"{\n  1: 2\n}\n" + ONE)
    assert raws(found) == [b"{\n  1: 2\n}", ONE]
    assert split(b"{\n  1: 2\n}") == ([], Tail(0, 10))


def test_text_ends_a_pretty_object() -> None:
    found, _ = split(b'{\n  "a": [\n<log>\n' + ONE)
    assert raws(found) == [b'{\n  "a": [', b"<log>", ONE]


def test_a_pretty_object_without_an_end_does_not_hold_the_whole_file() -> None:
    row = b'"' + b"x" * (1 << 20) + b'",\n'
    splitter = LineSplitter("a source")
    found = splitter.feed(b"[{\n")
    rows = 0
    while not found:
        found = splitter.feed(row)
        rows += 1
    assert 64 <= rows <= 66
    assert [is_broken(line) for line in found] == [True] * len(found)
    assert splitter.consumed == 3 + rows * len(row)


def test_deep_nesting_costs_no_stack() -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    found, _ = split(deep + ONE + b"\n" + TWO)
    assert b"".join(raws(found)) == deep + ONE + TWO


def test_memory_holds_one_chunk_and_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes((ONE + b"\n") * 10_000)
    reader = read_lines(path, chunk_size=1000)
    next(reader)
    assert reader.bytes_read == 1000
    assert sum(1 for _ in reader) == 9_999
    assert reader.bytes_read == path.stat().st_size


def test_a_missing_file_is_an_error_for_who_reads_it_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_lines(tmp_path / "none.jsonl"))


OBJECTS: list[object] = [
    {},
    {"type": "user", "uuid": "\u2028"},
    {"a": ["}", {"b": '\\"'}], "c": {}},
    {"d": [[], {}]},
]
WRITTEN = [json.dumps(value, indent=indent).encode() for value in OBJECTS for indent in (None, 0, 2)]
MARKS = [b"", b"\0\0", b"[", b"]", b"{", b"}", b"[{", b"},{", b",", b'"', b'{"', b'{"a":1,', b"12", b"log"]
MARKS += [b"\xef\xbb\xbf"]
ENDINGS = [b"\n", b"\n", b"\n", b"\r\n", b"", b" ", b",", b",\n"]

whole = st.sampled_from(WRITTEN)
arrays = st.builds(
    lambda items, comma: b"[" + comma.join(items) + b"]",
    st.lists(whole, max_size=3),
    st.sampled_from([b",", b", ", b",\n", b"\n,\n"]),
)
torn = st.builds(lambda text, end: text[: end % (len(text) + 1)], whole, st.integers(0, 80))
pieces = st.one_of(whole, whole, torn, arrays, st.sampled_from(MARKS))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """The bytes of a file that has lines, and much else."""
    parts = draw(st.lists(st.tuples(pieces, st.sampled_from(ENDINGS)), max_size=8))
    return b"".join(piece + ending for piece, ending in parts)


@given(files(), st.data())
def test_reading_in_two_cuts_gives_what_reading_at_once_gives(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, draw: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / f"cuts-{os.getpid()}.jsonl"
    cut = draw.draw(st.integers(0, len(data)))
    path.write_bytes(data[:cut])
    first = read_new(path, source="a source")
    with path.open("ab") as file:
        file.write(data[cut:])
    second = read_new(path, first.checkpoint)
    at_once, tail = split(data)
    assert [*first.lines, *second.lines] == at_once
    assert second.tail == tail
    assert second.change in ([Change.APPENDED] if second.lines else [Change.APPENDED, Change.UNCHANGED])


@given(files(), st.integers(1, 40))
def test_the_size_of_chunks_makes_no_difference(data: bytes, chunk_size: int) -> None:
    assert split(data, chunk_size) == split(data)


@given(st.one_of(files(), st.binary(), st.lists(damaged(), max_size=2).map(b"\n".join)))
def test_lines_separators_and_tail_are_all_there_is(data: bytes) -> None:
    found, tail = split(data)
    assert_all_is_accounted_for(data, found, tail)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes((ONE + b"\n") * 2000)
    return path


def known(reading: Reading) -> Checkpoint:
    assert reading.checkpoint is not None
    return reading.checkpoint


def test_a_new_file_is_read_from_its_start(session: Path) -> None:
    reading = read_new(session)
    assert reading.change is Change.NEW
    assert len(reading.lines) == 2000
    assert (known(reading).offset, known(reading).generation) == (session.stat().st_size, 0)


def test_an_appended_line_costs_its_own_bytes_and_two_fingerprints(session: Path) -> None:
    before = known(read_new(session))
    with session.open("ab") as file:
        file.write(TWO + b"\n")
    reading = read_new(session, before)
    assert reading.change is Change.APPENDED
    assert raws(reading.lines) == [TWO]
    assert reading.lines[0].at == turnlog.Position(str(session), before.offset)
    assert len(TWO) < reading.bytes_read <= len(TWO) + 1 + WINDOWS
    assert known(reading).generation == 0


def test_an_unchanged_file_costs_fingerprints_only(session: Path) -> None:
    before = read_new(session)
    reading = read_new(session, before.checkpoint)
    assert (reading.change, reading.lines, reading.checkpoint) == (Change.UNCHANGED, (), before.checkpoint)
    assert reading.bytes_read <= WINDOWS


def test_a_torn_tail_is_given_out_once_it_is_whole(session: Path) -> None:
    before = read_new(session)
    with session.open("ab") as file:
        file.write(TWO[:5])
    torn = read_new(session, before.checkpoint)
    assert (torn.change, torn.tail) == (Change.UNCHANGED, Tail(known(before).offset, 5))
    with session.open("ab") as file:
        file.write(TWO[5:])
    whole = read_new(session, torn.checkpoint)
    assert raws(whole.lines) == [TWO]
    with session.open("ab") as file:
        file.write(b"\n")
    assert read_new(session, whole.checkpoint).lines == ()


def test_a_tail_that_is_taken_back_changes_nothing(session: Path) -> None:
    size = session.stat().st_size
    with session.open("ab") as file:
        file.write(TWO[:5])
    before = known(read_new(session))
    os.truncate(session, size)
    reading = read_new(session, before)
    assert (reading.change, reading.tail, known(reading).generation) == (Change.UNCHANGED, None, 0)


def test_a_truncated_file_starts_a_new_generation(session: Path) -> None:
    before = known(read_new(session))
    os.truncate(session, len(ONE) + 1)
    reading = read_new(session, before)
    assert reading.change is Change.TRUNCATED
    assert raws(reading.lines) == [ONE]
    assert (known(reading).offset, known(reading).generation) == (len(ONE) + 1, 1)


@pytest.mark.parametrize("at", [0, -1])
@pytest.mark.parametrize("longer", [0, 500])
def test_other_bytes_under_the_same_inode_start_a_new_generation(session: Path, at: int, longer: int) -> None:
    before = known(read_new(session))
    every = [ONE] * (2000 + longer)
    every[at if not longer else 0] = TWO
    with session.open("r+b") as file:
        file.write(b"".join(line + b"\n" for line in every))
    reading = read_new(session, before)
    assert reading.change is Change.REWRITTEN
    assert raws(reading.lines) == every
    assert (known(reading).generation, known(reading).inode) == (1, before.inode)


def test_another_file_under_the_same_name_starts_a_new_generation(session: Path) -> None:
    before = known(read_new(session))
    other = session.with_name("other")
    other.write_bytes(TWO + b"\n" + THREE + b"\n")
    other.replace(session)
    reading = read_new(session, before)
    assert (reading.change, raws(reading.lines)) == (Change.REPLACED, [TWO, THREE])
    assert (known(reading).generation, known(reading).inode) == (1, session.stat().st_ino)


@pytest.mark.parametrize(("content", "change"), [(ONE, Change.UNCHANGED), (TWO, Change.REPLACED)])
def test_a_copy_with_the_same_times_counts_as_the_file_if_it_says_the_same(
    session: Path, content: bytes, change: Change
) -> None:
    before = known(read_new(session))
    other = session.with_name("other")
    other.write_bytes((content + b"\n") * 2000)
    os.utime(other, ns=(before.modified_ns, before.modified_ns))
    other.replace(session)
    reading = read_new(session, before)
    assert reading.change is change
    assert known(reading).inode == session.stat().st_ino != before.inode


def test_a_file_system_without_inodes_is_no_reason_to_read_again(session: Path) -> None:
    before = known(read_new(session))
    bare = Checkpoint(before.source, before.offset, before.size, before.fingerprint)
    assert read_new(session, bare).change is Change.UNCHANGED


def test_a_deleted_file_has_vanished_and_keeps_its_checkpoint(session: Path) -> None:
    before = known(read_new(session))
    session.unlink()
    assert read_new(session, before) == Reading(Change.VANISHED, checkpoint=before)
    assert read_new(session) == Reading(Change.VANISHED)
    assert read_new(session / "inside").change is Change.VANISHED


def test_what_is_no_file_is_unreadable(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        reading = read_new(path)
        assert (reading.change, reading.reason) == (Change.UNREADABLE, "not a regular file")


def test_what_the_system_refuses_is_unreadable(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    reading = read_new(loop)
    assert reading.change is Change.UNREADABLE
    assert reading.reason


def test_a_limit_reads_a_large_file_in_parts(session: Path) -> None:
    found: list[turnlog.Line] = []
    reading = read_new(session, limit=10_000)
    while reading.more:
        found += reading.lines
        assert 0 < len(reading.lines) < 500
        reading = read_new(session, reading.checkpoint, limit=10_000)
    assert [*found, *reading.lines] == list(read_lines(session))


def test_a_limit_never_stops_before_a_line_is_whole(session: Path) -> None:
    assert raws(read_new(session, limit=1).lines) == [ONE]


def test_an_item_added_to_an_array_is_an_appended_line(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps([json.loads(ONE), json.loads(TWO)], indent=2) + "\n")
    first = read_new(path)
    path.write_text(json.dumps([json.loads(ONE), json.loads(TWO), json.loads(THREE)], indent=2) + "\n")
    second = read_new(path, first.checkpoint)
    assert second.change is Change.APPENDED
    assert [*first.lines, *second.lines] == list(read_lines(path))
    assert len(second.lines) == 1


@pytest.mark.parametrize("channel", ["sessions", "stream", "hooks"])
def test_every_byte_of_real_files_is_accounted_for(corpus: Path, channel: str) -> None:
    for path in sorted((corpus / channel).rglob("*")):
        if path.is_file():
            reader = read_lines(path)
            found = list(reader)
            assert_all_is_accounted_for(path.read_bytes(), found, reader.tail)
            assert reader.bytes_read == path.stat().st_size
            reading = read_new(path)
            assert list(reading.lines) == found
            assert read_new(path, reading.checkpoint).lines == ()
