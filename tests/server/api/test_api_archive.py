"""`/api/archive`, and sessions that are forgotten or put back. Each test has an archive of its own."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from api_archive import COPIED, LONG_RESULT, ODD, OFFLOADED, TOOLS, fill
from server_app import PATIENCE, Answer, Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.server.requests import ServerContext
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.hooks import HookDelivery
from turnlog.transcripts.segments import pack_segment, unpack_segment


class Archive:
    """A server over an archive that may be changed."""

    def __init__(self, api: Served, store: MaintainedStore, home: Path, config: Path, watched: Path) -> None:
        self.api = api
        self.store = store
        self.place = home / "turnlog.db"
        self.config = config
        self._watched = watched

    def hold(self) -> None:
        """Let the next verification wait, before it does anything."""
        (self._watched / "held").touch()

    def let_go(self) -> None:
        (self._watched / "held").unlink()

    def await_verifier(self) -> int:
        """Return the process that verifies."""
        file = self._watched / "pid"
        await_true(lambda: file.exists() and file.read_text() != "")
        return int(file.read_text())

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**self.api.bearer, "Content-Type": "application/json", **headers}
        return self.api.ask("POST", path, sent, data)

    def delete(self, path: str) -> Answer:
        return self.api.ask("DELETE", path, self.api.bearer)

    def key_of(self, session: str) -> str:
        [found] = find_sessions(self.store, LOCAL, session)
        return found.key

    def transcript(self, session: str) -> Path:
        return self.config / "projects" / "-home-ada-odd" / f"{session}.jsonl"

    def await_end(self) -> Any:
        """Return the verification when it has ended."""
        await_true(lambda: self.api.get("/api/archive/verify").json["state"] != "running")
        return self.api.get("/api/archive/verify").json


def await_true(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 10 * PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


_WATCHED = """
import os, time
here = os.path.dirname(__file__)
with open(os.path.join(here, "pid"), "w") as file:
    file.write(str(os.getpid()))
while os.path.exists(os.path.join(here, "held")):
    time.sleep(0.01)
"""
"""What a process does at its start that finds it: it says who it is, and waits for as long as it is held."""


@contextmanager
def archived(folder: Path) -> Iterator[Archive]:
    home, config, watched = folder / "home", folder / "claude", folder / "watched"
    home.mkdir()
    watched.mkdir()
    (watched / "sitecustomize.py").write_text(_WATCHED)
    store = open_store(home / "turnlog.db")
    fill(store, home / "turnlog.db", config)
    env = {**os.environ, "PYTHONPATH": str(watched)}
    around = ServerContext(place=home / "turnlog.db", config_dirs=(config,), demo=True, env=env)
    with serving(home, store=store, around=around) as running:
        yield Archive(running, store, home, config, watched)
    store.close()


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An archive for one test."""
    with archived(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """An archive for tests after which it is as it was."""
    with archived(tmp_path_factory.mktemp("untouched")) as made:
        yield made


def test_the_archive_says_what_it_holds(archive: Archive) -> None:
    old = time.time() - 29 * 86_400
    os.utime(archive.transcript(TOOLS), (old, old))
    unknown = archive.transcript("ffffffff-0000-4000-8000-000000000000")
    unknown.write_bytes(b'{"type":"user"}\n')
    os.utime(unknown, (old - 60, old - 60))
    archive.transcript(ODD).unlink()
    sync(archive.store, archive.place, locate_sessions([archive.config]).sessions[:1], origin="test")
    told = archive.api.get("/api/archive").json
    assert told["place"] == str(archive.place)
    assert told["bytes"] > 0
    assert (told["sessions"], told["raw_bytes"]) == (18, 256_570)
    assert told["retention_days"] == 30
    first, second = told["deleted_soon"]
    assert first.pop("deletes_at") < second.pop("deletes_at")
    assert first == {
        "session_id": unknown.stem,
        "key": None,
        "title": None,
        "project": None,
        "archived": False,
        "missing_bytes": 16,
    }
    assert second == {
        "session_id": TOOLS,
        "key": archive.key_of(TOOLS),
        "title": "Compare config.json and package.json",
        "project": "/home/ada/odd",
        "archived": True,
        "missing_bytes": 0,
    }
    assert (told["deleted_soon_total"], told["not_archived"]) == (2, 1)
    assert [each["session_id"] for each in told["sessions_with_problems"]][-1:] == [ODD]
    assert (
        told["sessions_with_problems_total"]
        == len(told["sessions_with_problems"])
        == archive.api.get("/api/status").json["problems"]
    )
    assert (told["tombstones"], told["backups"], told["verify"]) == ([], [], None)


def test_the_status_says_that_these_are_samples(archive: Archive) -> None:
    assert archive.api.get("/api/status").json["demo"] is True


def test_a_clean_archive_is_verified_beside_the_server(archive: Archive) -> None:
    assert archive.api.get("/api/archive/verify").code == "not_found"
    started = archive.post("/api/archive/verify")
    assert (started.status, started.json["state"], started.json["ended_at"]) == (202, "running", None)
    job = archive.await_end()
    assert (job["state"], job["done"], job["total"], job["found"]) == ("clean", 18, 18, 0)
    assert job["started_at"] <= job["ended_at"]
    assert archive.api.get("/api/archive").json["verify"] == job
    assert archive.post("/api/archive/verify").status == 202


def test_what_disagrees_is_found(archive: Archive) -> None:
    connection = apsw.Connection(str(archive.place))
    query = (
        "SELECT source, number, packed FROM segments JOIN segment_data USING (source, number) WHERE calls > 0"
    )
    rows: list[Any] = connection.execute(query).fetchall()
    for *place, data in rows:
        was = unpack_segment(data)
        calls = [replace(call, started=call.started and call.started + 1) for call in was.calls]
        packed = pack_segment(was.lines, was.messages, calls, was.events, was.sightings)
        connection.execute(
            "UPDATE segment_data SET packed = ? WHERE source = ? AND number = ?", (packed, *place)
        )
    connection.execute("UPDATE tail_frames SET data = zeroblob(length(data)) WHERE rowid = 1")
    connection.close()
    archive.post("/api/archive/verify")
    job = archive.await_end()
    assert job["state"] == "found"
    assert job["found"] >= len(job["findings"]) > 1
    assert {each["subject"] for each in job["findings"]} == {"bytes", "rows"}
    [damaged] = [each for each in job["findings"] if each["subject"] == "bytes"]
    assert damaged["path"].startswith(str(archive.config))
    rows = [each for each in job["findings"] if each["subject"] == "rows"]
    assert all(each["path"] is None and "differs in started" in each["message"] for each in rows)


def test_there_is_one_verification_at_a_time(archive: Archive) -> None:
    archive.hold()
    assert archive.post("/api/archive/verify").status == 202
    again = archive.post("/api/archive/verify")
    assert (again.status, again.code) == (409, "running")
    assert archive.api.get("/api/archive/verify").json["state"] == "running"
    archive.let_go()
    assert archive.await_end()["state"] == "clean"


def test_a_verification_that_is_cut_off_has_failed(archive: Archive) -> None:
    archive.hold()
    archive.post("/api/archive/verify")
    os.kill(archive.await_verifier(), signal.SIGKILL)
    job = archive.await_end()
    assert (job["state"], job["message"]) == ("failed", "It ended before everything was checked")
    archive.let_go()
    assert archive.post("/api/archive/verify").status == 202
    assert archive.await_end()["state"] == "clean"


def test_a_store_that_cannot_be_read_is_not_verified(archive: Archive) -> None:
    archive.hold()
    archive.post("/api/archive/verify")
    archive.place.rename(archive.place.with_suffix(".moved"))
    archive.let_go()
    job = archive.await_end()
    archive.place.with_suffix(".moved").rename(archive.place)
    assert job["state"] == "failed"
    assert str(archive.place) in job["message"]


@pytest.mark.parametrize("held", [False, True])
def test_the_verifier_ends_with_the_server(tmp_path: Path, held: bool) -> None:
    with archived(tmp_path) as archive:
        if held:
            archive.hold()
        archive.post("/api/archive/verify")
        process = archive.await_verifier()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_store_without_a_file_is_not_verified(tmp_path: Path) -> None:
    store = open_store(tmp_path / "turnlog.db")
    with serving(tmp_path / "home", store=store) as running:
        answer = running.ask("POST", "/api/archive/verify", running.bearer, b"")
        assert (answer.status, answer.code) == (503, "unavailable")
        assert running.get("/api/archive").json["place"] is None
    store.close()


def test_forgetting_is_tried_before_it_is_done(archive: Archive) -> None:
    key, path = archive.key_of(OFFLOADED), f"/api/sessions/{OFFLOADED}/forget"
    given = HookDelivery(
        delivery_id="d1", received_ns=1, session_id=OFFLOADED, event_name="Stop", payload=b"{}", label="Stop"
    )
    archive.store.add_deliveries(LOCAL, [given])
    size = archive.transcript(OFFLOADED).stat().st_size + len(LONG_RESULT)
    backup = archive.store.back_up(archive.place.with_name("copy.db"))
    for body in ({}, {"dry_run": True}):
        tried = archive.post(path, body)
        assert "clear-site-data" not in tried.headers
        assert {**tried.json, "outside": len(tried.json["outside"])} == {
            "done": False,
            "sessions": 1,
            "files": 2,
            "bytes": size,
            "deliveries": 1,
            "outside": 2,
            "backups": [backup.path],
            "unknown_backups": [],
            "scrubbed": False,
        }
    assert archive.api.get(f"/api/sessions/{OFFLOADED}").status == 200
    done = archive.post(path, {"dry_run": False})
    assert done.json == tried.json | {"done": True, "scrubbed": True}
    assert done.headers["clear-site-data"] == '"cache"'
    assert archive.api.get(f"/api/sessions/{OFFLOADED}").status == 404
    assert archive.post(path, {"dry_run": False}).status == 404
    assert archive.transcript(OFFLOADED).exists()
    [tombstone] = archive.api.get("/api/archive").json["tombstones"]
    assert (tombstone["session_id"], tombstone["key"]) == (OFFLOADED, key)
    assert b"a line that is kept apart" not in archive.place.read_bytes()


def test_what_was_forgotten_may_be_archived_again(archive: Archive) -> None:
    key, place = archive.key_of(TOOLS), "/api/archive/tombstones"
    archive.post(f"/api/sessions/{key}/forget", {"dry_run": False})
    for name in ("nobody", TOOLS[:3], "%25%25%25%25", "'%20OR%201=1"):
        assert archive.delete(f"{place}/{name}").status == 404
    for name in ("%00%00%00%00", "..%2f..%2f..", "%2e%2e"):
        assert archive.delete(f"{place}/{name}").status in (400, 404)
    deleted = archive.delete(f"{place}/{TOOLS}")
    assert (deleted.status, deleted.json) == (200, {"session_id": TOOLS, "key": key})
    assert archive.delete(f"{place}/{TOOLS}").status == 404
    sync(archive.store, archive.place, locate_sessions([archive.config]).sessions, origin="test")
    assert archive.api.get(f"/api/sessions/{TOOLS}").status == 200


def test_a_beginning_that_several_forgotten_sessions_have_names_none(archive: Archive) -> None:
    for name in ("twin-1", "twin-2"):
        archive.transcript(name).write_bytes(b'{"type":"user","message":{"role":"user","content":"Hi"}}\n')
    sync(archive.store, archive.place, locate_sessions([archive.config]).sessions, origin="test")
    archive.store.forget(LOCAL, [archive.key_of(name) for name in ("twin-1", "twin-2")])
    answer = archive.delete("/api/archive/tombstones/twin-")
    assert (answer.status, answer.code) == (409, "ambiguous")
    former = archive.post("/api/archive/tombstones/twin-2/lift")
    assert former.json["session_id"] == "twin-2"
    address = "/api/archive/tombstones/twin-2"
    assert former.headers["warning"] == f'299 - "this address is now DELETE {address}"'
    assert former.headers["link"] == f'<{address}>; rel="successor-version"'
    assert [each.session_id for each in archive.store.list_tombstones(LOCAL)] == ["twin-1"]


def test_a_deleted_session_is_put_back(archive: Archive) -> None:
    path = f"/api/sessions/{OFFLOADED}/restore"
    transcript = archive.transcript(OFFLOADED)
    data = transcript.read_bytes()
    transcript.unlink()
    for body in ({}, {"dry_run": True}):
        tried = archive.post(path, body).json
        assert (tried["done"], tried["written"]) == (False, [str(transcript)])
        assert [Path(each).name for each in tried["kept"]] == ["toolu_long.txt"]
        assert not transcript.exists()
    done = archive.post(path, {"dry_run": False}).json
    assert done == tried | {"done": True}
    assert transcript.read_bytes() == data
    assert transcript.stat().st_mode & 0o777 == 0o600
    again = archive.post(path, {"dry_run": False}).json
    assert (again["written"], len(again["kept"])) == ([], 2)


def test_nothing_is_put_over_another_file(archive: Archive) -> None:
    transcript = archive.transcript(TOOLS)
    transcript.write_bytes(b"something else")
    answer = archive.post(f"/api/sessions/{TOOLS}/restore", {"dry_run": False})
    assert (answer.status, answer.code) == (409, "in_the_way")
    assert answer.json["error"]["details"][0]["where"] == str(transcript)
    assert transcript.read_bytes() == b"something else"


def test_nothing_is_put_where_claude_code_keeps_no_sessions(archive: Archive, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "projects" / "-home-ada-odd"
    elsewhere.mkdir(parents=True)
    strange = elsewhere / "eeeeeeee-0000-4000-8000-000000000000.jsonl"
    strange.write_bytes(b'{"type":"user","message":{"role":"user","content":"Hi"}}\n')
    sync(archive.store, archive.place, locate_sessions([tmp_path / "elsewhere"]).sessions, origin="test")
    strange.unlink()
    for dry_run in (True, False):
        answer = archive.post(f"/api/sessions/{strange.stem}/restore", {"dry_run": dry_run})
        assert (answer.status, answer.code) == (409, "in_the_way")
    assert not strange.exists()


def test_nothing_is_put_where_a_link_leads_elsewhere(archive: Archive, tmp_path: Path) -> None:
    folder = archive.transcript(TOOLS).parent
    folder.rename(tmp_path / "moved")
    (tmp_path / "outside").mkdir()
    folder.symlink_to(tmp_path / "outside")
    answer = archive.post(f"/api/sessions/{TOOLS}/restore", {"dry_run": False})
    assert (answer.status, answer.code) == (409, "in_the_way")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_that_leads_nowhere_is_not_replaced(archive: Archive, tmp_path: Path) -> None:
    transcript = archive.transcript(TOOLS)
    transcript.unlink()
    transcript.symlink_to(tmp_path / "target")
    answer = archive.post(f"/api/sessions/{TOOLS}/restore", {"dry_run": False})
    assert (answer.status, answer.code) == (409, "in_the_way")
    assert transcript.is_symlink()
    assert not (tmp_path / "target").exists()


def test_a_file_that_cannot_be_written_is_said(archive: Archive, tmp_path: Path) -> None:
    folder = archive.transcript(TOOLS).parent
    folder.rename(tmp_path / "moved")
    folder.write_bytes(b"a file where a folder was")
    answer = archive.post(f"/api/sessions/{TOOLS}/restore", {"dry_run": False})
    assert (answer.status, answer.code) == (409, "not_written")
    assert answer.json["error"]["details"][0]["where"].startswith(str(folder))


@pytest.mark.parametrize("what", ["forget", "restore"])
def test_what_changes_something_needs_the_whole_name(untouched: Archive, what: str) -> None:
    answer = untouched.post(f"/api/sessions/{TOOLS[:12]}/{what}", {"dry_run": False})
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert untouched.post(f"/api/sessions/{COPIED}/{what}", {"dry_run": False}).code == "ambiguous"
    assert untouched.post(f"/api/sessions/nobody-at-all/{what}", {"dry_run": False}).status == 404
    assert untouched.api.get("/api/status").json["sessions"] == 18


@pytest.mark.parametrize("what", ["forget", "restore"])
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"dry_run": "false"}', b'{"dry_run": 0}', b'{"dry_run": null}', b'{"x": 1}'],
)
def test_a_wish_that_nobody_understands_changes_nothing(untouched: Archive, what: str, body: bytes) -> None:
    assert untouched.post(f"/api/sessions/{TOOLS}/{what}", body).status in (400, 422)
    assert untouched.api.get(f"/api/sessions/{TOOLS}").status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"/api/sessions/{TOOLS}/forget"),
        ("POST", f"/api/sessions/{TOOLS}/restore"),
        ("POST", "/api/archive/verify"),
        ("DELETE", f"/api/archive/tombstones/{TOOLS}"),
        ("POST", f"/api/archive/tombstones/{TOOLS}/lift"),
    ],
)
def test_nobody_else_changes_anything(archive: Archive, method: str, path: str) -> None:
    api, body = archive.api, json.dumps({"dry_run": False}).encode()
    kind = {"Content-Type": "application/json"}
    assert api.ask(method, path, kind, body).status == 401
    assert api.ask(method, path, {**kind, "Authorization": "Bearer wrong"}, body).status == 401
    foreign = {**kind, **api.cookie, "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert api.ask(method, path, foreign, body).status == 403
    assert api.ask(method, path, {**kind, **api.cookie}, body).status == 401
    assert api.ask("GET", path, {**kind, **api.bearer}).status in (404, 405)
    assert api.get("/api/status").json["sessions"] == 18
    assert api.get("/api/archive").json["verify"] is None
    ours = {**kind, **api.cookie, "Origin": api.origin, "Sec-Fetch-Site": "same-origin"}
    assert api.ask(method, path, ours, body).status in (200, 202, 404)
