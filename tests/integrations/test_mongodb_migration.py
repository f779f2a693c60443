"""`turnlog migrate mongodb://…`: old parents corrected in place, and taken back."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from bson import json_util

from integrations.test_mongodb_import import claudelens, opened
from mongodb_home import KILLS, Home, fetch
from mongodb_server import MongoServer, start_server
from stored_documents import golden


@pytest.fixture(scope="module")
def server() -> MongoServer:
    return start_server()


@pytest.fixture
def address(server: MongoServer) -> str:
    return server.name()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def read_golden(path: Path) -> list[dict[str, Any]]:
    return [json_util.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


def number(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return documents with ids of their own: several files say the same of all."""
    return [{**each, "_id": f"{at:02}"} for at, each in enumerate(documents)]


@pytest.mark.parametrize("name", ["siblings", "right", "left"])
def test_a_database_is_corrected_as_a_file_is(home: Home, address: str, name: str) -> None:
    before, after = (number(read_golden(golden(name, state))) for state in ("before", "after"))
    assert len(before) == len(after) > 1
    with opened(address) as database:
        database.messages.insert_many(before)
    home.run("migrate", address)
    assert [*fetch(address).values()] == after
    assert (
        "0 documents changed" in home.run("migrate", address)
        or not json.loads(home.run("migrate", address, "--json"))["changed"]
    )
    assert [*fetch(address).values()] == after
    home.run("migrate", address, "--undo")
    assert [*fetch(address).values()] == before


def test_old_parents_of_claudelens_are_corrected_once(home: Home, address: str) -> None:
    with opened(address) as database:
        database.messages.insert_many(claudelens("one", 2))
        database.messages_2025_08.insert_many(claudelens("two", 1))
    planned = json.loads(home.run("migrate", address, "--dry-run", "--json"))
    before = fetch(address)
    assert all("isSidechain" not in each for each in before.values())
    done = json.loads(home.run("migrate", address, "--json"))
    assert (done["changed"], done["tool_uses"], done["tool_results"]) == (6, 3, 3)
    assert planned == {**done, "dry_run": True}
    found = {
        each["uuid"]: each for each in [*fetch(address).values(), *fetch(address, "messages_2025_08").values()]
    }
    assert found["one-a1_tool_0"]["parentUuid"] == "one-a1"
    assert found["two-r0_result_0"]["parentUuid"] == "two-a0_tool_0"
    assert found["one-a1_tool_0"]["isSidechain"] is True
    again = json.loads(home.run("migrate", address, "--json"))
    assert (again["changed"], again["right"], again["left"]) == (0, 6, [])
    home.run("migrate", address, "--undo")
    assert fetch(address) == before
    assert fetch(address, "turnlog_migrations") == {}


def test_what_changed_since_is_not_taken_back(home: Home, address: str) -> None:
    with opened(address) as database:
        database.messages.insert_many(claudelens("one", 1))
        home.run("migrate", address)
        database.messages.update_one({"uuid": "one-a0_tool_0"}, {"$set": {"parentUuid": "theirs"}})
    assert "1 document as before, 1 changed since and left" in home.run("migrate", address, "--undo")
    assert {each["uuid"]: each for each in fetch(address).values()}["one-a0_tool_0"]["parentUuid"] == "theirs"


def test_a_file_needs_a_place_and_a_database_takes_none(home: Home, address: str) -> None:
    assert "corrected in place" in home.run("migrate", address, "out.jsonl", status=2)
    assert "name a file" in home.run("migrate", "in.jsonl", status=2)
    assert "--undo" in home.run("migrate", "in.jsonl", "out.jsonl", "--undo", status=2)


def test_a_migration_that_is_killed_goes_on_and_can_be_taken_back(home: Home, address: str) -> None:
    chance = random.Random(28)
    documents = claudelens("big", 60) + claudelens("one", 3)
    with opened(address) as database:
        database.messages.insert_many(documents)
        before = fetch(address)
        home.run("migrate", address)
        after = fetch(address)
        home.run("migrate", address, "--undo")
        assert fetch(address) == before
        for _ in range(KILLS):
            undo = ["--undo"] if chance.random() < 0.4 else []
            if not home.kill(chance.randrange(8, 24), chance.randrange(40), "migrate", address, *undo):
                home.run("migrate", address, *([] if undo else ["--undo"]))
            for id, each in fetch(address).items():
                told = [each.get(name) for name in ("parentUuid", "isSidechain")]
                states = (
                    [state[id].get(name) for name in ("parentUuid", "isSidechain")] for state in (before, after)
                )
                assert told in [*states]
    home.run("migrate", address)
    assert fetch(address) == after
    home.run("migrate", address, "--undo")
    assert fetch(address) == before
