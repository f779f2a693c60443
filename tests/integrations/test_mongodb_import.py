"""`turnlog sync mongodb://…`: sessions out of a database, turnlog's own or one that claudelens wrote."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId
from pymongo import MongoClient
from pymongo.database import Database

from mongodb_home import KILLS, Home, fetch, talk
from mongodb_server import MongoServer, start_server
from turnlog.ingest.verification import verify_session
from turnlog.store.interface import read_all
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store

START = datetime(2025, 8, 5, 10, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> MongoServer:
    return start_server()


@pytest.fixture
def address(server: MongoServer) -> str:
    return server.name()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@contextmanager
def opened(address: str) -> Iterator[Database[Any]]:
    with MongoClient[Any](address) as client:
        yield client.get_default_database()


def claudelens(session: str, turns: int, first: int = 0) -> list[dict[str, Any]]:
    """Return documents as claudelens stores them: dates, its own ids, blocks as `messageData`, old parents."""
    found: list[dict[str, Any]] = []
    for turn in range(first, first + turns):
        call: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{session}_{turn}", "name": "Bash"}
        call["input"] = {"command": "ls"}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"out {turn}"}
        usage = {"input_tokens": 3, "output_tokens": 5}
        answer: dict[str, Any] = {
            "role": "assistant",
            "id": f"msg_{session}_{turn}",
            "model": "claude-opus-4-1",
            "usage": usage,
        }
        text: dict[str, Any] = {"type": "text", "text": "Listing."}
        answer["content"] = [text, call]
        u, a, r = (f"{session}-{name}{turn}" for name in "uar")
        above = f"{session}-a{turn - 1}" if turn else None
        parts: list[dict[str, Any]] = [
            {"type": "user", "uuid": u, "parentUuid": above, "content": f"Tea {turn}"},
            {
                "type": "assistant",
                "uuid": a,
                "parentUuid": u,
                "content": "Listing.",
                "messageData": answer,
                "usage": usage,
            },
            {
                "type": "tool_use",
                "uuid": f"{a}_tool_0",
                "parentUuid": u,
                "content": json.dumps(call),
                "messageData": call,
            },
            {
                "type": "tool_result",
                "uuid": f"{r}_result_0",
                "parentUuid": u,
                "content": f"out {turn}",
                "messageData": result,
            },
        ]
        for part in parts:
            time = START + timedelta(seconds=10 * turn)
            own = {
                "_id": ObjectId(),
                "sessionId": session,
                "timestamp": time,
                "createdAt": time,
                "contentHash": "0f",
            }
            found.append({**own, **part})
    return found


def list_files(home: Home) -> dict[str, bytes]:
    folder = home.folder / "turnlog" / "captured" / "mongodb"
    return {path.stem: path.read_bytes() for path in folder.rglob("*.jsonl")}


def check_archive(home: Home) -> None:
    """See that the archive has what the files have, byte for byte, and that what follows from it is right."""
    with closing(open_store(home.folder / "turnlog" / "turnlog.db", read_only=True)) as store:
        for known in store.list_known(LOCAL):
            assert verify_session(store, LOCAL, known).disagreements == ()
            for source in known.sources:
                data = b"".join(read_all(store.archive, LOCAL, source.source, source.generation))
                assert data == Path(source.path).read_bytes()


def test_a_database_of_claudelens_becomes_sessions(home: Home, address: str) -> None:
    with opened(address) as database:
        database.messages.insert_many(claudelens("one", 2))
        database.messages_2025_09.insert_many(claudelens("one", 1, first=2))
        database.messages_2025_08.insert_many(claudelens("two", 1))
        database.other.insert_one({"uuid": "no message"})
        project = database.projects.insert_one({"path": "/home/ada/tea", "name": "tea"}).inserted_id
        database.sessions.insert_one({"sessionId": "one", "projectId": project, "summary": "About tea"})
    told = home.run("sync", address)
    assert "16 documents of 2 sessions read: 16 new, 0 changed" in told
    listed = {each["id"]: each for each in json.loads(home.run("sessions", "--json"))["sessions"]}
    assert (listed["one"]["prompts"], listed["one"]["calls"]) == (3, 3)
    assert (listed["two"]["prompts"], listed["two"]["calls"]) == (1, 1)
    assert "tea" in listed["one"]["project"]
    assert "out 2" in home.run("show", "one")
    check_archive(home)


def test_no_type_of_a_document_is_lost(home: Home, address: str) -> None:
    with opened(address) as database:
        [first, *_] = documents = claudelens("one", 1)
        documents[0] |= {"n": 2**40, "x": 1.0, "none": None, "raw": b"\x00\xff", "more": {"when": START}}
        database.messages.insert_many(documents)
    home.run("sync", address)
    line = json.loads(list_files(home)["one"].split(b"\n")[0])
    assert line["_id"] == {"$oid": str(first["_id"])}
    assert line["timestamp"] == {"$date": "2025-08-05T10:00:00Z"}
    assert (line["n"], line["x"], line["none"], line["more"]["when"]) == (2**40, 1.0, None, line["timestamp"])
    assert line["raw"]["$binary"]["base64"] == "AP8="


def test_a_session_grows_by_what_is_new(home: Home, address: str) -> None:
    with opened(address) as database:
        database.messages.insert_many(claudelens("one", 1))
        home.run("sync", address)
        before = list_files(home)["one"]
        database.messages.insert_many(claudelens("one", 1, first=1))
    assert "8 documents of 1 session read: 4 new, 0 changed" in home.run("sync", address)
    assert list_files(home)["one"].startswith(before)
    assert "0 new, 0 changed" in home.run("sync", address)
    assert json.loads(home.run("sessions", "--json"))["sessions"][0]["prompts"] == 2
    check_archive(home)


def test_a_document_that_changed_takes_its_place_and_the_former_bytes_are_kept(
    home: Home, address: str
) -> None:
    with opened(address) as database:
        database.messages.insert_many(claudelens("one", 2))
        home.run("sync", address)
        before = list_files(home)["one"]
        database.messages.update_one({"uuid": "one-u0"}, {"$set": {"content": "Coffee"}})
        database.messages.delete_one({"uuid": "one-u1"})
    assert "0 new, 1 changed" in home.run("sync", address)
    after = list_files(home)["one"]
    assert [json.loads(line)["uuid"] for line in after.splitlines()] == [
        json.loads(line)["uuid"] for line in before.splitlines()
    ]
    assert "Coffee" in home.run("show", "one")
    check_archive(home)
    home.run("export", "one", "--raw", "--output", home.folder / "out")
    assert before in [path.read_bytes() for path in (home.folder / "out").rglob("*.jsonl")]


def test_what_the_archive_exported_itself_is_not_taken_in(home: Home, address: str) -> None:
    home.write("one", talk("one", 1))
    home.sync()
    home.run("export", "--to", address)
    with opened(address) as database:
        database.messages.insert_many(claudelens("two", 1))
    assert "8 documents of 1 session read: 4 new, 0 changed, 4 of this archive" in home.run("sync", address)
    assert list_files(home).keys() == {"two"}


def test_what_was_forgotten_does_not_come_back(home: Home, address: str) -> None:
    session = "7f1a8cbb-da72-4f7b-b604-65e600000000"
    with opened(address) as database:
        database.messages.insert_many(claudelens(session, 1))
    home.run("sync", address)
    home.run("forget", session, "--yes")
    assert list_files(home) == {}
    home.run("sync", address)
    assert list_files(home) == {}


def test_ids_that_no_file_can_have_are_sessions_as_well(home: Home, address: str) -> None:
    names = ["../../escape", "agent-x", "a" * 300, "s.stream", "ö"]
    with opened(address) as database:
        for name in names:
            database.messages.insert_many(claudelens(name, 1))
        database.messages.insert_one({"type": "user", "uuid": "stray", "content": "of nobody"})
    home.run("sync", address)
    listed = {each["id"] for each in json.loads(home.run("sessions", "--json"))["sessions"]}
    assert listed >= set(names)
    assert len(list_files(home)) == len(names) + 1


def test_a_database_without_messages_is_told_of(home: Home, address: str) -> None:
    assert "has no collection `messages`" in home.run("sync", address, status=2)
    assert "--watch follows files" in home.run("sync", address, "--watch", status=2)


def test_old_documents_come_out_as_the_spec_wants_them(home: Home, server: MongoServer, address: str) -> None:
    with opened(address) as database:
        database.messages.insert_many(claudelens("one", 2))
    home.run("sync", address)
    other = server.name()
    home.run("export", "--to", other, "--no-redact")
    found = fetch(other)
    assert found["one-a1_tool_0"]["parentUuid"] == "one-a1"
    assert found["one-r1_result_0"]["parentUuid"] == "one-a1_tool_0"
    assert found["one-a1"]["usage"] == {"inputTokens": 3, "outputTokens": 5}


def test_an_import_that_is_killed_loses_nothing_and_keeps_nothing_twice(home: Home, address: str) -> None:
    chance = random.Random(28)
    turns: Counter[str] = Counter()
    with opened(address) as database:
        for kill in range(KILLS):
            for name in ("big", "one", f"new{kill}"):
                more = 150 if name == "big" and kill == 0 else chance.randrange(1, 8)
                database.messages.insert_many(claudelens(name, more, first=turns[name]))
                turns[name] += more
            if chance.random() < 0.5:
                changed = f"one-u{chance.randrange(turns['one'])}"
                database.messages.update_one({"uuid": changed}, {"$set": {"content": f"changed {kill}"}})
            while not home.kill(chance.randrange(8, 16), chance.randrange(150), "sync", address):
                database.messages.insert_many(claudelens("one", 1, first=turns["one"]))
                turns["one"] += 1
        home.run("sync", address)
        stored = {each["uuid"]: each["content"] for each in database.messages.find()}
    lines = [json.loads(line) for data in list_files(home).values() for line in data.splitlines()]
    assert Counter(line["uuid"] for line in lines) == Counter(stored.keys())
    assert {line["uuid"]: line["content"] for line in lines} == stored
    listed = {
        each["id"]: each["prompts"]
        for each in json.loads(home.run("sessions", "--json", "--limit", "500"))["sessions"]
    }
    assert listed == turns
    check_archive(home)
