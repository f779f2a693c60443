"""One session, one entry: what turnlog captured of a session and Claude Code's own file belong together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_records import list_messages
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.live_sync import Syncer
from turnlog.ingest.machine import Exclusion
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import check_session
from turnlog.store.interface import KnownSession, MaintainedStore, read_all
from turnlog.store.lists import MarkChange
from turnlog.store.model import LOCAL, SourceKind
from turnlog.store.opening import open_store
from turnlog.store.search.language import parse_query
from turnlog.transcripts import locate_path, locate_sessions
from turnlog.transcripts.queries.threads import open_main
from turnlog.transcripts.session_files import CaptureKind, name_capture, split_capture

ID = "11111111-2222-4333-8444-555555555555"
FOLDER = "-home-ada-tea"


def disk(number: int, role: str, text: str) -> bytes:
    content: object = text if role == "user" else [{"type": "text", "text": text}]
    message = {"role": role, "content": content} | ({"id": f"msg_{number}"} if role == "assistant" else {})
    entry = {
        "type": role,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "parentUuid": f"00000000-0000-4000-8000-{number - 1:012}" if number else None,
        "sessionId": ID,
        "timestamp": f"2026-05-01T10:00:{number:02}.000Z",
        "cwd": "/home/ada/tea",
        "message": message,
    }
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def stream(type_: str, **more: object) -> bytes:
    return json.dumps({"type": type_, "session_id": ID, **more}).encode() + b"\n"


OWN = [disk(0, "user", "Brew tea"), disk(1, "assistant", "Kettle on"), disk(2, "user", "Thanks")]
STREAM = [
    stream("system", subtype="init", cwd="/home/ada/tea", tools=[], model="m", uuid="i"),
    stream(
        "assistant",
        uuid="a",
        message={"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": "Kettle on"}]},
    ),
    stream("result", subtype="success", is_error=False, total_cost_usd=0.25, uuid="r"),
]


class Place:
    """Claude Code's data, turnlog's own, and the archive."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "claude"
        self.captured = folder / "home" / "captured"
        self.own = self.config / "projects" / FOLDER / f"{ID}.jsonl"
        self.stream = name_capture(self.captured / "projects" / FOLDER, ID, CaptureKind.STREAM)
        self.mirror = name_capture(self.captured / "projects" / FOLDER, ID, CaptureKind.MIRROR)
        for path in (self.own, self.stream):
            path.parent.mkdir(parents=True)
        self.file = folder / "home" / "turnlog.db"
        self.store: MaintainedStore = open_store(self.file)

    def sync(self, *sessions: Path) -> SyncReport:
        found = [each for path in sessions for each in locate_path(path).sessions]
        return sync(
            self.store,
            self.file,
            found or locate_sessions([self.config, self.captured]).sessions,
            origin="here",
            within=() if sessions else [self.config, self.captured],
        )

    @property
    def session(self) -> KnownSession:
        [known] = self.store.list_known(LOCAL)
        return known

    def list_kinds(self) -> dict[str, SourceKind]:
        return {Path(each.path).name: each.kind for each in self.session.sources}

    def list_said(self) -> list[str]:
        """Return what the messages say; all that the store has is checked against the bytes."""
        known = self.session
        assert check_session(self.store, LOCAL, known).disagreements == ()
        assert self.store.list_flaws(LOCAL) == []
        with self.store.open_session(LOCAL, known.key) as session:
            return [message.text for message in open_main(session).read() if message.text]

    def count_hits(self, word: str) -> int:
        return len(self.store.search(LOCAL, parse_query(word)).hits)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.store.close()


def test_a_capture_is_told_by_its_name() -> None:
    assert split_capture(f"{ID}.stream") == (ID, CaptureKind.STREAM)
    assert split_capture("a.b.mirror") == ("a.b", CaptureKind.MIRROR)
    assert split_capture(ID) == (ID, None)
    assert split_capture(".stream") == (".stream", None)


def test_a_capture_alone_is_a_session(place: Place) -> None:
    place.stream.write_bytes(b"".join(STREAM))
    assert place.sync().added == 1
    assert place.session.session_id == ID
    assert place.session.project_folder == FOLDER
    assert place.list_kinds() == {place.stream.name: SourceKind.TRANSCRIPT}
    assert "Kettle on" in place.list_said()


def test_a_capture_joins_the_file_that_is_there(place: Place) -> None:
    place.own.write_bytes(b"".join(OWN))
    place.sync()
    key = place.session.key
    place.stream.write_bytes(b"".join(STREAM))
    place.sync()
    assert place.session.key == key
    assert place.list_kinds() == {place.own.name: SourceKind.TRANSCRIPT, place.stream.name: SourceKind.CAPTURE}
    assert place.list_said() == ["Brew tea", "Kettle on", "Thanks"]
    assert place.count_hits("kettle") == 1
    assert place.sync().changed == 0


@pytest.mark.parametrize("grows", [False, True])
def test_a_file_that_comes_later_takes_over_the_session_that_was_captured(place: Place, grows: bool) -> None:
    place.stream.write_bytes(b"".join(STREAM))
    place.sync()
    key = place.session.key
    place.store.mark(LOCAL, [key], MarkChange(name="Tea"))
    place.own.write_bytes(b"".join(OWN))
    if grows:
        place.stream.write_bytes(b"".join([*STREAM, *STREAM]))
    place.sync()
    assert list_messages(place.store, key, key) == []
    assert place.session.key == key
    assert place.list_kinds() == {place.own.name: SourceKind.TRANSCRIPT, place.stream.name: SourceKind.CAPTURE}
    assert place.list_said() == ["Brew tea", "Kettle on", "Thanks"]
    assert place.count_hits("kettle") == 1
    [stored] = place.store.list_sessions(LOCAL).sessions
    assert stored.marks.name == "Tea"
    assert place.sync().changed == 0


def test_both_at_once_are_one_session(place: Place) -> None:
    place.own.write_bytes(b"".join(OWN))
    place.stream.write_bytes(b"".join(STREAM))
    assert place.sync().added == 1
    assert place.list_said() == ["Brew tea", "Kettle on", "Thanks"]


def test_every_byte_of_both_comes_back_and_each_goes_on_by_itself(place: Place) -> None:
    place.own.write_bytes(OWN[0])
    place.stream.write_bytes(STREAM[0])
    for own, line in zip(OWN[1:], STREAM[1:], strict=True):
        place.sync()
        with place.own.open("ab") as file:
            file.write(own)
        place.sync()
        with place.stream.open("ab") as file:
            file.write(line[:20])
        place.sync()
        with place.stream.open("ab") as file:
            file.write(line[20:])
    place.sync()
    for source in place.session.sources:
        kept = b"".join(read_all(place.store.archive, LOCAL, source.source, source.generation))
        assert kept == Path(source.path).read_bytes()
        assert source.lines == 3
    assert place.list_said() == ["Brew tea", "Kettle on", "Thanks"]


def test_a_look_at_one_of_them_does_not_lose_the_other(place: Place) -> None:
    place.own.write_bytes(b"".join(OWN))
    place.stream.write_bytes(b"".join(STREAM))
    place.sync()
    for path in (place.own, place.stream):
        with path.open("ab") as file:
            file.write(b"{}\n")
        place.sync(path)
        assert all(source.present for source in place.session.sources)
        assert place.list_kinds()[place.own.name] is SourceKind.TRANSCRIPT


def test_when_claude_code_deletes_its_file_the_session_stays_as_it_was(place: Place) -> None:
    place.own.write_bytes(b"".join(OWN))
    place.stream.write_bytes(b"".join(STREAM))
    place.sync()
    place.own.unlink()
    place.sync()
    assert place.list_said() == ["Brew tea", "Kettle on", "Thanks"]
    with place.stream.open("ab") as file:
        file.write(STREAM[-1])
    place.sync()
    assert place.list_kinds() == {place.own.name: SourceKind.TRANSCRIPT, place.stream.name: SourceKind.CAPTURE}
    assert place.list_said() == ["Brew tea", "Kettle on", "Thanks"]


def test_a_capture_that_is_seen_after_the_file_is_gone_joins_what_was_archived(place: Place) -> None:
    place.own.write_bytes(b"".join(OWN))
    place.sync()
    place.own.unlink()
    place.stream.write_bytes(b"".join(STREAM))
    place.sync()
    assert place.list_kinds() == {place.own.name: SourceKind.TRANSCRIPT, place.stream.name: SourceKind.CAPTURE}


def test_a_mirror_that_goes_on_where_the_file_ends_tells_the_session(place: Place) -> None:
    place.own.write_bytes(b"".join(OWN))
    place.mirror.write_bytes(b"".join(OWN))
    place.sync()
    assert place.list_kinds() == {place.own.name: SourceKind.TRANSCRIPT, place.mirror.name: SourceKind.CAPTURE}
    more = [disk(3, "assistant", "Poured " + "x" * 3000), disk(4, "user", "Again")]
    with place.mirror.open("ab") as file:
        file.write(b"".join(more))
    place.sync()
    assert place.list_kinds() == {place.own.name: SourceKind.CAPTURE, place.mirror.name: SourceKind.TRANSCRIPT}
    assert place.list_said()[-1] == "Again"
    assert (place.count_hits("kettle"), place.count_hits("poured")) == (1, 1)
    with place.own.open("ab") as file:  # and back, when the file has caught up and gone on
        file.write(b"".join([*more, disk(5, "assistant", "y" * 3000)]))
    place.sync()
    assert place.list_kinds()[place.own.name] is SourceKind.TRANSCRIPT
    assert (place.count_hits("kettle"), place.count_hits("poured")) == (1, 1)
    assert len(place.list_said()) == 6


def test_agents_of_a_mirror_are_told_once(place: Place) -> None:
    for main in (place.own, place.mirror):
        agent = main.with_suffix("") / "subagents" / "agent-a1.jsonl"
        agent.parent.mkdir(parents=True)
        main.write_bytes(b"".join(OWN))
        agent.write_bytes(disk(7, "assistant", "From the agent"))
    place.sync()
    kinds = sorted(each.kind for each in place.session.sources)
    assert kinds == ["agent", "capture", "capture", "transcript"]
    assert place.count_hits("agent") == 1
    assert [each.agent_id for each in place.session.sources if each.kind is SourceKind.CAPTURE].count("a1") == 1
    place.list_said()


def test_ids_that_anybody_may_have_belong_together_only_in_one_folder(place: Place) -> None:
    def write(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(OWN[0])

    write(place.captured / "projects" / "a" / "s1.mirror.jsonl")
    write(place.captured / "projects" / "b" / "s1.mirror.jsonl")
    write(place.config / "projects" / "b" / "s1.jsonl")
    place.sync()
    found = {known.project_folder: len(known.sources) for known in place.store.list_known(LOCAL)}
    assert found == {"a": 1, "b": 2}


def test_who_follows_finds_both_whichever_comes_first(place: Place) -> None:
    catching_up = Syncer(
        place.store,
        place.file,
        (place.config, place.captured),
        origin="here",
        exclusion=Exclusion(()),
        scope=LOCAL,
        forgotten=tuple,
        on_progress=lambda done, total: None,
    )
    catching_up.sync_all(catching_up.locate(), lambda done, total: None)
    roots = [place.config / "projects", place.captured / "projects"]

    def change(path: Path, *lines: bytes) -> None:
        with path.open("ab") as file:
            file.write(b"".join(lines))
        catching_up.sync_some({path: locate_path(path).sessions}, roots)

    change(place.stream, *STREAM[:2])
    key = place.session.key
    change(place.own, *OWN[:2])
    change(place.stream, *STREAM[2:])
    change(place.own, *OWN[2:])
    assert place.session.key == key
    assert all(source.present for source in place.session.sources)
    assert place.list_said() == ["Brew tea", "Kettle on", "Thanks"]
    assert {os.path.basename(path): home.name for path, home in catching_up.known.homes.items()} == {
        place.own.name: place.own.name,
        place.stream.name: place.stream.name,
    }
