"""The sample sessions, as turnlog itself reads them."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import turnlog
from turnlog.demo import PLAYS, install, list_scenes, play_live
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.ingest.spool_import import import_spool
from turnlog.messages import Dialect
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import CallState, Session, validate
from turnlog.transcripts.agent_status import AgentPhase, WaitReason, advance

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def read_all(tmp_path: Path, now: datetime, until: datetime) -> list[Session]:
    scenes = list_scenes(tmp_path, now)
    for scene in scenes:
        scene.write()
        for at, data in scene.coming:
            if at <= until:
                with scene.path.open("ab") as file:
                    file.write(data)
    return [turnlog.read(path) for path in sorted(tmp_path.glob("projects/*/*.jsonl"))]


def test_every_line_is_one_that_claude_code_of_today_writes(tmp_path: Path) -> None:
    sessions = read_all(tmp_path, NOW, LATER)
    assert len(sessions) == len(PLAYS)
    for session in sessions:
        assert {line.dialect for line in session.lines} == {Dialect.CLAUDE_CODE}
        assert session.problems == ()
        assert session.summary.title is not None


def test_together_they_show_what_there_is_to_see(tmp_path: Path) -> None:
    sessions = read_all(tmp_path, NOW, LATER)
    states = {call.state for session in sessions for call in session.calls}
    assert states >= {CallState.RESOLVED, CallState.FAILED, CallState.UNRESOLVED}
    assert [agent.type for session in sessions for agent in session.agents] == ["Explore"]
    assert sum(len(session.compactions) for session in sessions) == 1
    assert sum(bool(session.tree.forks) for session in sessions) == 1
    assert sum(session.summary.counts.interruptions for session in sessions) == 1
    assert len({session.project for session in sessions}) == 3
    assert len({model for session in sessions for model in session.summary.models}) == 3
    assert all(session.summary.cost for session in sessions)


def test_at_first_one_of_them_is_still_at_work(tmp_path: Path) -> None:
    scenes = install(tmp_path, NOW)
    assert [len(scene.coming) > 0 for scene in scenes].count(True) == 1


def test_the_same_moment_gives_the_same_files(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        install(tmp_path / folder, NOW)
    files = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) > len(PLAYS)
    for path in files:
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_what_is_to_come_is_written_in_its_time(tmp_path: Path) -> None:
    then = datetime.now(UTC) - timedelta(hours=1)
    scenes = install(tmp_path, then)
    play_live(scenes, threading.Event())
    [played] = [scene for scene in scenes if scene.coming]
    assert played.path.read_bytes().endswith(played.coming[-1][1])
    assert turnlog.read(played.path).summary.counts.unresolved_calls == 0


def test_playing_ends_when_it_is_stopped(tmp_path: Path) -> None:
    scenes, stopped = install(tmp_path), threading.Event()
    stopped.set()
    before = {scene.path: scene.path.read_bytes() for scene in scenes}
    play_live(scenes, stopped)
    assert {scene.path: scene.path.read_bytes() for scene in scenes} == before


def test_the_rules_of_validation_find_nothing_wrong(tmp_path: Path) -> None:
    for session in read_all(tmp_path, NOW, LATER):
        assert [finding for finding in validate(session.lines) if finding.severity.value == "error"] == []


def test_hooks_tell_who_waits_for_a_person(tmp_path: Path) -> None:
    install(tmp_path / "claude", NOW, tmp_path / "home")
    with closing(open_store(tmp_path / "turnlog.db")) as store:
        import_spool(Spool(tmp_path / "home" / SPOOL), store)
        status = None
        for delivery in store.list_deliveries(LOCAL):
            status = advance(status, delivery)
        assert status is not None
        assert (status.phase, status.why) == (AgentPhase.NEEDS_YOU, WaitReason.PERMISSION)
        assert status.since_ns <= NOW.timestamp() * 1e9
