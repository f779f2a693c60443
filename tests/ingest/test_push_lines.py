"""Networks that fail: what was written meanwhile is there when they heal, once."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.dropping_proxy import DroppingProxy, Line
from ingest.push_processes import ServerProcess, await_that, check_bytes, has_all, opened
from ingest.pushed_store import ORIGIN, check_sound
from turnlog.errors import PushError
from turnlog.ingest.machine import Exclusion
from turnlog.ingest.push_client import Backoff, PushClient, RateLimit, parse_server
from turnlog.ingest.push_collector import Collector, PushLoop, PushPhase, StatusFile, open_collector, push_once
from turnlog.ingest.watchers import choose_watcher
from turnlog.store.interface import MaintainedStore, read_all
from turnlog.store.model import LOCAL
from turnlog.testing.builders import make_lines
from turnlog.transcripts.session_files import list_roots


@pytest.fixture
def proxy() -> Iterator[DroppingProxy]:
    with DroppingProxy().running() as proxy:
        yield proxy


@pytest.fixture
def server(tmp_path: Path, proxy: DroppingProxy) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "server", allowed=(proxy.authority,)).running() as server:
        proxy.target = server.port
        yield server


class Laptop:
    """A machine whose collector runs in a thread of this process, impatiently."""

    def __init__(
        self, folder: Path, url: str, token: str, rate_limit: RateLimit | None = None, timeout: float = 60.0
    ) -> None:
        self.claude = folder / ".claude"
        self.project = self.claude / "projects" / "-p"
        self.project.mkdir(parents=True)
        self.home = folder / "turnlog"
        self.home.mkdir()
        self.client = PushClient(parse_server(url), token, ORIGIN, rate_limit, timeout)
        self.status = StatusFile(self.home, url)
        self.troubles: list[str] = []

    def write(self, name: str, data: bytes) -> Path:
        path = self.project / name
        with path.open("ab") as file:
            file.write(data)
        return path

    @property
    def files(self) -> list[Path]:
        return sorted(self.project.rglob("*.jsonl"))

    def push_once(self, place: Path | None = None, exclude: tuple[str, ...] = ()) -> None:
        with self._open(place, exclude) as collector:
            push_once(collector, self.status, lambda _: None)
        self.client.close()

    @contextlib.contextmanager
    def pushing(self, place: Path | None = None) -> Iterator[None]:
        watcher = choose_watcher(list_roots([self.claude]), polling=False)
        with self._open(place) as collector:
            pushing = PushLoop(
                collector,
                watcher,
                self.status,
                lambda _: None,
                backoff=Backoff(0.05, 0.2),
                hold_seconds=0.0,
            )
            thread = threading.Thread(target=pushing.run, daemon=True)
            thread.start()
            try:
                yield
            finally:
                watcher.stop()
                thread.join()
                self.client.close()

    def _open(
        self, place: Path | None, exclude: tuple[str, ...] = ()
    ) -> contextlib.AbstractContextManager[Collector]:
        return open_collector(
            self.client,
            self.home,
            place,
            [self.claude],
            origin=ORIGIN,
            exclusion=Exclusion(exclude),
            on_trouble=lambda path, reason: self.troubles.append(f"{path}: {reason}"),
        )

    def await_phase(self, *phases: PushPhase) -> None:
        await_that(lambda: self.status.status.phase in phases)


def test_a_network_that_fails_and_heals_loses_nothing(
    server: ServerProcess, proxy: DroppingProxy, tmp_path: Path
) -> None:
    chance = random.Random(7)
    laptop = Laptop(tmp_path, proxy.url, server.token_file.read_text().strip(), timeout=3.0)
    laptop.write("s0.jsonl", make_lines(20))
    with laptop.pushing(), opened(server) as store:
        await_that(lambda: has_all(store, ORIGIN, laptop.files))
        for number in range(3):
            proxy.line = chance.choice([Line.SILENT, Line.CUT])
            for _ in range(3):
                laptop.write(f"s{chance.randrange(3)}.jsonl", make_lines(5, first=100 * number))
            laptop.await_phase(PushPhase.OFFLINE)
            proxy.line = Line.OPEN
            await_that(lambda: has_all(store, ORIGIN, laptop.files))
        check_bytes(store, ORIGIN, laptop.files)
        check_sound(store)


def test_a_line_that_is_cut_in_the_middle_of_an_upload_costs_nothing_but_time(
    server: ServerProcess, proxy: DroppingProxy, tmp_path: Path
) -> None:
    laptop = Laptop(tmp_path, proxy.url, server.token_file.read_text().strip())
    noise = random.Random(1).randbytes(300_000).hex().encode()
    laptop.write("s0.jsonl", b'{"type":"user","message":{"content":"' + noise + b'"}}\n')
    for cut in (100, 30_000, 150_000):
        proxy.line, proxy.cut_after = Line.OPEN, cut
        with pytest.raises(PushError):
            laptop.push_once()
    proxy.line, proxy.cut_after = Line.OPEN, None
    laptop.push_once()
    with opened(server) as store:
        check_bytes(store, ORIGIN, laptop.files)
        check_sound(store)


def test_what_is_deleted_while_the_server_is_away_is_pushed_all_the_same(
    server: ServerProcess, proxy: DroppingProxy, tmp_path: Path
) -> None:
    laptop = Laptop(tmp_path, proxy.url, server.token_file.read_text().strip())
    kept = laptop.write("kept.jsonl", make_lines(5, session_id="kept"))
    half = laptop.write("half.jsonl", make_lines(5, session_id="half"))
    with laptop.pushing(), opened(server) as store:
        await_that(lambda: has_all(store, ORIGIN, laptop.files))
        proxy.line = Line.CUT
        laptop.write("half.jsonl", make_lines(5, first=5, session_id="half"))
        whole = laptop.write("whole.jsonl", make_lines(7, session_id="whole"))
        folder = laptop.project / "whole" / "subagents"
        folder.mkdir(parents=True)
        agent = folder / "agent-1.jsonl"
        agent.write_bytes(make_lines(3, session_id="whole", agent_id="1"))
        expected = {path: path.read_bytes() for path in (half, whole, agent)}
        laptop.await_phase(PushPhase.OFFLINE)
        names = {path.name for path in expected}
        await_that(lambda: names <= {path.name for path in (laptop.home / "push-held").rglob("*.jsonl")})
        for path in expected:
            path.unlink()
        proxy.line = Line.OPEN
        await_that(lambda: all(_find(store, path) == (data, False) for path, data in expected.items()))
        await_that(lambda: not (laptop.home / "push-held").exists())
        assert _find(store, kept) == (kept.read_bytes(), True)
        check_sound(store)


def _find(store: MaintainedStore, path: Path) -> tuple[bytes, bool] | None:
    for known in store.list_known(LOCAL, ORIGIN):
        for source in known.sources:
            if source.path == os.fspath(path):
                data = b"".join(read_all(store.archive, LOCAL, source.source, source.generation))
                return data, source.present
    return None


def test_no_more_goes_over_the_line_than_is_allowed(
    server: ServerProcess, proxy: DroppingProxy, tmp_path: Path
) -> None:
    """By counting bytes: the clock is the test's own, and moves only when the collector waits."""
    now = 0.0
    sent: list[tuple[float, int]] = []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    rate = 200_000.0
    rate_limit = RateLimit(rate, lambda: now, sleep)
    laptop = Laptop(tmp_path, proxy.url, server.token_file.read_text().strip(), rate_limit)
    noise = random.Random(1)
    for number in range(4):
        body = noise.randbytes(400_000).hex().encode()
        laptop.write(f"s{number}.jsonl", b'{"type":"user","message":{"content":"' + body + b'"}}\n')
    spend = rate_limit.spend

    def count(size: int) -> None:
        spend(size)
        sent.append((now, size))

    rate_limit.spend = count  # type: ignore[method-assign]
    laptop.push_once()
    with opened(server) as store:
        check_bytes(store, ORIGIN, laptop.files)
    assert proxy.passed < rate_limit.sent + 100_000
    assert rate_limit.sent > 1_000_000
    total = 0
    for when, size in sent:
        total += size
        assert total <= rate * when + 2 * (64 << 10)


def may_have_namespaces() -> bool:
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"turnlog-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return made


@pytest.mark.skipif(not may_have_namespaces(), reason="network namespaces are not allowed here")
def test_a_partition_between_two_networks_heals(tmp_path: Path) -> None:
    name, number = f"turnlog-{os.getpid()}", os.getpid() % 250
    here, there = f"10.213.{number}.1", f"10.213.{number}.2"
    ours, theirs = f"tl{os.getpid() % 100_000}a", f"tl{os.getpid() % 100_000}b"

    def ip(*args: str) -> None:
        subprocess.run(["ip", *args], check=True, capture_output=True)

    with contextlib.ExitStack() as stack:
        ip("netns", "add", name)
        stack.callback(ip, "netns", "del", name)
        ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
        ip("addr", "add", f"{here}/24", "dev", ours)
        ip("link", "set", ours, "up")
        for args in (["addr", "add", f"{there}/24", "dev", theirs], ["link", "set", theirs, "up"]):
            ip("-n", name, *args)
        server = stack.enter_context(ServerProcess(tmp_path / "server", here).running())
        project = tmp_path / ".claude" / "projects" / "-p"
        project.mkdir(parents=True)
        path = project / "s.jsonl"
        path.write_bytes(make_lines(5))
        home = tmp_path / "turnlog"
        env = {
            **os.environ,
            "TURNLOG_HOME": os.fspath(home),
            "CLAUDE_CONFIG_DIR": os.fspath(tmp_path / ".claude"),
        }
        command = [sys.executable, "-m", "turnlog", "push", "--to", server.url, "--insecure"]
        process = subprocess.Popen(
            ["ip", "netns", "exec", name, *command, "--token-file", os.fspath(server.token_file)],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        store = stack.enter_context(opened(server))
        await_that((home / "origin").exists)
        origin = (home / "origin").read_text().strip()
        await_that(lambda: has_all(store, origin, [path]))
        for number in range(2):
            ip("link", "set", ours, "down")
            with path.open("ab") as file:
                file.write(make_lines(5, first=10 * number + 10))
            before = _find_length(store, origin)
            time.sleep(1.5)  # long enough for an attempt to get lost
            assert _find_length(store, origin) == before
            ip("link", "set", ours, "up")
            await_that(lambda: has_all(store, origin, [path]))
        check_bytes(store, origin, [path])
        check_sound(store)


def _find_length(store: MaintainedStore, origin: str) -> int:
    return sum(source.length for known in store.list_known(LOCAL, origin) for source in known.sources)
