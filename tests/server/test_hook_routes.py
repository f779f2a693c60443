"""Hook deliveries over HTTP: kept before they are answered, told in the spec's shape, once each."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from server_app import Answer, Served, serving
from turnlog.ingest.spool import Spool
from turnlog.server.routes.hooks import HookReceiver
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import HookDelivery

NOW = 1_790_000_000_123_456_789


class Hooked:
    """A server, its archive, and its receiver."""

    def __init__(self, served: Served, store: MaintainedStore, home: Path) -> None:
        self.served = served
        self.store = store
        self.spool = Spool(home / "spool")
        found = served.app.hooks
        assert isinstance(found, HookReceiver)
        self.receiver = found
        self._database = home / "turnlog.db"

    @contextmanager
    def unwritable(self) -> Iterator[None]:
        """Let nobody write to the archive meanwhile."""
        with closing(apsw.Connection(str(self._database))) as other:
            other.execute("BEGIN IMMEDIATE")
            yield

    def post(self, payload: bytes | dict[str, Any], delivery: str | None = None) -> Answer:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        headers = {**self.served.bearer, **({} if delivery is None else {"X-Turnlog-Delivery": delivery})}
        return self.served.ask("POST", "/api/hooks", headers, body)

    def events(self, session: str, query: str = "") -> Any:
        answer = self.served.get(f"/api/sessions/{session}/hook-events{query}")
        assert answer.status == 200, answer.body
        return answer.json

    def wait_stored(self, count: int) -> None:
        wait_for(lambda: self.store.count_deliveries(LOCAL) >= count)


def wait_for(is_so: Callable[[], object]) -> None:
    while not is_so():
        time.sleep(0.01)


def event(name: str, session: str = "session-1", **fields: Any) -> dict[str, Any]:
    return {"session_id": session, "hook_event_name": name, **fields}


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Hooked]:
    store = open_store(tmp_path / "turnlog.db")
    with serving(tmp_path) as served:
        yield Hooked(served, store, tmp_path)
    store.close()


def test_a_delivery_is_on_the_disk_when_it_is_answered(hooked: Hooked) -> None:
    with hooked.unwritable():
        answer = hooked.post(event("Stop"), f"{NOW}-a1")
        [name] = os.listdir(hooked.spool.folder)
        frames = hooked.spool.read(name)
    assert answer.status == 200
    assert answer.json == {"delivery_id": f"{NOW}-a1", "kept": "archive"}
    assert frames is not None
    assert [(frame.delivery_id, frame.received_ns) for frame in frames] == [(f"{NOW}-a1", NOW)]


def test_a_delivery_comes_into_the_archive_as_it_came(hooked: Hooked) -> None:
    payload = b'{ "session_id":"s",\n"hook_event_name":"PreToolUse", "tool_name":"Bash","x":1e5}'
    assert hooked.post(payload, f"{NOW}-a1").status == 200
    hooked.wait_stored(1)
    [delivery] = hooked.store.list_deliveries(LOCAL)
    assert (delivery.payload, delivery.received_ns, delivery.tool_name) == (payload, NOW, "Bash")
    wait_for(lambda: hooked.spool.count().waiting == 0)


@pytest.mark.parametrize("name", [None, "../../etc/passwd", "x", "1-" + "a" * 500, "1-a b"])
def test_a_delivery_without_a_usable_name_gets_one(hooked: Hooked, name: str | None) -> None:
    before = time.time_ns()
    answer = hooked.post(event("Stop"), name)
    assert answer.status == 200
    given = answer.json["delivery_id"]
    assert given != name
    hooked.wait_stored(1)
    [delivery] = hooked.store.list_deliveries(LOCAL)
    assert delivery.delivery_id == given
    assert before <= delivery.received_ns <= time.time_ns()


def test_a_delivery_that_comes_again_is_kept_and_told_once(hooked: Hooked) -> None:
    told: list[str] = []
    hooked.receiver.listeners.append(lambda delivery: told.append(delivery.delivery_id))
    for _ in range(3):
        assert hooked.post(event("Stop"), f"{NOW}-a1").json["kept"] == "archive"
    (hooked.spool.folder / f"{NOW}-a1.json").write_bytes(json.dumps(event("Stop")).encode())
    hooked.post(event("Stop"), f"{NOW}-a2")
    hooked.wait_stored(2)
    wait_for(lambda: hooked.spool.count().waiting == 0)
    assert len(hooked.events("session-1")) == 2
    assert told == [f"{NOW}-a1", f"{NOW}-a2"]


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 10_000])
def test_what_cannot_be_read_is_kept_aside_and_counted(hooked: Hooked, payload: bytes) -> None:
    answer = hooked.post(payload, f"{NOW}-bad")
    assert (answer.status, answer.json) == (200, {"delivery_id": f"{NOW}-bad", "kept": "quarantine"})
    assert (hooked.spool.folder / "aside" / f"{NOW}-bad.json").read_bytes() == payload
    metrics = hooked.served.get("/metrics").body.decode()
    assert 'turnlog_hooks_received_total{kept="quarantine"} 1.0' in metrics
    assert "turnlog_spool_quarantined 1.0" in metrics
    assert hooked.store.count_deliveries(LOCAL) == 0


def test_whoever_has_no_token_may_not_deliver(hooked: Hooked) -> None:
    body = json.dumps(event("Stop")).encode()
    assert hooked.served.ask("POST", "/api/hooks", {}, body).status == 401
    assert hooked.served.ask("POST", "/api/hooks", hooked.served.cookie, body).status == 401
    assert not hooked.spool.folder.exists()


def test_a_large_payload_is_taken_and_a_larger_one_refused(hooked: Hooked) -> None:
    large = event("PostToolUse", tool_response="x" * (3 << 20))
    assert hooked.post(large).status == 200
    too_large = {**hooked.served.bearer, "Content-Length": str((64 << 20) + 1)}
    answer = hooked.served.ask("POST", "/api/hooks", too_large, b"")
    assert (answer.status, answer.code) == (413, "too_large")
    # Only there: what other routes are sent stays small.
    assert (
        hooked.served.ask("POST", "/api/keys", {**hooked.served.bearer, "Content-Length": "2000000"}).status
        == 413
    )


def test_a_payload_that_does_not_say_how_large_it_is_is_cut_off(hooked: Hooked) -> None:
    piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    head = f"POST /api/hooks HTTP/1.1\r\nHost: {hooked.served.host}\r\nTransfer-Encoding: chunked\r\n"
    head += f"Authorization: {hooked.served.bearer['Authorization']}\r\nConnection: close\r\n\r\n"
    with hooked.served.connect() as connection:
        connection.sendall(head.encode())
        try:
            for _ in range(66):
                connection.sendall(piece)
            connection.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # it did not wait for all of it
        status = connection.recv(100).split(b" ")[1]
    assert status == b"413"
    assert hooked.spool.count().waiting == 0


def test_events_have_the_shape_of_the_spec(hooked: Hooked) -> None:
    at = NOW // 1_000_000_000
    hooked.post(event("SessionStart", source="startup", model="m"), f"{NOW}-1")
    hooked.post(event("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}), f"{NOW + 1}-2")
    hooked.post(event("Stop"), f"{NOW + 2}-3")
    hooked.post(event("Notification", notification_type="auth_success"), f"{NOW + 3}-4")
    hooked.post(event("SubagentStop", agent_type="Explore"), f"{NOW + 4}-5")
    hooked.post(event("SessionEnd", reason="other"), f"{NOW + 5}-6")
    expected = [
        {
            "timestamp": at,
            "eventName": "SessionStart",
            "toolName": None,
            "label": "Session started (startup)",
            "group": "autonomous",
            "context": {"source": "startup", "model": "m"},
        },
        {
            "timestamp": at,
            "eventName": "PreToolUse",
            "toolName": "Bash",
            "label": "Running Bash",
            "group": "autonomous",
            "context": {"command": "ls"},
        },
        {
            "timestamp": at,
            "eventName": "Stop",
            "toolName": None,
            "label": "Stopped",
            "group": "needs_you",
            "context": None,
        },
        {
            "timestamp": at,
            "eventName": "SubagentStop",
            "toolName": None,
            "label": "Agent completed: Explore",
            "group": "autonomous",
            "context": None,
        },
    ]
    assert hooked.events("session-1") == expected
    hooked.wait_stored(6)
    assert hooked.events("session-1") == expected
    assert hooked.events("session-1", "?first=1&limit=2") == expected[1:3]


def test_an_event_is_seen_at_once_though_the_store_cannot_be_written(hooked: Hooked) -> None:
    with hooked.unwritable():
        hooked.post(event("PreToolUse", tool_name="Bash"), f"{NOW}-1")
        hooked.post(event("Notification", notification_type="auth_success"), f"{NOW}-2")
        hooked.post(event("Stop"), f"{NOW + 1}-3")
        assert [each["eventName"] for each in hooked.events("session-1")] == ["PreToolUse", "Stop"]
        assert hooked.store.count_deliveries(LOCAL) == 0


def test_a_session_that_nobody_knows_is_not_found(hooked: Hooked) -> None:
    assert hooked.served.get("/api/sessions/nobody-knows/hook-events").status == 404


def test_what_lies_in_the_spool_is_imported_while_the_server_runs(hooked: Hooked) -> None:
    told: list[HookDelivery] = []
    hooked.receiver.listeners.append(told.append)
    hooked.spool.folder.mkdir(mode=0o700)
    (hooked.spool.folder / f"{NOW}-a1.json").write_bytes(json.dumps(event("Stop")).encode())
    wait_for(lambda: told)
    assert [(delivery.delivery_id, delivery.received_ns) for delivery in told] == [(f"{NOW}-a1", NOW)]
    assert [each["eventName"] for each in hooked.events("session-1")] == ["Stop"]


def test_a_listener_that_fails_does_not_harm_the_others(hooked: Hooked) -> None:
    told: list[str] = []

    def fail(delivery: HookDelivery) -> None:
        raise RuntimeError("no")

    hooked.receiver.listeners += [fail, lambda delivery: told.append(delivery.event_name)]
    assert hooked.post(event("Stop")).status == 200
    wait_for(lambda: told == ["Stop"])


def test_a_full_disk_is_told_and_the_next_delivery_may_be_kept(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Spool, frames: object) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Spool, "write", fail)
        answer = hooked.post(event("Stop"))
        assert (answer.status, answer.code) == (507, "cannot_keep")
    assert hooked.post(event("Stop")).status == 200


def test_many_at_once_are_all_kept(hooked: Hooked) -> None:
    def deliver(start: int) -> None:
        for number in range(start, start + 25):
            assert hooked.post(event("Stop", n=number), f"{NOW + number}-x").status == 200

    threads = [threading.Thread(target=deliver, args=(100 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hooked.wait_stored(200)
    assert len(hooked.events("session-1")) == 200


def test_all_payloads_of_the_corpus_are_accepted_and_stored(
    hooked: Hooked, corpus: Path, report: Callable[[str], None]
) -> None:
    sent: dict[str, bytes] = {}
    for path in sorted((corpus / "hooks").rglob("*.json")):
        found = json.loads(path.read_bytes())
        for payload in found if isinstance(found, list) else [found]:
            body = json.dumps(payload).encode()
            answer = hooked.post(body, f"{NOW + len(sent)}-c")
            assert answer.status == 200
            assert answer.json["kept"] == "archive"
            sent[answer.json["delivery_id"]] = body
    hooked.wait_stored(len(sent))
    kept = hooked.store.list_deliveries(LOCAL)
    assert all(delivery.payload == sent[delivery.delivery_id] for delivery in kept)
    assert len(kept) == len(sent)
    report(f"{len(kept)} payloads in the archive")
