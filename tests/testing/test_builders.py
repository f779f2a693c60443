"""What tests are made of is right itself."""

from __future__ import annotations

import pytest
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields, replace

from turnlog import decode
from turnlog.store.batch import SessionBatch
from turnlog.store.frames import open_frame
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import SourceKind
from turnlog.testing import make_batch, make_key, make_line, make_lines
from turnlog.testing.checks import get_derived, unpack_files
from turnlog.transcripts.segments import AGENTS, TURNS
from turnlog.transcripts.session_files import Change

TRANSCRIPT = "session-1.jsonl"
AGENT = "session-1/subagents/agent-a1.jsonl"


def know(batch: SessionBatch) -> KnownSession:
    """Return what a store knows that has only this batch."""
    return KnownSession(
        key=batch.key,
        revision=1,
        session_id=batch.session_id,
        project_folder=batch.project_folder,
        derivation=batch.derivation,
        sources=tuple(
            KnownSource(
                source=source.source,
                kind=source.kind,
                path=source.path,
                present=True,
                generation=source.generation,
                length=source.length,
                consumed=source.consumed,
                in_array=source.in_array,
                lines=source.lines,
                checkpoint=source.checkpoint,
            )
            for source in batch.sources
        ),
    )


def test_lines_are_lines_without_a_problem() -> None:
    for line in (make_line(), make_line(3, type="assistant"), make_line(4, agent_id="a1")):
        assert decode(line.rstrip(b"\n")).problems == ()


def test_a_line_follows_on_the_one_before() -> None:
    first, second = (decode(line).entry for line in make_lines(2).splitlines())
    assert getattr(second, "parent_uuid", None) == getattr(first, "uuid", "")


def test_frames_hold_the_bytes_of_the_files() -> None:
    data = make_lines(3000)
    [source] = make_batch({TRANSCRIPT: data}).sources
    assert b"".join(open_frame(frame) for frame in source.frames) == data
    assert len(source.frames) > 1
    assert source.sealed == source.frames[-1].start


def test_every_field_of_records_differs_from_its_default_somewhere() -> None:
    batch = make_batch({TRANSCRIPT: make_lines(9) + b"{broken\n", AGENT: make_lines(4, agent_id="a1")})
    more = make_batch(
        {"session-1/a/agent-a0.jsonl": make_lines(4, agent_id="a0"), AGENT: make_lines(4, agent_id="a1")}
    )
    derived = [get_derived(made) for made in (batch, more)]
    files = [file for made in derived for file in unpack_files(made).values()]
    parts = [(each.kind, data) for made in derived for each in made.outline for _, data in each.parts]
    groups: tuple[list[Struct], ...] = (
        [each for file in files for each in file.lines],
        [each for file in files for each in file.messages],
        [each for file in files for each in file.calls],
        [each for file in files for each in file.events],
        [each for file in files for each in file.sightings],
        [each for kind, data in parts if kind == TURNS.name for each in TURNS.unpack(data)],
        [each for kind, data in parts if kind == AGENTS.name for each in AGENTS.unpack(data)],
        [made.session.head for made in derived if made.session.head is not None],
    )
    for records in groups:
        for field in fields(type(records[0])):
            default = None if field.default is NODEFAULT else field.default
            assert any(getattr(record, field.name) != default for record in records), field.name


@pytest.mark.parametrize(
    ("after", "change", "generation", "lines"),
    [
        (make_lines(3), Change.APPENDED, 0, 1),
        (make_lines(2) + b'{"torn', Change.APPENDED, 0, 0),
        (make_lines(1), Change.TRUNCATED, 1, 1),
        (make_lines(4, first=3), Change.REWRITTEN, 1, 4),
    ],
)
def test_what_is_new_is_told_from_what_is_known(
    after: bytes, change: Change, generation: int, lines: int
) -> None:
    known = know(make_batch({TRANSCRIPT: make_lines(2)}))
    [source] = make_batch({TRANSCRIPT: after}, known=known).sources
    assert (source.change, source.generation, source.lines) == (change, generation, lines)
    assert source.start == (0 if generation else len(make_lines(2)))
    assert b"".join(open_frame(frame) for frame in source.frames) == after[source.start :]


def test_files_that_are_missing_have_vanished_and_those_that_are_as_they_were_are_left_out() -> None:
    files = {TRANSCRIPT: make_lines(2), AGENT: make_lines(2, agent_id="a1")}
    known = know(make_batch(files))
    batch = make_batch({TRANSCRIPT: files[TRANSCRIPT]}, known=known)
    assert [(source.change, source.kind) for source in batch.sources] == [(Change.VANISHED, SourceKind.AGENT)]
    assert batch.derived is None
    assert make_batch(files, known=known).sources == ()


def test_a_moved_file_keeps_its_source() -> None:
    known = know(make_batch({TRANSCRIPT: make_lines(2)}))
    moved = {"else/where.jsonl": TRANSCRIPT}
    [source] = make_batch({"else/where.jsonl": make_lines(2)}, known=known, moved=moved).sources
    assert (source.source, source.change, source.kind) == (make_key(), Change.UNCHANGED, SourceKind.TRANSCRIPT)
    gone = replace(known, sources=(replace(known.sources[0], present=False),))
    [source] = make_batch({TRANSCRIPT: make_lines(2)}, known=gone).sources
    assert source.change is Change.UNCHANGED
