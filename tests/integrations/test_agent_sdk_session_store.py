"""The archive as the Agent SDK's session store: what the SDK wants of one, and what turnlog wants besides."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import SessionKey
from claude_agent_sdk.testing import run_session_store_conformance

from command_line import invoke
from turnlog.config import Settings
from turnlog.ingest.captured_files import lock_file
from turnlog.ingest.lease import hold_lease
from turnlog.integrations.agent_sdk import TurnlogSessionStore
from turnlog.store.interface import KnownSession
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store

PROJECT = "-home-ada-tea"
ID = "11111111-2222-4333-8444-555555555555"
KEY: SessionKey = {"project_key": PROJECT, "session_id": ID}


def entry(number: int, text: str = "Brew tea", **more: object) -> Any:
    return {
        "type": "user",
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "parentUuid": None if number == 0 else f"00000000-0000-4000-8000-{number - 1:012}",
        "sessionId": ID,
        "timestamp": f"2026-05-01T10:00:{number:02}.000Z",
        "cwd": "/home/ada/tea",
        "message": {"role": "user", "content": text},
        **more,
    }


class Home:
    """Claude Code's data, turnlog's, and a session store over both."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(home=folder / "home", config_dirs=(folder / "claude",))
        self.own = folder / "claude" / "projects" / PROJECT / f"{ID}.jsonl"
        self.own.parent.mkdir(parents=True)
        self.mirror = self.settings.captured_dir / "projects" / PROJECT / f"{ID}.mirror.jsonl"

    @property
    def store(self) -> TurnlogSessionStore:
        return TurnlogSessionStore(settings=self.settings)

    def append(self, *entries: Any, subpath: str | None = None) -> None:
        key: SessionKey = KEY if subpath is None else {**KEY, "subpath": subpath}
        anyio.run(self.store.append, key, list(entries))

    def load(self, subpath: str | None = None) -> list[Any] | None:
        key: SessionKey = KEY if subpath is None else {**KEY, "subpath": subpath}
        found: list[Any] | None = anyio.run(self.store.load, key)
        return found

    def write_own(self, *entries: Any) -> None:
        self.own.write_text("".join(json.dumps(each) + "\n" for each in entries))

    def list_known(self) -> list[KnownSession]:
        store = open_store(self.settings.home / "turnlog.db", read_only=True)
        try:
            return list(store.list_known(LOCAL))
        finally:
            store.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_all_contracts_of_the_sdk_are_kept(tmp_path: Path) -> None:
    numbers = count()
    anyio.run(run_session_store_conformance, lambda: TurnlogSessionStore(tmp_path / str(next(numbers))))


def test_what_was_appended_is_a_session_of_the_archive(home: Home) -> None:
    home.append(entry(0), entry(1, "Milk?"))
    [known] = home.list_known()
    assert (known.session_id, known.project_folder) == (ID, PROJECT)
    assert home.mirror.read_text().count("\n") == 2
    assert home.mirror.stat().st_mode & 0o777 == 0o600
    assert home.mirror.parent.stat().st_mode & 0o077 == 0


def test_an_entry_that_comes_again_is_kept_once_and_one_without_an_id_each_time(home: Home) -> None:
    tag = {"type": "tag", "tag": "tea", "sessionId": ID}
    home.append(entry(0), tag)
    home.append(entry(0), entry(1), tag)
    assert home.load() == [entry(0), tag, entry(1), tag]


def test_a_session_comes_back_after_all_of_its_files_are_gone(home: Home) -> None:
    home.append(entry(0), entry(1, "half \ud83d of one"))
    home.append(entry(2), subpath="subagents/agent-a1")
    for path in home.settings.captured_dir.rglob("*.jsonl"):
        path.unlink()
    assert home.load() == [entry(0), entry(1, "half \ud83d of one")]
    assert home.load("subagents/agent-a1") == [entry(2)]
    assert anyio.run(home.store.list_subkeys, KEY) == ["subagents/agent-a1"]


def test_sessions_of_claude_codes_own_files_are_there_without_having_been_mirrored(home: Home) -> None:
    home.write_own(entry(0), entry(1))
    agent = home.own.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text(json.dumps(entry(5)) + "\n")
    agent.with_name("agent-a1.meta.json").write_text('{"agentType":"cook","toolUseId":"t1"}')
    assert home.load() == [entry(0), entry(1)]
    assert home.load("subagents/agent-a1") == [
        {"type": "agent_metadata", "agentType": "cook", "toolUseId": "t1"},
        entry(5),
    ]
    [listed] = anyio.run(home.store.list_sessions, PROJECT)
    assert listed == {"session_id": ID, "mtime": home.own.stat().st_mtime_ns // 1_000_000}
    [summary] = anyio.run(home.store.list_session_summaries, PROJECT)
    assert (summary["mtime"], summary["data"]["first_prompt"]) == (listed["mtime"], "Brew tea")


def test_a_mirror_that_begins_in_the_middle_begins_with_what_is_archived(home: Home) -> None:
    home.write_own(entry(0), entry(1))
    assert home.load() == [entry(0), entry(1)]  # as the SDK does before it resumes
    home.append(entry(2), entry(3, "x" * 3000))
    whole = [entry(0), entry(1), entry(2), entry(3, "x" * 3000)]
    assert [json.loads(line) for line in home.mirror.read_text().splitlines()] == whole
    assert home.load() == whole
    [known] = home.list_known()
    kinds = {Path(each.path).name: str(each.kind) for each in known.sources}
    assert kinds == {home.own.name: "capture", home.mirror.name: "transcript"}


def test_a_mirror_of_what_is_being_written_does_not_begin_with_it_twice(home: Home) -> None:
    tag = {"type": "tag", "tag": "tea", "sessionId": ID}
    home.write_own(entry(0), tag, entry(1))
    assert home.load() is not None
    home.append(entry(0), tag)
    home.append(entry(1))
    assert [json.loads(line) for line in home.mirror.read_text().splitlines()] == [entry(0), tag, entry(1)]
    assert home.load() == [entry(0), tag, entry(1)]


def test_entries_that_stand_only_in_one_of_both_are_all_there(home: Home) -> None:
    home.append(entry(0), entry(2, "mirrored"))
    home.write_own(entry(0), entry(1, "written"))
    assert home.load() == [entry(0), entry(1, "written"), entry(2, "mirrored")]


def test_what_is_said_of_a_sub_agent_lies_beside_it_and_comes_back_where_it_was(home: Home) -> None:
    first = {"type": "agent_metadata", "agentType": "cook", "toolUseId": "t1"}
    last = {**first, "finished": True}
    home.append(first, entry(1), subpath="subagents/agent-a1")
    assert home.load("subagents/agent-a1") == [first, entry(1)]
    home.append(entry(0))
    home.append(entry(2), last, entry(3), subpath="subagents/agent-a1")
    assert home.load("subagents/agent-a1") == [first, entry(1), entry(2), last, entry(3)]
    agent = home.mirror.with_suffix("") / "subagents" / "agent-a1.jsonl"
    assert json.loads(agent.with_name("agent-a1.meta.json").read_text()) == {
        "agentType": "cook",
        "toolUseId": "t1",
        "finished": True,
    }
    assert [json.loads(line) for line in agent.read_text().splitlines()] == [entry(1), entry(2), entry(3)]
    assert anyio.run(home.store.list_subkeys, KEY) == ["subagents/agent-a1"]


def test_entries_whose_writing_failed_can_be_appended_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = home.store
    anyio.run(store.append, KEY, [entry(0)])

    def fail(file: int, data: object) -> int:
        raise OSError("No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", fail)
        with pytest.raises(OSError, match="No space"):
            anyio.run(store.append, KEY, [entry(1)])
    anyio.run(store.append, KEY, [entry(1)])
    assert home.load() == [entry(0), entry(1)]


def test_files_that_are_no_sub_agents_come_back_too(home: Home) -> None:
    home.append(entry(0))
    home.append({"type": "x", "n": 1}, subpath="notes/plan")
    assert home.load("notes/plan") == [{"type": "x", "n": 1}]


def test_what_is_deleted_is_forgotten_and_comes_back_only_by_being_written_again(home: Home) -> None:
    home.write_own(entry(0))
    home.append(entry(0), entry(1, "a secret"))
    anyio.run(home.store.delete, KEY)
    assert home.own.exists()
    assert home.load() is None
    assert home.list_known() == []
    left = [
        path for path in home.settings.home.rglob("*") if path.is_file() and b"a secret" in path.read_bytes()
    ]
    assert left == []
    home.append(entry(2))
    assert home.load() == [entry(0), entry(2)]


def test_what_is_forgotten_elsewhere_leaves_nothing_here(home: Home) -> None:
    home.append(entry(0, "a secret"))
    home.append(entry(1, "a secret"), subpath="subagents/agent-a1")
    assert anyio.run(home.store.list_session_summaries, PROJECT) != []
    (home.mirror.with_suffix("") / "not-archived-yet.jsonl").write_text("a secret")
    env = {"TURNLOG_HOME": str(home.settings.home), "CLAUDE_CONFIG_DIR": str(home.settings.config_dirs[0])}
    assert invoke("forget", ID, "--yes", env=env).exit_code == 0
    files = [path for path in home.settings.home.rglob("*") if path.is_file()]
    assert [path for path in files if b"a secret" in path.read_bytes()] == []
    assert home.load() is None


def test_while_another_process_writes_what_is_appended_is_on_the_disk(home: Home) -> None:
    home.append(entry(0))
    with hold_lease(home.settings.place, lambda: None):
        home.append(entry(1))
        assert len(home.mirror.read_text().splitlines()) == 2
    assert home.load() == [entry(0), entry(1)]


def test_a_torn_line_of_a_process_that_died_harms_nobody(home: Home) -> None:
    home.append(entry(0))
    with home.mirror.open("a") as file:
        file.write('{"type":"user","uuid":"to')
    home.append(entry(1))
    assert home.load() == [entry(0), entry(1)]


def test_names_that_lead_elsewhere_are_refused(home: Home) -> None:
    store = home.store
    elsewhere: SessionKey = {**KEY, "session_id": "../../x"}
    for key in (elsewhere, SessionKey(**KEY, subpath="../x"), SessionKey(project_key="a/b", session_id=ID)):
        with pytest.raises(ValueError, match="Expected a valid file name"):
            anyio.run(store.append, key, [entry(0)])
    assert anyio.run(store.load, elsewhere) is None
    assert anyio.run(store.list_sessions, "../x") == []
    assert not home.settings.home.exists() or [*home.settings.home.rglob("*.jsonl")] == []


def test_the_loop_goes_on_while_a_file_is_waited_for(home: Home) -> None:
    home.append(entry(0))

    async def run() -> None:
        ticks = 0
        async with anyio.create_task_group() as tasks:
            with lock_file(home.mirror):
                tasks.start_soon(home.store.append, KEY, [entry(1)])
                for _ in range(50):
                    await anyio.sleep(0)
                    ticks += 1
        assert ticks == 50

    anyio.run(run)
    assert home.load() == [entry(0), entry(1)]
