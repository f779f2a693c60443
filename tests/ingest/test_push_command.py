"""`turnlog push` as people run it, against a real server."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from golden import DATA
from ingest.push_processes import (
    CollectorProcess,
    ServerProcess,
    await_that,
    check_bytes,
    has_all,
    opened,
)
from ingest.pushed_store import check_same, check_sound
from turnlog.ingest.machine import find_origin, list_forgotten
from turnlog.ingest.pipeline import sync
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.store.interface import KnownSource, read_all
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_lines
from turnlog.transcripts.hooks import DeliveryFilter, build_delivery
from turnlog.transcripts.session_files import locate_sessions


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server")).running() as server:
        yield server


@pytest.fixture
def machine(tmp_path: Path) -> CollectorProcess:
    return CollectorProcess(tmp_path / "machine")


def push(machine: CollectorProcess, server: ServerProcess, *args: str) -> None:
    with machine.running(server, "--once", *args):
        assert machine.join() == 0, (machine.turnlog / "err.txt").read_text()


def find(server: ServerProcess, machine: CollectorProcess, path: Path) -> KnownSource | None:
    with opened(server) as store:
        known = store.list_known(LOCAL, machine.origin)
        return next((s for k in known for s in k.sources if s.path == os.fspath(path)), None)


def sync_here(machine: CollectorProcess, place: Path) -> None:
    store = open_store(place)
    sessions = locate_sessions([machine.claude]).sessions
    sync(
        store, place, sessions, origin=machine.origin, within=[machine.claude], forgotten=list_forgotten(store)
    )
    store.close()


def test_a_pushed_machine_is_a_synced_machine(machine: CollectorProcess, tmp_path: Path) -> None:
    for name in ("agents-workflow", "agents-meta", "turns", "tools"):
        shutil.copytree(DATA / "transcripts" / name, machine.claude / "projects" / name)
    with ServerProcess(tmp_path / "own").running() as server:
        push(machine, server)
        sync_here(machine, tmp_path / "synced.db")
        for path in sorted(machine.claude.rglob("*.jsonl"))[::3]:
            path.unlink()
        for path in sorted(machine.claude.rglob("*.jsonl"))[::2]:
            with path.open("ab") as file:
                file.write(make_lines(3, first=1000))
        push(machine, server)
        sync_here(machine, tmp_path / "synced.db")
        synced = open_store(tmp_path / "synced.db", read_only=True)
        with opened(server) as pushed:
            check_same(synced, pushed, copies=False)
            check_sound(pushed)
        synced.close()


def test_what_is_written_is_pushed_as_it_comes(machine: CollectorProcess, server: ServerProcess) -> None:
    path = machine.project / "live.jsonl"
    path.write_bytes(make_lines(3))
    with machine.running(server), opened(server) as store:
        await_that(lambda: has_all(store, machine.origin, machine.list_files()))
        for number in range(3):
            with path.open("ab") as file:
                file.write(make_lines(2, first=10 + 2 * number))
            (machine.project / f"other-{number}.jsonl").write_bytes(make_lines(2, session_id=f"o{number}"))
            await_that(lambda: has_all(store, machine.origin, machine.list_files()))
        check_bytes(store, machine.origin, machine.list_files())
        # It is rewritten, it shrinks, and it goes.
        path.write_bytes(make_lines(9, session_id="again"))
        await_that(lambda: has_all(store, machine.origin, machine.list_files()))
        os.truncate(path, path.stat().st_size // 3)
        await_that(lambda: has_all(store, machine.origin, machine.list_files()))
        check_bytes(store, machine.origin, machine.list_files())
        found = find(server, machine, path)
        assert found is not None
        assert found.generation == 2
        path.unlink()
        await_that(lambda: (gone := find(server, machine, path)) is not None and not gone.present)
        check_sound(store)


def test_hook_deliveries_leave_the_spool_when_they_are_there(
    machine: CollectorProcess, server: ServerProcess
) -> None:
    spool = Spool(machine.turnlog / SPOOL)
    now = time.time_ns()
    frames = [
        build_delivery(f"{now + number}-x", now + number, payload(machine, f"spooled-{now}", number))
        for number in range(5)
    ]
    for frame in frames:
        spool.write([frame])
    (spool.folder / f"{now + 9}-y.json").write_bytes(payload(machine, f"spooled-{now}", 9))
    large = json.dumps(
        {"session_id": f"spooled-{now}", "hook_event_name": "Stop", "text": "x" * (6 << 20)}
    ).encode()
    spool.write([build_delivery(f"{now + 10}-z", now + 10, large)])
    push(machine, server)
    assert spool.count().waiting == 0
    with opened(server) as store:
        await_that(lambda: store.count_deliveries(LOCAL, f"spooled-{now}") == 7)
        kept = store.list_deliveries(LOCAL, DeliveryFilter(session_id=f"spooled-{now}"))
        assert [each.received_ns - now for each in kept] == [0, 1, 2, 3, 4, 9, 10]
        assert [each.payload for each in kept[:5]] == [frame.payload for frame in frames]


def payload(machine: CollectorProcess, session_id: str, number: int, cwd: str = "/work") -> bytes:
    told = {"session_id": session_id, "hook_event_name": "PreToolUse", "cwd": cwd, "n": number}
    return json.dumps(told).encode()


def test_what_the_archive_has_is_pushed_too(machine: CollectorProcess, server: ServerProcess) -> None:
    """Sessions that Claude Code deleted long ago, and hook deliveries that were taken up."""
    place = machine.turnlog / "turnlog.db"
    old, new = machine.project / "old.jsonl", machine.project / "new.jsonl"
    old.write_bytes(make_lines(7, session_id="old"))
    new.write_bytes(make_lines(5, session_id="new"))
    content = old.read_bytes()
    now = time.time_ns()
    spool = Spool(machine.turnlog / SPOOL)
    spool.write([build_delivery(f"{now}-a", now, payload(machine, f"taken-{now}", 0))])
    env = {"TURNLOG_HOME": os.fspath(machine.turnlog), "CLAUDE_CONFIG_DIR": os.fspath(machine.claude)}
    assert run("sync", env=env).returncode == 0
    assert spool.count().waiting == 0
    old.unlink()
    assert run("sync", env=env).returncode == 0
    spool.write([build_delivery(f"{now + 1}-a", now + 1, payload(machine, f"taken-{now}", 1))])
    for _ in range(2):
        push(machine, server)
        found = find(server, machine, old)
        assert found is not None
        assert not found.present
        with opened(server) as store:
            assert b"".join(read_all(store.archive, LOCAL, found.source, found.generation)) == content
            await_that(lambda: store.count_deliveries(LOCAL, f"taken-{now}") == 2)
            check_bytes(store, machine.origin, [new])
    local = open_store(place, read_only=True)
    assert local.count_deliveries(LOCAL) == 2
    local.close()


def test_what_is_excluded_is_never_sent(machine: CollectorProcess, server: ServerProcess) -> None:
    (machine.turnlog / "config.toml").write_text('[sync]\nexclude = ["/secret"]\n')
    secret, plain = machine.project / "secret.jsonl", machine.project / "plain.jsonl"
    lines = make_lines(3, session_id="plain")
    plain.write_bytes(lines)
    told = json.loads(lines.splitlines()[0])
    secret.write_bytes(json.dumps({**told, "cwd": "/secret/project"}).encode() + b"\n")
    now = time.time_ns()
    spool = Spool(machine.turnlog / SPOOL)
    spool.write([build_delivery(f"{now}-s", now, payload(machine, f"excluded-{now}", 0, "/secret/project"))])
    spool.write([build_delivery(f"{now + 1}-s", now + 1, payload(machine, f"excluded-{now}", 1))])
    push(machine, server)
    assert find(server, machine, plain) is not None
    assert find(server, machine, secret) is None
    with opened(server) as store:
        await_that(lambda: store.count_deliveries(LOCAL, f"excluded-{now}") == 1)
    assert spool.count().waiting == 1


def test_what_was_forgotten_on_either_side_is_not_sent(
    machine: CollectorProcess, server: ServerProcess
) -> None:
    path = machine.project / "forgotten.jsonl"
    path.write_bytes(make_lines(3, session_id="forgotten"))
    push(machine, server)
    assert find(server, machine, path) is not None
    store = open_store(server.home / "turnlog.db")
    store.forget(LOCAL, [known.key for known in store.list_known(LOCAL, machine.origin)])
    store.close()
    with path.open("ab") as file:
        file.write(make_lines(3, first=3, session_id="forgotten"))
    push(machine, server)
    assert find(server, machine, path) is None


def test_a_dry_run_sends_nothing(machine: CollectorProcess, server: ServerProcess) -> None:
    (machine.project / "dry.jsonl").write_bytes(make_lines(3))
    document = ask(machine, server, "--dry-run", "--json")
    assert document == {
        "server": server.url,
        "sessions": 1,
        "bytes": (machine.project / "dry.jsonl").stat().st_size,
        "known": 0,
    }
    with opened(server) as store:
        assert list(store.list_known(LOCAL, machine.origin)) == []
    assert ask(machine, server, "--once", "--json")["bytes"] == document["bytes"]
    told = run("push", "--status", "--json", env=env_of(machine))
    assert told.returncode == 1
    assert json.loads(told.stdout)["status"]["counts"]["uploads"] == 1


def env_of(machine: CollectorProcess) -> dict[str, str]:
    return {"TURNLOG_HOME": os.fspath(machine.turnlog), "CLAUDE_CONFIG_DIR": os.fspath(machine.claude)}


def ask(machine: CollectorProcess, server: ServerProcess, *args: str) -> Any:
    done = run("push", "--to", server.url, "--token-file", server.token_file, *args, env=env_of(machine))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_clock_that_is_wrong_changes_nothing(machine: CollectorProcess, server: ServerProcess) -> None:
    """Times of files only tell whether they changed, wherever they lie."""
    for number, when in enumerate((-86_400, 0, 4_000_000_000)):
        path = machine.project / f"skewed-{number}.jsonl"
        path.write_bytes(make_lines(3, session_id=f"skewed-{number}"))
        os.utime(path, (when, when))
    push(machine, server)
    with opened(server) as store:
        check_bytes(store, machine.origin, machine.list_files())
    for path in machine.list_files():
        with path.open("ab") as file:
            file.write(make_lines(2, first=3, session_id=path.stem))
        os.utime(path, (0, 0))
    push(machine, server)
    with opened(server) as store:
        check_bytes(store, machine.origin, machine.list_files())
        check_sound(store)


@pytest.mark.parametrize(
    ("url", "token", "expected"),
    [
        ("http://127.0.0.1:1", "a-token", "cannot be reached"),
        ("https://no-such-name.invalid", "a-token", "no machine has that name"),
        ("SERVER", "forged", "the token is wrong"),
        ("SERVER/nowhere", "REAL", "is not a turnlog server"),
        ("TLS", "REAL", "does not speak TLS"),
    ],
)
def test_what_is_wrong_is_said(
    machine: CollectorProcess, server: ServerProcess, tmp_path: Path, url: str, token: str, expected: str
) -> None:
    url = url.replace("SERVER", server.url).replace("TLS", server.url.replace("http:", "https:"))
    token = token.replace("REAL", server.token_file.read_text().strip())
    done = run("push", "--to", url, "--once", env={**env_of(machine), "TURNLOG_TOKEN": token})
    assert done.returncode == 2
    assert expected in done.stderr.decode()
    assert token not in done.stderr.decode()


def test_misuse_is_said(machine: CollectorProcess, server: ServerProcess, tmp_path: Path) -> None:
    env = env_of(machine)
    assert b"name the server" in run("push", env=env).stderr
    assert b"token is needed" in run("push", "--to", server.url, env=env).stderr
    done = run("push", "--to", "http://example.org", env={**env, "TURNLOG_TOKEN": "x"})
    assert done.returncode == 2
    assert b"does not use TLS" in done.stderr
    assert b"nothing has been pushed" in run("push", "--status", env=env).stderr


def test_each_machine_has_its_own_sessions(tmp_path: Path, server: ServerProcess) -> None:
    """The same path on two machines is not the same file."""
    machines = [CollectorProcess(tmp_path / "same") for _ in range(2)]
    path = machines[0].project / "s.jsonl"
    origins = []
    for machine, text in zip(machines, ("one", "two"), strict=True):
        shutil.rmtree(machine.turnlog)
        machine.turnlog.mkdir()
        path.write_bytes(make_lines(3, session_id=text))
        push(machine, server)
        origins.append(find_origin(machine.turnlog))
    with opened(server) as store:
        kept = [
            b"".join(read_all(store.archive, LOCAL, source.source, 0))
            for origin in origins
            for known in store.list_known(LOCAL, origin)
            for source in known.sources
        ]
    assert kept == [make_lines(3, session_id="one"), make_lines(3, session_id="two")]
