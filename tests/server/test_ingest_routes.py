"""What machines push: taken once, as it was, or refused without a trace."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from msgspec.structs import replace

from ingest.pushed_store import check_sound
from server_app import Answer, Served, serving
from turnlog.ingest.change_check import match_known
from turnlog.ingest.pusher import collect_changes, identify_session
from turnlog.ingest.upload_protocol import (
    LARGEST_BODY,
    LARGEST_UPLOAD,
    MEDIA_TYPE,
    PROTOCOL,
    HookUpload,
    ServerSession,
    SessionUpload,
    Upload,
    UploadedDelivery,
    digest_of,
    encode_upload,
    from_server_session,
)
from turnlog.server.errors import RequestError
from turnlog.server.uploader import UploadProcess
from turnlog.store.interface import KnownSession, MaintainedStore, find_known, read_all
from turnlog.store.model import LOCAL, Place
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_lines
from turnlog.transcripts.hooks import DeliveryFilter
from turnlog.transcripts.session_files import Change, locate_path

ORIGIN, OTHER = "a" * 32, "b" * 32
ZSTD = zstandard.ZstdCompressor()
FILE = "5b8ee9a0-0000-4000-8000-000000000001.jsonl"


class Machine:
    """A machine that pushes one session to a server."""

    def __init__(self, served: Served, folder: Path, origin: str = ORIGIN) -> None:
        self.served = served
        self.path = folder / "projects" / "-p" / FILE
        self.path.parent.mkdir(parents=True)
        self.origin = origin
        self.known: KnownSession | None = None

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def collect_changes(self, limit: int = 1 << 20) -> SessionUpload:
        [files] = locate_path(self.path).sessions
        matches = match_known(files, self.known)
        upload = collect_changes(
            identify_session(files), *matches, self.known, origin=self.origin, limit=limit
        ).upload
        assert upload is not None
        return upload

    def send(self, *sessions: SessionUpload, origin: str | None = None) -> Answer:
        upload = Upload(protocol=PROTOCOL, origin=origin or self.origin, sessions=sessions)
        return self.post(encode_upload(upload))

    def post(self, body: bytes, path: str = "/api/ingest") -> Answer:
        headers = {**self.served.bearer, "content-type": MEDIA_TYPE}
        return self.served.ask("POST", f"{path}?origin={self.origin}", headers, body)

    def push(self, limit: int = 1 << 20) -> None:
        """Push what is new, and learn what the server has then."""
        [answer] = read_results(self.send(self.collect_changes(limit)))
        assert answer["outcome"] == "taken", answer
        self.known = learn(answer["session"], self.origin)


def learn(state: object, origin: str) -> KnownSession:
    return from_server_session(msgspec.json.decode(json.dumps(state), type=ServerSession), origin)


def read_results(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.body
    sessions: list[dict[str, Any]] = answer.json["sessions"]
    return sessions


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Served]:
    with serving(home) as running:
        yield running


@pytest.fixture(scope="module")
def store(home: Path, server: Served) -> Iterator[MaintainedStore]:
    store = open_store(home / "turnlog.db", read_only=True)
    yield store
    store.close()


@pytest.fixture
def machine(server: Served, tmp_path: Path) -> Machine:
    return Machine(server, tmp_path)


@pytest.fixture
def unchanged(store: MaintainedStore) -> Iterator[None]:
    """Nothing is written meanwhile."""
    before = store.read_feed(LOCAL).last, list(store.list_known(LOCAL))
    yield
    assert (store.read_feed(LOCAL).last, list(store.list_known(LOCAL))) == before


def read_back(store: MaintainedStore, machine: Machine) -> bytes:
    assert machine.known is not None
    [source] = machine.known.sources
    return b"".join(read_all(store.archive, LOCAL, source.source, source.generation))


def test_what_is_answered_is_there(machine: Machine, store: MaintainedStore) -> None:
    machine.write(make_lines(5))
    machine.push()
    assert read_back(store, machine) == machine.path.read_bytes()
    machine.write(make_lines(5, first=5))
    machine.push()
    assert read_back(store, machine) == machine.path.read_bytes()
    assert machine.known is not None
    found = find_known(store, LOCAL, machine.known.key)
    assert found is not None
    assert found.origin == ORIGIN
    assert [source.lines for source in found.sources] == [10]
    check_sound(store)


def test_parts_of_a_session_follow_each_other(machine: Machine, store: MaintainedStore) -> None:
    machine.write(make_lines(40))
    parts = 0
    while machine.known is None or machine.known.sources[0].length < machine.path.stat().st_size:
        machine.push(limit=1000)
        parts += 1
    assert parts > 3
    assert read_back(store, machine) == machine.path.read_bytes()


def test_a_session_that_comes_again_changes_nothing(machine: Machine, store: MaintainedStore) -> None:
    machine.write(make_lines(5))
    upload = machine.collect_changes()
    machine.push()
    seq = store.read_feed(LOCAL).last
    for _ in range(3):
        [answer] = read_results(machine.send(upload))
        assert answer["outcome"] == "mismatch"
        assert learn(answer["session"], ORIGIN) == machine.known
    assert store.read_feed(LOCAL).last == seq
    assert read_back(store, machine) == machine.path.read_bytes()


def test_parts_that_come_in_another_order_are_told_what_is_there(
    machine: Machine, store: MaintainedStore
) -> None:
    machine.write(make_lines(20))
    uploads = []
    probe = machine.known
    machine.push(limit=1000)
    uploads.append(machine.collect_changes(limit=1000))
    machine.push(limit=1000)
    uploads.append(machine.collect_changes(limit=1000))
    assert probe is None
    [late] = read_results(machine.send(replace(uploads[1], revision=uploads[1].revision + 1)))
    [early] = read_results(machine.send(replace(uploads[0], revision=uploads[1].revision)))
    assert (late["outcome"], early["outcome"]) == ("mismatch", "mismatch")
    assert learn(late["session"], ORIGIN) == learn(early["session"], ORIGIN) == machine.known
    [taken] = read_results(machine.send(uploads[1]))
    assert taken["outcome"] == "taken"
    check_sound(store)


def test_both_of_two_parts_in_one_upload_are_taken_in_order(machine: Machine, tmp_path: Path) -> None:
    machine.write(make_lines(5))
    first = machine.collect_changes()
    again = machine.collect_changes()
    outcomes = [each["outcome"] for each in read_results(machine.send(first, again))]
    assert outcomes == ["taken", "mismatch"]


@pytest.mark.usefixtures("unchanged")
def test_whatever_is_cut_off_is_refused(machine: Machine) -> None:
    machine.write(make_lines(50))
    body = encode_upload(Upload(protocol=PROTOCOL, origin=ORIGIN, sessions=(machine.collect_changes(),)))
    for length in {0, 1, 4, 5, 9, 20, len(body) // 2, len(body) - 5, len(body) - 1}:
        assert machine.post(body[:length]).status == 422, length


@pytest.mark.usefixtures("unchanged")
def test_whatever_was_damaged_is_refused(machine: Machine) -> None:
    machine.write(make_lines(5))
    upload = machine.collect_changes()
    [stretch] = upload.sources
    other = replace(stretch, data=stretch.data[:-2] + b"x\n")
    answer = machine.send(replace(upload, sources=(other,)))
    assert (answer.status, answer.code) == (422, "damaged")
    body = bytearray(encode_upload(Upload(protocol=PROTOCOL, origin=ORIGIN, sessions=(upload,))))
    chance = random.Random(5)
    for _ in range(20):
        at = chance.randrange(len(body))
        damaged = bytes(body[:at]) + bytes([body[at] ^ 1 << chance.randrange(8)]) + bytes(body[at + 1 :])
        assert machine.post(damaged).status in (400, 403, 413, 422)


BOMBS: dict[str, Callable[[], bytes]] = {
    "as it says": lambda: ZSTD.compress(bytes(256 << 20)),
    "more than it says": lambda: _lie(LARGEST_UPLOAD + (1 << 20), 1000),
    "without a size": lambda: zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 20)),
    "no zstd": lambda: os.urandom(1000),
    "deeply nested": lambda: ZSTD.compress(b"\x91" * 1_000_000),
    "nothing": lambda: ZSTD.compress(b""),
}


def _lie(size: int, told: int) -> bytes:
    """Return what decompresses to more than its header says."""
    body = bytearray(ZSTD.compress(bytes(size)))
    assert body[4] & 0xC0 == 0x80  # a size of four bytes
    at = 5 if body[4] & 0x20 else 6
    body[at : at + 4] = told.to_bytes(4, "little")
    return bytes(body)


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.usefixtures("unchanged")
def test_a_bomb_does_not_go_off(machine: Machine, name: str) -> None:
    expected = (413, "too_large") if name == "as it says" else (422, "damaged")
    for path in ("/api/ingest", "/api/ingest/hooks"):
        answer = machine.post(BOMBS[name](), path)
        assert (answer.status, answer.code) == expected


@pytest.mark.usefixtures("unchanged")
def test_a_body_that_is_too_large_is_not_read(machine: Machine) -> None:
    headers = {**machine.served.bearer, "content-length": str(LARGEST_BODY + 1)}
    answer = machine.served.ask("POST", f"/api/ingest?origin={ORIGIN}", headers)
    assert (answer.status, answer.code) == (413, "too_large")


def _forge(**changes: object) -> Callable[[SessionUpload], SessionUpload]:
    def change(upload: SessionUpload) -> SessionUpload:
        [stretch] = upload.sources
        if "data" in changes:
            changes["digest"] = digest_of(bytes(changes["data"]))  # type: ignore[call-overload]
        return replace(upload, sources=(replace(stretch, **changes),))

    return change


FORGED: dict[str, Callable[[SessionUpload], SessionUpload]] = {
    "a place outside": _forge(path=b"../../etc/passwd"),
    "a name with a zero": _forge(path=b"/x\0y"),
    "a long name": _forge(path=b"/" + b"x" * 10_000),
    "a start in the middle": _forge(start=10),
    "a start before the file": _forge(start=-1),
    "another generation": _forge(generation=3),
    "a source of somebody else's": _forge(source="0" * 32, change=Change.APPENDED),
    "an append to nothing": _forge(change=Change.APPENDED),
    "a file that vanished": _forge(change=Change.VANISHED),
    "more bytes than the file has": _forge(size=1),
    "a size beyond all": _forge(size=1 << 64 - 1),
    "an inode below zero": _forge(inode=-1),
    "a session that is not there": lambda upload: replace(upload, key="0" * 32),
    "a revision that is not": lambda upload: replace(upload, revision=7),
    "a file that is gone": lambda upload: replace(upload, gone=("0" * 32,)),
    "the same file twice": lambda upload: replace(upload, sources=upload.sources * 2),
    "no place": lambda upload: replace(upload, transcript=b"nowhere"),
}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.usefixtures("unchanged")
def test_what_cannot_be_is_not_taken(machine: Machine, name: str) -> None:
    machine.write(make_lines(5))
    answer = machine.send(FORGED[name](machine.collect_changes()))
    if answer.status == 200:
        assert [each["outcome"] for each in read_results(answer)][-1] in ("mismatch", "damaged")
    else:
        assert (answer.status, answer.code) == (422, "damaged")


def test_what_follows_on_other_bytes_is_not_taken(machine: Machine) -> None:
    machine.write(make_lines(5))
    machine.push()
    machine.write(make_lines(5, first=5))
    upload = machine.collect_changes()
    [answer] = read_results(machine.send(_forge(follows="0" * 32)(upload)))
    assert answer["outcome"] == "mismatch"
    assert read_results(machine.send(upload))[0]["outcome"] == "taken"


def test_a_machine_cannot_change_what_is_anothers(
    machine: Machine, server: Served, store: MaintainedStore, tmp_path: Path
) -> None:
    machine.write(make_lines(5))
    machine.push()
    before = store.read_feed(LOCAL).last
    thief = Machine(server, tmp_path / "thief", OTHER)
    thief.write(make_lines(3))
    assert machine.known is not None
    forged = replace(thief.collect_changes(), key=machine.known.key, revision=machine.known.revision)
    nowhere = replace(forged, key="0" * len(forged.key))
    [answer, missing] = read_results(thief.send(forged, nowhere))
    assert (answer["outcome"], answer["session"]) == ("mismatch", None)
    assert answer == missing, "it does not even learn that there is such a session"
    refused = thief.send(thief.collect_changes(), origin=ORIGIN)
    assert (refused.status, refused.code) == (403, "another_machine")
    path = f"/api/ingest/state?origin={OTHER}&session={machine.known.key}"
    assert server.get(path, **server.bearer).json["sessions"] == []
    assert store.read_feed(LOCAL).last == before


@pytest.mark.usefixtures("unchanged")
def test_only_who_has_the_token_may_push(machine: Machine, server: Served) -> None:
    machine.write(make_lines(1))
    body = encode_upload(Upload(protocol=PROTOCOL, origin=ORIGIN, sessions=(machine.collect_changes(),)))
    for headers in ({}, {"authorization": "Bearer forged"}, server.cookie):
        for path in ("/api/ingest", "/api/ingest/hooks"):
            assert server.ask("POST", f"{path}?origin={ORIGIN}", headers, body).status == 401
        assert server.ask("GET", f"/api/ingest/state?origin={ORIGIN}", headers).status == 401


@pytest.mark.parametrize("origin", ["", "x", "A" * 32, "a" * 33, "a" * 31 + "%0a"])
def test_a_machine_has_a_name_of_one_form(server: Served, origin: str) -> None:
    assert server.get(f"/api/ingest/state?origin={origin}", **server.bearer).status == 422
    assert server.ask("POST", f"/api/ingest?origin={origin}", server.bearer, b"").status == 422


@pytest.mark.parametrize("protocol", [0, PROTOCOL + 1])
def test_another_version_of_the_protocol_is_told(machine: Machine, protocol: int) -> None:
    body = ZSTD.compress(msgspec.msgpack.encode({"protocol": protocol, "what": "nobody knows"}))
    answer = machine.post(body)
    assert (answer.status, answer.code) == (400, "protocol")


def test_what_was_forgotten_is_not_taken(machine: Machine, server: Served, home: Path) -> None:
    machine.write(make_lines(5))
    machine.push()
    assert machine.known is not None
    store = open_store(home / "turnlog.db")
    store.forget(LOCAL, [machine.known.key])
    store.close()
    machine.write(make_lines(5, first=5))
    upload = machine.collect_changes()
    assert read_results(machine.send(upload))[0]["outcome"] == "forgotten"
    machine.known = None
    assert read_results(machine.send(machine.collect_changes()))[0]["outcome"] == "forgotten"
    state = server.get(f"/api/ingest/state?origin={ORIGIN}", **server.bearer).json
    assert upload.key in state["forgotten"]


def test_what_is_there_is_told_in_pages(server: Served, store: MaintainedStore, tmp_path: Path) -> None:
    origin = "c" * 32
    for number in range(5):
        machine = Machine(server, tmp_path / str(number), origin)
        machine.write(make_lines(2, session_id=f"s-{number}"))
        machine.push()
    keys: list[str] = []
    after = ""
    while True:
        path = f"/api/ingest/state?origin={origin}&limit=2{after}"
        page = server.get(path, **server.bearer).json
        assert page["protocol"] == PROTOCOL
        keys += [each["key"] for each in page["sessions"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert keys == [known.key for known in store.list_known(LOCAL, origin)]
    assert len(keys) == 5


def test_hook_deliveries_are_kept_once_and_when_they_were(machine: Machine, store: MaintainedStore) -> None:
    now = time.time_ns()
    # A clock that is years behind, one that is right, and one that is years ahead.
    times = [now - 9 * 10**16 + 1, now + 1, now + 9 * 10**16 + 1]
    given = tuple(
        UploadedDelivery(f"{at}-k", at, b'{"session_id":"pushed","hook_event_name":"Stop","n":%d}' % at)
        for at in times
    )
    upload = HookUpload(protocol=PROTOCOL, origin=ORIGIN, deliveries=given)
    for _ in range(2):
        answer = machine.post(encode_upload(upload), "/api/ingest/hooks")
        assert (answer.status, answer.json) == (200, {"kept": 3, "missing": []})
    while store.count_deliveries(LOCAL, "pushed") < 3:
        time.sleep(0.01)
    kept = store.list_deliveries(LOCAL, DeliveryFilter(session_id="pushed"))
    assert [(each.received_ns, each.payload) for each in kept] == [
        (at, each.payload) for at, each in zip(times, given, strict=True)
    ]
    offered = HookUpload(protocol=PROTOCOL, origin=ORIGIN, offered=(given[0].delivery_id, "1-unknown"))
    answer = machine.post(encode_upload(offered), "/api/ingest/hooks")
    assert answer.json == {"kept": 0, "missing": ["1-unknown"]}


@pytest.mark.parametrize("name", ["", "../../x", "1-x/y", "x" * 300])
def test_a_delivery_has_a_name_that_one_can_have(machine: Machine, name: str) -> None:
    upload = HookUpload(protocol=PROTOCOL, origin=ORIGIN, deliveries=(UploadedDelivery(name, 1, b"{}"),))
    answer = machine.post(encode_upload(upload), "/api/ingest/hooks")
    assert (answer.status, answer.code) == (422, "damaged")


def test_what_takes_uploads_is_started_again(machine: Machine, store: MaintainedStore) -> None:
    machine.write(make_lines(5))
    machine.push()
    machine.write(make_lines(5, first=5))
    for child in find_uploaders(os.getpid()):
        os.kill(child, signal.SIGKILL)
    while True:
        answer = machine.send(machine.collect_changes())
        if answer.status == 200:
            break
        assert (answer.status, answer.code) == (503, "busy")
        assert int(answer.headers["retry-after"]) > 0
        time.sleep(0.05)
    [result] = read_results(answer)
    machine.known = learn(result["session"], ORIGIN)
    assert read_back(store, machine) == machine.path.read_bytes()


def find_uploaders(pid: int) -> list[int]:
    told = subprocess.run(
        ["pgrep", "-P", str(pid), "-f", "turnlog.server.uploader"], capture_output=True, check=False
    )
    return [int(each) for each in told.stdout.split()]


def test_no_more_is_held_than_fits() -> None:
    uploads = UploadProcess(None)
    with uploads.hold(40 << 20):
        with pytest.raises(RequestError) as refused, uploads.hold(40 << 20):
            pass
        assert (refused.value.status, refused.value.code) == (503, "busy")
        assert int(refused.value.headers["retry-after"]) > 0
    with uploads.hold(40 << 20):
        pass


def test_memory_stays_where_it_is(machine: Machine) -> None:
    """What takes uploads takes no more memory for many of them than for a few."""
    line = make_lines(1)[:-1].replace(b"line 0", b"x" * 100_000) + b"\n"
    for _ in range(20):
        machine.write(line)
        machine.push()
    [child] = find_uploaders(os.getpid())
    before = read_memory(child)
    for _ in range(40):
        machine.write(line)
        machine.push()
    for name in ("as it says", "more than it says"):
        machine.post(BOMBS[name]())
    assert read_memory(child) - before < 64 << 20


def read_memory(pid: int) -> int:
    """The most that a process ever had."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def test_bytes_of_a_session_can_be_read_as_of_any_other(
    machine: Machine, server: Served, store: MaintainedStore
) -> None:
    machine.write(make_lines(5))
    machine.push()
    assert machine.known is not None
    [source] = machine.known.sources
    assert store.archive.read(LOCAL, Place(source.source, 0, 0), 10) == machine.path.read_bytes()[:10]
    shown = server.get(f"/api/sessions/{machine.known.key}/messages", **server.bearer)
    assert shown.status == 200
