"""The store is checked against the bytes: what was tampered with is found, named and repaired."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from msgspec import msgpack
from msgspec.structs import replace
from zstandard import ZstdCompressor, ZstdDecompressor

from session_records import list_messages, list_records
from turnlog.ingest.change_check import DERIVATION
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import Checked, Disagreement, Subject, check_session, repair_session
from turnlog.store.interface import Flaw, KnownSession, MaintainedStore, read_all
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.segments import TURNS, TurnRecord, pack_segment, unpack_segment

DATA = Path(__file__).parents[1] / "data"
Tampering = str | Callable[[apsw.Connection], None]
SECTIONS = ("lines", "messages", "calls", "events", "sightings")


class Archive:
    """A store with two sessions, which can be tampered with behind its back."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "turnlog.db"
        self.project = folder / "claude" / "projects" / "-home-ada-tea"
        shutil.copytree(DATA / "cli" / "tour", self.project)
        shutil.copy(DATA / "transcripts" / "turns" / "session.jsonl", self.project / "s1.jsonl")
        self.store: MaintainedStore = open_store(self.path)
        sync(self.store, self.path, locate_sessions([folder / "claude"]).sessions, origin="here")

    def tamper(self, change: Tampering) -> None:
        """Change the database as no program should; it must change something."""
        self.store.close()
        connection = apsw.Connection(str(self.path))
        if isinstance(change, str):
            connection.execute(change)
        else:
            change(connection)
        assert connection.changes() > 0
        connection.close()
        self.store = open_store(self.path)

    def known(self, name: str) -> KnownSession:
        """Return the session whose transcript is called so."""
        return next(k for k in self.store.list_known(LOCAL) if any(s.path.endswith(name) for s in k.sources))

    def check(self) -> list[Disagreement]:
        """Return all that disagrees."""
        return [
            found
            for known in self.store.list_known(LOCAL)
            for found in check_session(self.store, LOCAL, known).disagreements
        ]

    def repair(self, known: KnownSession, flaws: tuple[Flaw, ...] = ()) -> Checked:
        """Mend one session."""
        return repair_session(self.store, LOCAL, known, flaws)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(tmp_path)
    yield archive
    archive.store.close()


NEWEST = "(SELECT newest FROM sources WHERE CAST(path AS TEXT) LIKE '%/s1.jsonl')"
OF_TRANSCRIPT = f"generation = {NEWEST}"
S1 = "file_id = CAST('s1' AS BLOB)"
OF_SESSION = f"session = (SELECT id FROM sessions WHERE {S1})"
FLIPPED = f"""
UPDATE tail_frames SET data = CAST(substr(data, 1, 40) || x'00' || substr(data, 42) AS BLOB)
WHERE {OF_TRANSCRIPT}
"""

FILE = "(SELECT id FROM sources WHERE CAST(path AS TEXT) LIKE '%{}')"
OF_FILE = f"source = {FILE}"
DAMAGED = f"""
UPDATE segment_data SET packed = CAST(substr(packed, 1, 20) AS BLOB)
WHERE {OF_FILE.format("/s1.jsonl")}
"""


def alter(section: str, at: int, file: str = "s1.jsonl", **values: object) -> Tampering:
    """Give a record of a file's segment other values; without any, drop it."""

    def change(connection: apsw.Connection) -> None:
        of_file = OF_FILE.format(f"/{file}")
        [(data,)] = connection.execute(f"SELECT packed FROM segment_data WHERE {of_file}")
        segment = unpack_segment(data)
        records = {each: [*getattr(segment, each)] for each in SECTIONS}
        records[section][at : at + 1] = [replace(records[section][at], **values)] if values else []
        packed = pack_segment(*records.values())
        connection.execute(f"UPDATE segment_data SET packed = ? WHERE {of_file}", (packed,))

    return change


def add_turn(connection: apsw.Connection) -> None:
    """Add a part with a turn that nobody took."""
    turn = TurnRecord(index=99, prompt=0, last=0, messages=0, calls=0, agents=0, files_changed=0)
    connection.execute(
        f"INSERT INTO outlines SELECT id, 'turns', 1, ? FROM sessions WHERE {S1}",
        (TURNS.pack([turn]),),
    )


def alter_branch(connection: apsw.Connection) -> None:
    """Let a branch have more messages than there are, which follows from no other record."""
    of_file = OF_FILE.format("/s1.jsonl")
    [(data,)] = connection.execute(f"SELECT packed FROM segment_data WHERE {of_file}")
    *sections, branches, escaped = msgpack.decode(ZstdDecompressor().decompress(data))
    branches[0][4] += 1
    packed = ZstdCompressor(level=3).compress(msgpack.encode((*sections, branches, escaped)))
    connection.execute(f"UPDATE segment_data SET packed = ? WHERE {of_file}", (packed,))


TAMPERED = [
    pytest.param(alter("lines", 3), Subject.LINES, "line", "row 3 is missing", id="a dropped line"),
    pytest.param(
        alter("lines", 2, time=1), Subject.LINES, "line", "row 2 differs in time", id="an altered line"
    ),
    pytest.param(
        f"UPDATE generations SET lines = lines + 1 WHERE id = {NEWEST}",
        Subject.LINES,
        "s1.jsonl (generation 0)",
        "15 lines are known, 14 are there",
        id="a line too many",
    ),
    pytest.param(alter("messages", 2), Subject.ROWS, "message", "row 2 is missing", id="a dropped message"),
    pytest.param(
        f"UPDATE sessions SET output_tokens = output_tokens + 1 WHERE {S1}",
        Subject.ROWS,
        "session",
        "row 0 differs in output_tokens",
        id="an altered sum",
    ),
    pytest.param(
        f"UPDATE sessions SET is_listed = 0 WHERE {S1}",
        Subject.ROWS,
        "session",
        "row 0 is missing",
        id="a session that is not listed",
    ),
    pytest.param(
        f"DELETE FROM summaries WHERE {OF_SESSION}",
        Subject.ROWS,
        "session",
        "row 0 differs in summary",
        id="no summary",
    ),
    pytest.param(
        f"UPDATE summaries SET data = x'00' WHERE {OF_SESSION}",
        Subject.ROWS,
        "session",
        "cannot be read: ",
        id="a damaged row",
    ),
    pytest.param(DAMAGED, Subject.ROWS, "segment", "cannot be read: ", id="a damaged segment"),
    pytest.param(
        f"DELETE FROM segments WHERE {OF_FILE.format('/s1.jsonl')}",
        Subject.ROWS,
        "segment",
        "0 segments are there, 1 should be",
        id="no segment",
    ),
    pytest.param(
        f"DELETE FROM segment_data WHERE {OF_FILE.format('/s1.jsonl')}",
        Subject.ROWS,
        "segment",
        "cannot be read: ",
        id="no records of a segment",
    ),
    pytest.param(
        f"UPDATE segments SET reached = reached + 1 WHERE {OF_FILE.format('/s1.jsonl')}",
        Subject.ROWS,
        "segment",
        "the head of segment 0 differs",
        id="an altered head",
    ),
    pytest.param(
        alter_branch, Subject.ROWS, "segment", "the branches of segment 0 differ", id="an altered branch"
    ),
    pytest.param(
        alter("calls", 0, name="Other"), Subject.ROWS, "call", "row 0 differs in name", id="an altered call"
    ),
    pytest.param(
        alter("lines", 1, message=77),
        Subject.LINES,
        "line",
        "row 1 differs in message",
        id="a line that went elsewhere",
    ),
    pytest.param(
        alter("sightings", 0, output=7),
        Subject.ROWS,
        "sighting",
        "row 236 differs in output",
        id="an altered figure",
    ),
    pytest.param(add_turn, Subject.ROWS, "turn", "row 99 should not be there", id="a row too many"),
]


def test_what_was_just_written_agrees(archive: Archive) -> None:
    assert archive.check() == []
    assert archive.store.list_flaws(LOCAL) == []


@pytest.mark.parametrize(("change", "subject", "where", "message"), TAMPERED)
def test_what_was_tampered_with_is_found_named_and_mended(
    archive: Archive, change: Tampering, subject: Subject, where: str, message: str
) -> None:
    before = archive.known("s1.jsonl")
    records = list_records(archive.store, before.key)
    archive.tamper(change)
    known = archive.known("s1.jsonl")
    [found] = archive.check()
    assert (found.session, found.subject) == (known.key, subject)
    assert found.where.endswith(where)
    assert found.message.startswith(message)
    assert archive.repair(known) == Checked((), (found,))
    assert archive.check() == []
    assert list_records(archive.store, known.key) == records
    last = archive.store.read_feed(LOCAL, 0).entries[-1]
    assert (last.session, last.revision) == (known.key, known.revision + 1)


def test_rows_of_an_agents_file_are_named_by_it(archive: Archive) -> None:
    archive.tamper(alter("messages", 0, "agent-a1b2c3.jsonl", aborted=True))
    found = archive.check()
    assert {each.where for each in found} == {"message of agent-a1b2c3.jsonl"}
    assert found[0].message == "row 0 differs in aborted"


def test_a_session_that_follows_older_rules_is_told_and_derived_anew(archive: Archive) -> None:
    archive.tamper(f"DELETE FROM segments WHERE {OF_FILE.format('/s1.jsonl')}")
    archive.tamper(f"UPDATE sessions SET derivation = 1 WHERE {S1}")
    known = archive.known("s1.jsonl")
    [found] = archive.check()
    assert (found.session, found.where) == (known.key, "session")
    assert "older rules" in found.message
    assert archive.repair(known) == Checked((), (found,))
    assert archive.known("s1.jsonl").derivation == DERIVATION
    assert archive.check() == []


def test_a_session_that_agrees_is_not_written(archive: Archive) -> None:
    last = archive.store.read_feed(LOCAL).last
    assert archive.repair(archive.known("s1.jsonl")) == Checked(())
    assert archive.store.read_feed(LOCAL).last == last


def test_a_flipped_byte_is_mended_from_the_file_outside(archive: Archive) -> None:
    archive.tamper(FLIPPED)
    [found] = archive.check()
    assert found.subject is Subject.BYTES
    assert found.where.endswith("s1.jsonl (generation 0)")
    assert archive.repair(archive.known("s1.jsonl")) == Checked((), (found,))
    assert archive.check() == []


@pytest.mark.parametrize(("change", "reason"), [("gone", "is gone"), ("other", "has different content")])
def test_a_flipped_byte_that_no_file_has_is_told_and_the_rest_is_readable(
    archive: Archive, change: str, reason: str
) -> None:
    outside = archive.project / "s1.jsonl"
    if change == "gone":
        outside.unlink()
    else:
        outside.write_bytes(b" " * outside.stat().st_size)
    archive.tamper(FLIPPED)
    [left] = archive.repair(archive.known("s1.jsonl")).left
    assert left.subject is Subject.BYTES
    assert left.message.endswith(f"; the file outside {reason}")
    assert len(archive.check()) == 1
    for known in archive.store.list_known(LOCAL):
        for source in known.sources:
            if not source.path.endswith("s1.jsonl"):
                kept = b"".join(read_all(archive.store.archive, LOCAL, source.source, source.generation))
                assert kept == Path(source.path).read_bytes()
    assert list_messages(archive.store, archive.known("s1.jsonl").key)


@pytest.mark.parametrize(
    "statement",
    [
        f"DELETE FROM generations WHERE {OF_FILE.format('/s1.jsonl')}",
        f"UPDATE sources SET newest = newest + 1000 WHERE newest = {NEWEST}",
        f"DELETE FROM sessions WHERE {S1}",
        f"DELETE FROM sources WHERE newest = {NEWEST}",
    ],
)
def test_what_a_session_cannot_do_without_is_found_by_the_store(archive: Archive, statement: str) -> None:
    archive.tamper(statement)
    flaws = archive.store.list_flaws(LOCAL)
    assert flaws
    assert not any(flaw.follows for flaw in flaws)
    assert archive.check() == []


def test_a_session_whose_files_are_not_all_known_is_left_as_it_is(archive: Archive) -> None:
    archive.tamper(f"UPDATE sources SET newest = newest + 1000 WHERE id = {FILE.format('.meta.json')}")
    [flaw] = archive.store.list_flaws(LOCAL)
    [known] = [each for each in archive.store.list_known(LOCAL) if each.key == flaw.session]
    last = archive.store.read_feed(LOCAL).last
    assert archive.repair(known, (flaw,)).repaired == ()
    assert archive.store.read_feed(LOCAL).last == last


def test_a_missing_frame_is_told(archive: Archive) -> None:
    archive.tamper(f"DELETE FROM tail_frames WHERE {OF_TRANSCRIPT}")
    [found] = archive.check()
    assert (found.subject, found.message.split(" - ")[0]) == (Subject.BYTES, "A frame is missing")
    assert len(archive.repair(archive.known("s1.jsonl")).left) == 1
