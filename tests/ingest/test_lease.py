"""Who may not write asks the one who does."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest

from turnlog.errors import BusyStoreError
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.lease import SyncAnswer, SyncRequest, answer_requests, request_sync
from turnlog.ingest.live_sync import follow
from turnlog.ingest.watchers import PollingWatcher
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store

TOUR = Path(__file__).parents[1] / "data" / "cli" / "tour"


def serve(home: Path, answer: SyncAnswer, seen: list[SyncRequest]) -> threading.Thread:
    """Answer one request as it comes, in another thread."""

    def do(request: SyncRequest) -> SyncAnswer:
        seen.append(request)
        return answer

    def wait() -> None:
        while not answer_requests(home, do):
            pass

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_request_is_answered_and_leaves_nothing_behind(tmp_path: Path) -> None:
    seen: list[SyncRequest] = []
    thread = serve(tmp_path, SyncAnswer(SyncReport(sessions=3)), seen)
    assert request_sync(tmp_path, SyncRequest(("/a",)), patience=30).sessions == 3
    thread.join()
    assert seen == [SyncRequest(("/a",))]
    assert list((tmp_path / "handover").iterdir()) == []


def test_a_request_that_cannot_be_done_says_why(tmp_path: Path) -> None:
    serve(tmp_path, SyncAnswer(reason="the disk is full"), [])
    with pytest.raises(BusyStoreError, match="the disk is full"):
        request_sync(tmp_path, SyncRequest(), patience=30)


def test_a_request_that_nobody_answers_is_taken_back(tmp_path: Path) -> None:
    with pytest.raises(BusyStoreError, match="does not respond"):
        request_sync(tmp_path, SyncRequest(), patience=0)
    assert list((tmp_path / "handover").iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"[]", b'{"path":5}', b"\xff"])
def test_a_request_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    folder = tmp_path / "handover"
    folder.mkdir()
    (folder / "x.ask").write_bytes(data)
    assert answer_requests(tmp_path, lambda request: SyncAnswer(SyncReport())) == 1
    assert json.loads((folder / "x.answer").read_bytes())["reason"]


def test_without_any_request_nothing_is_done(tmp_path: Path) -> None:
    assert answer_requests(tmp_path, lambda request: SyncAnswer()) == 0


def test_a_watcher_does_what_a_sync_asks_for(tmp_path: Path) -> None:
    shutil.copytree(TOUR, tmp_path / "old" / "projects" / "tea")
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    place = tmp_path / "home" / "turnlog.db"
    store = open_store(place)
    watcher = PollingWatcher([tmp_path / "claude" / "projects"])
    thread = threading.Thread(
        target=follow,
        args=(store, place, [tmp_path / "claude"]),
        kwargs={"origin": "here", "watcher": watcher, "on_report": lambda followed: None},
        daemon=True,
    )
    thread.start()
    try:
        report = request_sync(tmp_path / "home", SyncRequest((str(tmp_path / "old"),)), patience=60)
    finally:
        watcher.stop()
        thread.join(60)
    assert report.added == 1
    assert len(list(store.list_known(LOCAL))) == 1
    store.close()
