"""The real program, captured in every way there is: what stream, hooks and files of a run say agrees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import SessionKey

from real_program.captured import ASKED, MIRRORED, PIPED, UNATTENDED
from real_program.recordings import make_once, run_apart
from turnlog import Session, read
from turnlog.config import Settings
from turnlog.export.files import export_raw, find_transcript
from turnlog.ingest.verification import check_session
from turnlog.integrations.agent_sdk import TurnlogSessionStore
from turnlog.messages import decode
from turnlog.messages.hook_events import PreToolUseHookInput
from turnlog.messages.sdk.messages import ResultMessage
from turnlog.store.interface import KnownSession, MaintainedStore, read_all
from turnlog.store.model import LOCAL, SourceKind
from turnlog.store.opening import open_store
from turnlog.transcripts.calls import Call

SECONDS = 180.0


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    def make(folder: Path) -> None:
        run_apart("real_program.captured", folder, seconds=SECONDS)

    return make_once(shared / "captured", make, SECONDS)


@pytest.fixture(scope="module")
def told(folder: Path) -> Any:
    return json.loads((folder / "told.json").read_text())


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[MaintainedStore]:
    store = open_store(folder / "turnlog" / "turnlog.db", read_only=True)
    yield store
    store.close()


def find(store: MaintainedStore, session_id: str) -> KnownSession:
    [found] = [known for known in store.list_known(LOCAL) if known.session_id == session_id]
    return found


def load(store: MaintainedStore, session_id: str, folder: Path) -> Session:
    """Return a session as its files say it, which are given back into a folder."""
    known = find(store, session_id)
    assert check_session(store, LOCAL, known).disagreements == ()
    export_raw(store, LOCAL, known, folder)
    main = find_transcript(known)
    assert main is not None
    [path] = folder.rglob(Path(main.path).name)
    return read(path)


def list_said(session: Session) -> list[str]:
    return [message.text for message in session.messages if message.author.value == "claude" and message.text]


def describe(call: Call) -> tuple[str | None, str, str]:
    return call.id, call.name, call.state.value


def test_a_session_that_was_mirrored_is_resumed_from_the_archive(
    folder: Path, store: MaintainedStore, told: Any, tmp_path: Path
) -> None:
    assert [names[-1] for names in told["mirrored"]] == ["ResultMessage", "ResultMessage"]
    assert not any(folder.glob(f"config/projects/*/{MIRRORED}.jsonl"))
    session = load(store, MIRRORED, tmp_path)
    assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["Read both files.", "Send an agent."]
    assert list_said(session) == ["I read both.", "Alpha and beta.", "It is back."]
    assert [describe(call)[2] for call in session.calls] == ["resolved"] * 3
    [agent] = session.agents
    assert (agent.type, agent.call.id if agent.call else None) == ("general-purpose", "toolu_agent")
    assert session.problems == ()
    assert session.summary.cost == session.summary.reported_cost


def test_the_sdk_finds_what_was_archived(folder: Path) -> None:
    env = {"TURNLOG_HOME": str(folder / "turnlog"), "CLAUDE_CONFIG_DIR": str(folder / "config")}
    sessions = TurnlogSessionStore(settings=Settings.from_env(env))
    [project] = {path.parent.name for path in folder.glob("turnlog/captured/projects/*/*.jsonl")}
    listed = anyio.run(sessions.list_sessions, project)
    assert {MIRRORED, PIPED} <= {each["session_id"] for each in listed}
    key: SessionKey = {"project_key": project, "session_id": PIPED}
    own = anyio.run(sessions.load, key)
    [path] = folder.glob(f"config/projects/*/{PIPED}.jsonl")
    assert own == [json.loads(line) for line in path.read_bytes().splitlines()]


def test_what_the_stream_the_hooks_and_the_file_of_a_run_say_agrees(
    folder: Path, store: MaintainedStore, tmp_path: Path
) -> None:
    known = find(store, PIPED)
    kinds = {source.kind for source in known.sources}
    assert {SourceKind.TRANSCRIPT, SourceKind.CAPTURE} <= kinds
    whole = load(store, PIPED, tmp_path)
    streamed = read(folder / "stream-0.jsonl")
    told = [decode(path.read_bytes().strip()).entry for path in (folder / "hooks").iterdir()]
    assert list_said(whole) == list_said(streamed) == ["I read both.", "Alpha and beta."]
    calls = sorted(map(describe, whole.calls))
    assert calls == sorted(map(describe, streamed.calls))
    asked = {(each.tool_use_id, each.tool_name) for each in told if isinstance(each, PreToolUseHookInput)}
    assert asked == {(call_id, name) for call_id, name, _ in calls}
    [result] = [line.entry for line in streamed.lines if isinstance(line.entry, ResultMessage)]
    assert Decimal(str(result.total_cost_usd)) == whole.summary.cost == whole.summary.reported_cost
    assert streamed.summary.reported_cost == whole.summary.reported_cost


def test_the_stream_that_was_copied_on_is_what_was_kept(
    folder: Path, store: MaintainedStore, told: Any
) -> None:
    kept = {Path(each.path).name: each for each in find(store, PIPED).sources}[f"{PIPED}.stream.jsonl"]
    data = b"".join(read_all(store.archive, LOCAL, kept.source, kept.generation))
    assert data == (folder / "stream-0.jsonl").read_bytes()
    assert told["piped"] == {"status": 0, "said": f"{PIPED}: {kept.lines} lines kept\n"}


def test_every_line_that_was_captured_is_of_a_known_type(folder: Path) -> None:
    found = {path.name: read(path).problems for path in folder.glob("turnlog/captured/projects/*/*.jsonl")}
    assert len(found) == 4
    assert [name for name, problems in found.items() if problems] == []


def test_nothing_is_allowed_where_nobody_is_asked(store: MaintainedStore, told: Any, tmp_path: Path) -> None:
    done = told["unattended"]
    assert (done["status"], done["made"], done["err"]) == (0, False, "")
    assert "Nobody can be asked" in done["out"]
    [call] = load(store, UNATTENDED, tmp_path).calls
    assert call.state.value in ("failed", "rejected")


def test_a_conversation_at_a_terminal_is_shown_asked_for_and_kept(
    store: MaintainedStore, told: Any, tmp_path: Path
) -> None:
    done = told["asked"]
    assert (done["status"], done["made"]) == (0, True)
    assert "command: echo made > made.txt" in done["out"]
    assert "✓ Bash echo made > made.txt" in done["out"]
    session = load(store, ASKED, tmp_path)
    assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["Make a file."]
    assert session.summary.models == ("claude-haiku-4-5",)
    kept = {Path(each.path).name: each for each in find(store, ASKED).sources}[f"{ASKED}.stream.jsonl"]
    data = b"".join(read_all(store.archive, LOCAL, kept.source, kept.generation))
    lines = [json.loads(line) for line in data.splitlines()]
    asked = [each["request"]["subtype"] for each in lines if each["type"] == "control_request"]
    assert asked == ["initialize", "set_model", "set_permission_mode", "set_permission_mode", "can_use_tool"]
