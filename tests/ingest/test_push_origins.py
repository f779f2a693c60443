"""Sessions of other machines are none of this one's, whatever their paths are."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.pushed_store import ORIGIN, PushedStore, check_sound
from turnlog.ingest.change_check import DERIVATION, ChangeCheck, SyncReport
from turnlog.ingest.live_sync import SyncEvent, follow
from turnlog.ingest.machine import find_origin, read_origin
from turnlog.ingest.pipeline import sync
from turnlog.ingest.watchers import choose_watcher
from turnlog.store.model import LOCAL
from turnlog.testing.builders import make_lines
from turnlog.transcripts.session_files import list_roots, locate_sessions

HERE = "f" * 32


def check(pushed: PushedStore, claude: Path) -> SyncReport | None:
    """Return what a sync would report that finds nothing new; None if it may find anything."""
    found = ChangeCheck(pushed.store.find_present(LOCAL, HERE), HERE)
    return found.report_unchanged(locate_sessions([claude], found.is_settled).sessions, [claude])


def test_a_sync_leaves_sessions_of_other_machines_alone(tmp_path: Path) -> None:
    claude = tmp_path / ".claude"
    path = claude / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    pushed = PushedStore(tmp_path / "turnlog.db")
    path.write_bytes(make_lines(5, session_id="theirs"))
    (path.parent / "only-theirs.jsonl").write_bytes(make_lines(3, session_id="only-theirs"))
    pushed.push(locate_sessions([claude]).sessions)
    before = {known.key: known for known in pushed.store.list_known(LOCAL, ORIGIN)}
    (path.parent / "only-theirs.jsonl").unlink()
    path.write_bytes(make_lines(7, session_id="ours"))  # another machine's file at the same path
    sessions = locate_sessions([claude]).sessions
    assert check(pushed, claude) is None
    report = sync(pushed.store, tmp_path / "turnlog.db", sessions, origin=HERE, within=[claude])
    assert (report.added, report.gone, report.changed) == (1, 0, 0)
    assert {known.key: known for known in pushed.store.list_known(LOCAL, ORIGIN)} == before
    assert check(pushed, claude) is not None
    looks: list[SyncEvent] = []
    watcher = choose_watcher(list_roots([claude]), polling=False)

    def on_report(followed: SyncEvent) -> None:
        looks.append(followed)
        watcher.stop()

    follow(pushed.store, tmp_path / "turnlog.db", [claude], origin=HERE, watcher=watcher, on_report=on_report)
    assert [look.report.gone for look in looks if look.report is not None] == [0]
    assert {known.key: known for known in pushed.store.list_known(LOCAL, ORIGIN)} == before
    check_sound(pushed.store)
    pushed.store.close()


def test_what_is_derived_again_still_comes_from_where_it_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = tmp_path / ".claude"
    path = claude / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(make_lines(5))
    pushed = PushedStore(tmp_path / "turnlog.db")
    pushed.push(locate_sessions([claude]).sessions)
    for module in ("change_check", "session_scan"):
        monkeypatch.setattr(f"turnlog.ingest.{module}.DERIVATION", DERIVATION + 1)
    report = sync(pushed.store, tmp_path / "turnlog.db", [], origin=HERE, within=[claude])
    assert report.rederived == 1
    [known] = pushed.store.list_known(LOCAL)
    assert (known.origin, known.derivation) == (ORIGIN, DERIVATION + 1)
    pushed.store.close()


def test_the_name_of_a_machine_is_looked_at_without_being_made(tmp_path: Path) -> None:
    assert read_origin(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    assert read_origin(tmp_path / "nowhere") is None
    assert read_origin(tmp_path) is None
    assert find_origin(tmp_path) == read_origin(tmp_path)
    (tmp_path / "origin").write_text("nonsense")
    assert read_origin(tmp_path) is None
