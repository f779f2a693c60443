"""Spec 003: a dump of a collection. One file with documents of several sessions becomes as many sessions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import turnlog
from command_line import invoke
from golden import DATA
from turnlog.errors import SelectionError
from turnlog.export.files import export_raw, restore_session
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import verify_session
from turnlog.store.interface import MaintainedStore, find_known, find_sessions
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import list_dumped, locate_path

SESSIONS = ["session-a", "session-b"]


def document(session: str, kind: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {
        "_id": {"$oid": "66b0a0000000000000000001"},
        "uuid": f"{session}-{uuid}",
        "parentUuid": None if parent is None else f"{session}-{parent}",
        "sessionId": session,
        "type": kind,
        "timestamp": {"$date": {"$numberLong": "1754388002000"}},
        "content": f"{uuid} of {session}",
        **more,
    }


def documents(sessions: list[str] = SESSIONS, turns: int = 2) -> list[dict[str, Any]]:
    """The messages of sessions that went on at the same time."""
    found = []
    for turn in range(turns):
        for session in sessions:
            above = None if turn == 0 else f"a{turn - 1}"
            usage = {"inputTokens": {"$numberInt": "100"}, "outputTokens": {"$numberLong": "7"}}
            cost = {"$numberDouble": "0.25"}
            found += [
                document(session, "user", f"u{turn}", above),
                document(session, "assistant", f"a{turn}", f"u{turn}", costUsd=cost, usage=usage, rank=[turn]),
            ]
    return found


def by_line(found: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(each) + "\n" for each in found)


def as_array(found: list[dict[str, Any]]) -> str:
    return "[" + ",".join(json.dumps(each) for each in found) + "]\n"


def as_pretty_array(found: list[dict[str, Any]]) -> str:
    return json.dumps(found, indent=2)


def windows_lines(found: list[dict[str, Any]]) -> str:
    return "\ufeff" + "\r\n\r\n".join(json.dumps(each) for each in found)


Form = Callable[[list[dict[str, Any]]], str]
FORMS = pytest.mark.parametrize("form", [by_line, as_array, as_pretty_array, windows_lines])


class Kept:
    """An archive of what was synced."""

    def __init__(self, store: MaintainedStore, place: Path) -> None:
        self.store = store
        self._place = place

    def sync(self, path: Path) -> SyncReport:
        return sync(self.store, self._place, locate_path(path).sessions, origin="here")

    def count(self) -> dict[str, int]:
        """Return how many messages each session has."""
        page = self.store.list_sessions(LOCAL)
        return {str(each.row.session_id): each.row.messages for each in page.sessions}

    def verify(self) -> list[str]:
        known = [*self.store.list_known(LOCAL)]
        return [str(each) for one in known for each in verify_session(self.store, LOCAL, one).disagreements]

    def export(self, session: str, folder: Path) -> list[Path]:
        [found] = find_sessions(self.store, LOCAL, session)
        known = find_known(self.store, LOCAL, found.key)
        assert known is not None
        return [each.path for each in export_raw(self.store, LOCAL, known, folder)]


@pytest.fixture
def kept(tmp_path: Path) -> Any:
    place = tmp_path / "archive.db"
    with closing(open_store(place)) as store:
        yield Kept(store, place)


@FORMS
def test_each_session_of_a_dump_is_one(tmp_path: Path, kept: Kept, form: Form) -> None:
    path = tmp_path / "dump.json"
    path.write_text(form(documents()))
    assert list_dumped(path) == SESSIONS
    report = kept.sync(path)
    assert report.added == 2
    assert kept.count() == {"session-a": 4, "session-b": 4}
    assert kept.verify() == []
    assert kept.sync(path).added == 0


@FORMS
def test_every_byte_of_a_dump_comes_back(tmp_path: Path, kept: Kept, form: Form) -> None:
    path = tmp_path / "dump.json"
    path.write_text(form(documents()))
    kept.sync(path)
    path_bytes = path.read_bytes()
    path.unlink()
    for session in SESSIONS:
        [given] = kept.export(session, tmp_path / "out")
        assert (given.name, given.read_bytes()) == ("dump.json", path_bytes)
    [stored] = find_sessions(kept.store, LOCAL, "session-b")
    known = find_known(kept.store, LOCAL, stored.key)
    assert known is not None
    restore_session(kept.store, LOCAL, known)
    assert path.read_bytes() == path_bytes


@FORMS
def test_a_dump_that_was_made_again_is_synced_without_repeats(tmp_path: Path, kept: Kept, form: Form) -> None:
    path = tmp_path / "dump.json"
    path.write_text(form(documents()))
    kept.sync(path)
    path.write_text(form([*documents(turns=3), *documents(["session-c"])]))
    os.utime(path, ns=(1, 1))
    report = kept.sync(path)
    assert (report.added, report.changed) == (1, 2)
    assert kept.count() == {"session-a": 6, "session-b": 6, "session-c": 4}
    assert kept.export("session-b", tmp_path / "out")[0].read_bytes() == path.read_bytes()
    assert kept.verify() == []


def test_a_file_that_becomes_a_dump_goes_on_as_its_first_session(tmp_path: Path, kept: Kept) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text(by_line(documents(["session-a"])))
    assert list_dumped(path) == []
    kept.sync(path)
    path.write_text(by_line(documents(["session-a"]) + documents(["session-b"])))
    kept.sync(path)
    assert kept.count() == {"session-a": 4, "session-b": 4}
    assert kept.sync(path).unchanged == 2


def test_what_is_left_of_a_dump_comes_back_when_a_session_was_forgotten(tmp_path: Path, kept: Kept) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text(by_line(documents()))
    kept.sync(path)
    [stored] = find_sessions(kept.store, LOCAL, "session-b")
    kept.store.forget(LOCAL, [stored.key])
    [given] = kept.export("session-a", tmp_path / "out")
    assert given.name == "session-a.jsonl"
    assert given.read_text() == by_line([each for each in documents() if each["sessionId"] == "session-a"])


def test_what_was_stored_comes_out_of_a_dump_as_it_went_in(tmp_path: Path) -> None:
    path, home = tmp_path / "dump.json", {"TURNLOG_HOME": str(tmp_path / "home")}
    path.write_text(as_array(documents()))
    assert invoke("sync", path, env=home).exit_code == 0
    told = invoke("export", "session-b", "--format", "json", "--output", tmp_path / "b.json", env=home)
    assert told.exit_code == 0, told.output
    found = json.loads((tmp_path / "b.json").read_text())
    time = "2025-08-05T10:00:02Z"
    assert found[1] == {
        **documents()[3],
        "_id": "session-b-a0",
        "timestamp": time,
        "createdAt": time,
        "isSidechain": False,
        "costUsd": 0.25,
        "usage": {"inputTokens": 100, "outputTokens": 7},
    }
    assert invoke("validate", tmp_path / "b.json").exit_code == 0


def test_documents_that_name_no_session_are_of_the_one_before(tmp_path: Path, kept: Kept) -> None:
    found = documents()
    del found[1]["sessionId"]
    path = tmp_path / "dump.jsonl"
    path.write_text(by_line(found))
    kept.sync(path)
    assert kept.count() == {"session-a": 4, "session-b": 4}


def test_a_session_of_a_dump_can_be_read_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(as_array(documents()))
    session = turnlog.read(path, session="session-b")
    assert (session.id, [message.text for message in session.messages][:1]) == (
        "session-b",
        ["u0 of session-b"],
    )
    with pytest.raises(SelectionError, match="found 2 sessions: session-a, session-b"):
        turnlog.read(path)
    with pytest.raises(SelectionError, match="found 2 sessions: session-a, session-b"):
        turnlog.read(path, session="session-z")
    with pytest.raises(SelectionError, match="found no dump of several"):
        turnlog.read(DATA / "specs" / "003.jsonl", session="session-xyz")


def test_the_command_line_asks_which_session_of_a_dump_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(as_array(documents()))
    asked = invoke("show", path)
    assert asked.exit_code == 2
    assert "has 2 sessions: session-a, session-b; name one with --session" in asked.output
    shown = invoke("show", path, "--session", "session-b")
    assert shown.exit_code == 0
    assert "u0 of session-b" in shown.output
    assert "session-a" not in shown.output
    assert invoke("show", path, "--session", "session-z").exit_code == 1
    written = invoke(
        "export", path, "--session", "session-a", "--format", "json", "--output", tmp_path / "a.json"
    )
    assert written.exit_code == 0
    assert {each["sessionId"] for each in json.loads((tmp_path / "a.json").read_text())} == {"session-a"}


def test_lines_of_claude_code_that_name_several_sessions_stay_one(tmp_path: Path, kept: Kept) -> None:
    assert list_dumped(DATA / "transcripts" / "tools" / "copies.jsonl") == []
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "old", "message": {"content": "Tea?"}},
        {
            "type": "assistant",
            "uuid": "a",
            "parentUuid": "u",
            "sessionId": "new",
            "message": {"content": "Yes"},
        },
    ]
    path = tmp_path / "new.jsonl"
    path.write_text(by_line(lines))
    assert list_dumped(path) == []
    assert kept.sync(path).added == 1
