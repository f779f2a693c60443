"""How often the store is asked for one window of messages: each statement is a way to the server and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from postgres_server import make_archive
from server_app import Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.store.accounts import open_accounts
from turnlog.store.blobs import FolderBlobs
from turnlog.store.catalogue.postgres import PostgresConnection
from turnlog.store.catalogue.sqlite import SqliteConnection
from turnlog.store.model import BlobPlace, ServerPlace, StorePlace
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_line, make_lines
from turnlog.transcripts import locate_sessions

_LINES = 700
"""They are in three segments, and a hundred of them in four frames."""
_KNOWN = 5
"""The session, its files with the heads of their segments, how its answers were counted, where the frames are,
and the answers."""


@pytest.fixture(params=["sqlite", "postgresql", "blobs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorePlace:
    if request.param == "sqlite":
        return tmp_path / "turnlog.db"
    blobs = BlobPlace(str(tmp_path / "blobs")) if request.param == "blobs" else None
    return ServerPlace(make_archive(), tmp_path, blobs=blobs)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements of all connections."""
    found: list[str] = []
    for kind in (SqliteConnection, PostgresConnection):

        def execute(connection: Any, statement: str, values: Any = (), run: Any = kind.execute) -> Any:
            if statement != "BEGIN":
                found.append(statement)
            return run(connection, statement, values)

        monkeypatch.setattr(kind, "execute", execute)
    return found


@pytest.fixture
def api(place: StorePlace, tmp_path: Path) -> Iterator[Served]:
    """A server over a long session with sub-agents."""
    main = b"".join(
        make_line(number, type="assistant" if number % 2 else "user", text=f"{number} " * 4000)
        for number in range(_LINES)
    )
    project = tmp_path / "claude" / "projects" / "-home-ada-project"
    (project / "session-1" / "subagents").mkdir(parents=True)
    (project / "session-1.jsonl").write_bytes(main)
    for name in ("a1", "a2", "a3", "a4", "a5"):
        lines = make_lines(4, agent_id=name)
        (project / "session-1" / "subagents" / f"agent-{name}.jsonl").write_bytes(lines)
    with closing(open_store(place)) as store:
        sync(store, place, locate_sessions([tmp_path / "claude"]).sessions, origin="test", workers=0)
    # Opened anew, it has nothing in memory.
    with (
        closing(open_store(place)) as store,
        closing(open_accounts(place)) as accounts,
        serving(tmp_path / "home", store=store, accounts=accounts) as served,
    ):
        yield served


def test_a_window_takes_a_few_statements_however_many_files_and_frames_there_are(
    api: Served, asked: list[str]
) -> None:
    def list_asked(around: int) -> list[str]:
        asked.clear()
        answer = api.get(f"/api/sessions/session-1/messages?limit=100&around={around}")
        assert len(answer.json["items"]) == 100
        return [*asked]

    for around in (600, 300, 350):
        first = list_asked(around)
        assert sum("segment_data" in each for each in first) <= 2  # the window may be in two segments
        assert sum("CAST(data AS" in each for each in first) <= 2  # sealed frames, and those behind them
        # The server looks for changes meanwhile: its own statements may be among them.
        assert min(len(list_asked(around)) for _ in range(10)) == _KNOWN


@pytest.mark.parametrize("place", ["blobs"], indirect=True)
def test_a_window_takes_two_requests_for_blobs_and_none_when_it_was_asked_for_before(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def get(blobs: FolderBlobs, name: str, run: Any = FolderBlobs.get) -> Any:
        asked.append(name.partition("/")[0])
        return run(blobs, name)

    monkeypatch.setattr(FolderBlobs, "get", get)
    for expected in (["segments", "frames"], []):
        asked.clear()
        assert len(api.get("/api/sessions/session-1/messages?limit=10&around=40").json["items"]) == 10
        assert asked == expected
