"""`/api/live` over real connections: what is told, and to whom."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from live_client import listening, parse
from server_app import Served, serving
from turnlog.server.live import MOST_BEHIND, FeedReader, LiveHub
from turnlog.server.security.gate import Limits
from turnlog.server.sync import FollowerReport, SyncPhase
from turnlog.store.interface import Feed, MaintainedStore
from turnlog.store.lists import MarkChange
from turnlog.store.model import LOCAL, Scope
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_lines
from turnlog.testing.checks import keep
from turnlog.transcripts.hooks import HookDelivery

numbers = itertools.count()


def deliver(store: MaintainedStore, *sessions: str) -> int:
    """Add an entry to the feed for each, and return the last one's number."""
    store.add_deliveries(
        LOCAL,
        [
            HookDelivery(
                delivery_id=f"d{next(numbers)}",
                received_ns=1_000_000_000,
                payload=b"{}",
                session_id=session,
                event_name="PreToolUse",
            )
            for session in sessions
        ],
    )
    return store.read_feed(LOCAL).last


def test_a_stream_begins_with_where_it_is(live: Served, kept: MaintainedStore) -> None:
    seq = deliver(kept, "before")
    with listening(live) as client:
        hello = client.read()
    assert (hello.name, hello.data["seq"]) == ("hello", hello.seq)
    assert hello.id is not None
    assert hello.id.startswith(f"{kept.read_feed(LOCAL).epoch}:")
    assert hello.seq <= seq  # the reader may not have come to it yet; then it is told
    assert b"content-type: text/event-stream" in client.head
    assert b"content-encoding" not in client.head
    assert b"cache-control: no-store" in client.head


def test_changes_are_told_with_the_session_that_they_are_of(live: Served, kept: MaintainedStore) -> None:
    with listening(live) as client:
        client.read("hello")
        batch = keep(kept, {"told.jsonl": make_lines(2, session_id="told")}, session_id="told")
        added = client.await_change("told")
        kept.mark(LOCAL, [batch.key], MarkChange(starred=True))
        marked = client.await_change("told")
        deliver(kept, "told")
        delivered = client.await_change("told")
    assert added.data == {
        "kind": "session-added",
        "session": batch.key,
        "session_id": "told",
        "revision": added.data["revision"],
        "seq": added.seq,
    }
    assert (marked.data["kind"], marked.data["session_id"]) == ("session-marked", "told")
    assert (delivered.data["kind"], delivered.data["session"]) == ("hook-delivered", "told")
    assert added.seq < marked.seq < delivered.seq


def test_what_was_forgotten_is_told_by_its_key(live: Served, kept: MaintainedStore) -> None:
    batch = keep(kept, {"gone.jsonl": make_lines(2, session_id="gone")}, session_id="gone")
    with listening(live) as client:
        client.read("hello")
        kept.forget(LOCAL, [batch.key])
        told = client.await_change(batch.key, "session-forgotten")
    assert told.data["session_id"] in ("gone", None)


def test_changes_that_nobody_announces_are_told(tmp_path: Path) -> None:
    """As those of another process."""
    with serving(tmp_path) as served, listening(served) as client:
        client.read("hello")
        other = open_store(tmp_path / "turnlog.db")
        deliver(other, "from-elsewhere")
        other.close()
        assert client.read("change").data["session"] == "from-elsewhere"


def test_the_follower_s_doings_are_told_without_an_id(live: Served) -> None:
    with listening(live) as client:
        client.read("hello")
        live.syncing.note(FollowerReport(phase=SyncPhase.SYNCING, done=1, total=3))
        told = client.read("sync")
    assert (told.id, told.data["phase"], told.data["done"]) == (None, "syncing", 1)


def test_a_client_that_was_away_is_told_what_it_missed(live: Served, kept: MaintainedStore) -> None:
    with listening(live) as client:
        client.read("hello")
        deliver(kept, "first")
        seen = client.await_change("first")
    last = deliver(kept, "second", "third", "second")
    with listening(live) as client:  # so that the reader has come to it
        client.await_seq(last)
    with listening(live, seen.id) as client:
        events = [client.read() for _ in range(3)]
    assert [event.name for event in events] == ["hello", "change", "change"]
    assert events[0].id == seen.id
    assert [event.data["session"] for event in events[1:]] == ["third", "second"]
    assert events[-1].seq == last
    with listening(live, path=f"/api/live?last_event_id={seen.id}") as client:
        assert [client.read().id for _ in range(3)] == [event.id for event in events]


@pytest.mark.parametrize("last", ["{other}:0", "{epoch}:999999999", "nonsense", "{epoch}:-1", ":"])
def test_an_id_that_means_nothing_here_begins_anew(live: Served, kept: MaintainedStore, last: str) -> None:
    with listening(live, last.format(epoch=kept.read_feed(LOCAL).epoch, other="0123456789abcdef")) as client:
        hello, reset = client.read(), client.read()
        assert (hello.name, reset.name, reset.data) == ("hello", "reset", {"seq": reset.seq})
        assert reset.id == hello.id
        seq = deliver(kept, "behind")
        assert client.await_change("behind").seq == seq


def test_who_was_away_for_too_long_begins_anew(live: Served, kept: MaintainedStore) -> None:
    first = deliver(kept, "old")
    last = deliver(kept, *["much"] * (MOST_BEHIND + 1))
    with listening(live) as client:
        client.await_seq(last)
    with listening(live, f"{kept.read_feed(LOCAL).epoch}:{first}") as client:
        assert [client.read().name for _ in range(2)] == ["hello", "reset"]


def test_a_storm_reaches_a_client_as_few_events(live: Served, kept: MaintainedStore) -> None:
    with listening(live) as client:
        client.read("hello")
        last = 0
        for _ in range(10):
            last = deliver(kept, *["storm"] * 1000)
        events = [client.await_change("storm")]
        while events[-1].seq < last:
            events.append(client.await_change("storm"))
    assert len(events) <= 20


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 900), min_size=1, max_size=6))
def test_no_cut_loses_or_repeats_anything(live: Served, kept: MaintainedStore, cuts: list[int]) -> None:
    """Whatever number of bytes a client got before it was cut off, half an event or several."""
    mark = f"x{next(numbers)}-"
    with listening(live) as client:
        last = client.read("hello").id
    expected: dict[str, int] = {}
    seen: list[tuple[int, str]] = []
    for number, size in enumerate(cuts):
        names = [f"{mark}{(number * 7 + each) % 5}" for each in range(1 + size % 4)]
        end = deliver(kept, *names)
        for place, name in enumerate(names):
            expected[name] = end - len(names) + 1 + place
        last = _read_some(live, last, size % (70 + 150 * len(set(names))), seen)
    end = deliver(kept, f"{mark}end")
    with listening(live, last) as client:
        for event in client:
            _note(event.name, event.id, event.data, seen)
            if event.name == "change" and event.seq == end:
                break
    own = [(seq, name) for seq, name in seen if name.startswith(mark)]
    assert [seq for seq, _ in seen] == sorted({seq for seq, _ in seen}), "in order, and none twice"
    assert {name: seq for seq, name in own} == expected | {f"{mark}end": end}


def _read_some(live: Served, last: str | None, size: int, seen: list[tuple[int, str]]) -> str | None:
    """Read so many bytes of a stream, which come for certain, as a browser would; return the last id."""
    with listening(live, last) as client:
        data = client.read_bytes(size)
    for part in data.split("\n\n")[:-1]:
        if part.startswith(":"):
            continue
        event = parse(part)
        assert event.name != "reset"
        last = event.id or last
        _note(event.name, event.id, event.data, seen)
    return last


def _note(name: str, id: str | None, data: dict[str, object], seen: list[tuple[int, str]]) -> None:
    if name == "change":
        assert id is not None
        seen.append((int(id.partition(":")[2]), str(data["session"])))


def test_only_who_may_ask_is_told(live: Served) -> None:
    with listening(live, headers={}) as client:
        assert client.status == 401
    with listening(live, headers={**live.bearer, "Origin": "http://elsewhere.example"}) as client:
        assert client.status == 403
    with listening(live, headers={**live.bearer, "Host": "elsewhere.example"}) as client:
        assert client.status in (400, 403, 421)
    with listening(live, headers={**live.cookie, "Sec-Fetch-Site": "cross-site"}) as client:
        assert client.status in (401, 403)
    with listening(live, headers={**live.cookie, "Sec-Fetch-Site": "same-origin"}) as client:
        assert client.read().name == "hello"


def test_nothing_to_tell_costs_one_statement_for_each_look(tmp_path: Path) -> None:
    statements: list[str] = []

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))

    apsw.connection_hooks.append(watch)
    try:
        store = open_store(tmp_path / "turnlog.db")
        store.read_feed(LOCAL)  # by a connection that it keeps
    finally:
        apsw.connection_hooks.remove(watch)
    asked: list[int | None] = []
    looks = threading.Semaphore(0)
    seq = store.read_feed(LOCAL).last

    class Counting:
        def listen(self) -> None:
            return

        def read_feed(self, scope: Scope, after: int | None = None, limit: int = 1000) -> Feed:
            asked.append(after)
            looks.release()
            return store.read_feed(scope, after, limit)

    reader = FeedReader(Counting(), seq, lambda _: None, lambda: 0.0)  # type: ignore[arg-type]
    statements.clear()
    store.read_feed(LOCAL)
    begun, *each, ended = statements
    reader.start()
    for _ in range(5):
        looks.acquire()
    reader.stop()
    store.close()
    assert set(asked) == {None}
    assert (begun, len(each), ended) == ("BEGIN", 1, "COMMIT")


def test_heartbeats_keep_a_quiet_stream_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also longer than the limits of any request."""
    monkeypatch.setattr("turnlog.server.live.LiveHub", lambda store: LiveHub(store, heartbeat_seconds=0.2))
    short = Limits(head_seconds=0.3, body_seconds=0.3, idle_seconds=1.0, stalled_seconds=0.3)
    with serving(tmp_path, limits=short) as served, listening(served) as client:
        client.read("hello")
        for _ in range(10):
            client.wait_for_heartbeat()


def test_a_client_that_does_not_read_is_let_go_and_harms_nobody(tmp_path: Path) -> None:
    short = Limits(stalled_seconds=0.5)
    with serving(tmp_path, limits=short) as served:
        store = open_store(tmp_path / "turnlog.db")
        with listening(served) as good, served.connect() as bad:
            bad.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lines = ["GET /api/live HTTP/1.1", f"Host: {served.host}"]
            lines += [f"{name}: {value}" for name, value in served.bearer.items()]
            bad.sendall("\r\n".join([*lines, "", ""]).encode())
            good.read("hello")
            while served.app.live.clients < 2:
                time.sleep(0.01)
            rounds = 0
            while served.app.live.clients == 2:
                last = deliver(store, *[f"{'s' * 200}{rounds}-{each}" for each in range(500)])
                good.await_seq(last)
                rounds += 1
            assert served.app.live.clients == 1
        store.close()


def test_who_listens_does_not_keep_the_server(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with serving(tmp_path) as served:
            clients = [stack.enter_context(listening(served)) for _ in range(20)]
            for client in clients:
                client.read("hello")
        for client in clients:
            assert [event.name for event in client] == []
