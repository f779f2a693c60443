"""`turnlog serve`, as people and services run it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from command_line import TIMEOUT, TURNLOG, environment, run, show_in_terminal
from turnlog.cli.serve import has_screen
from turnlog.demo import PLAYS
from turnlog.server.http_server import build_url, listen
from turnlog.server.processes import AlreadyServingError, RunningServer, hold_server_lock

SERVE = (*TURNLOG, "serve", "--no-browser", "--json")
SOON = 15.0
"""How many seconds a clean end may take on a busy machine; it takes about one."""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"TURNLOG_HOME": os.fspath(tmp_path / "home"), "CLAUDE_CONFIG_DIR": os.fspath(tmp_path / ".claude")}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / ".claude" / "projects" / "-p" / "11111111-1111-4111-8111-111111111111.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"type":"user"}\n')
    return path


class Running:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], told: Mapping[str, Any]) -> None:
        self.process = process
        self.told = told
        self.url = urlsplit(told["url"])

    def ask(self, method: str, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        host, port = self.url.hostname or "", self.url.port
        with closing(http.client.HTTPConnection(host, port, timeout=TIMEOUT)) as connection:
            connection.request(method, path, headers=dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read()

    def count(self, name: str) -> float:
        """Return one of the figures."""
        token = Path(self.told["token_file"]).read_text().strip()
        _, text = self.ask("GET", "/metrics", {"Authorization": f"Bearer {token}"})
        [line] = [line for line in text.decode().splitlines() if line.startswith(f"{name} ")]
        return float(line.split()[-1])

    def await_count(self, name: str, expected: float) -> None:
        end = time.monotonic() + TIMEOUT
        while self.count(name) != expected:
            assert time.monotonic() < end, f"{name} is {self.count(name)}"
            time.sleep(0.1)


@contextmanager
def start(env: Mapping[str, str], *args: str, command: tuple[str, ...] = SERVE) -> Iterator[Running]:
    process = subprocess.Popen(
        [*command, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(env)
    )
    timer = threading.Timer(TIMEOUT, process.kill)
    timer.start()
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1].decode()
            yield Running(process, json.loads(line))
        finally:
            timer.cancel()
            process.terminate()
            process.communicate(timeout=TIMEOUT)


def find_children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, check=False)
    return [int(child) for child in found.stdout.split()]


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_it_serves_what_is_there_and_what_comes(env: dict[str, str], session: Path) -> None:
    with start(env, "--port", "0") as server:
        assert server.url.hostname == "127.0.0.1"
        status, body = server.ask("GET", "/api/health")
        assert (status, json.loads(body)["status"]) == (200, "ok")
        server.await_count("turnlog_sessions", 1)
        session.with_name("22222222-2222-4222-8222-222222222222.jsonl").write_text('{"type":"user"}\n')
        server.await_count("turnlog_sessions", 2)


def test_the_address_lets_one_browser_in(env: dict[str, str]) -> None:
    with start(env, "--port", "0", "--no-sync") as server:
        opened = urlsplit(server.told["open_url"])
        path = f"{opened.path}?{opened.query}"
        assert [server.ask("GET", path)[0] for _ in range(2)] == [303, 401]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it_in_order(env: dict[str, str], session: Path, number: int, status: int) -> None:
    with start(env, "--port", "0") as server:
        server.await_count("turnlog_sessions", 1)
        children = find_children(server.process.pid)
        assert len(children) == 1
        connection = http.client.HTTPConnection("127.0.0.1", server.url.port or 0, timeout=TIMEOUT)
        connection.request("GET", "/api/health")
        connection.getresponse().read()  # and stays open, as a browser's does
        server.process.send_signal(number)
        _, errors = server.process.communicate(timeout=SOON)
        connection.close()
        assert (server.process.returncode, errors) == (status, b"")
        assert not any(map(is_alive, children))
    home = Path(env["TURNLOG_HOME"])
    assert not (home / "server.json").exists()
    assert run("status", env=env).returncode == 0


def test_it_says_that_it_is_about_to_end_before_it_does(env: dict[str, str]) -> None:
    with start(env, "--port", "0", "--no-sync", "--drain", "3600") as server:
        assert server.ask("GET", "/api/ready") == (200, b'{"ready":true,"reason":null}')
        server.process.terminate()
        end = time.monotonic() + TIMEOUT
        while server.ask("GET", "/api/ready") != (503, b'{"ready":false,"reason":"ending"}'):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert server.ask("GET", "/api/health")[0] == 200, "what is asked meanwhile is answered"
        server.process.terminate()  # who is in a hurry says so twice
        assert server.process.wait(SOON) == 0


def test_its_log_can_be_read_by_programs(env: dict[str, str]) -> None:
    with start(env, "--port", "0", "--no-sync", "--log-requests", "--log-format", "json") as server:
        server.ask("GET", "/api/health")
        server.process.terminate()
        _, errors = server.process.communicate(timeout=SOON)
    [line] = [json.loads(line) for line in errors.splitlines()]
    assert line["request"].pop("seconds") >= 0
    assert line["request"] == {"method": "GET", "route": "/api/health", "status": 200}
    assert (line["level"], line["logger"]) == ("info", "turnlog.server.requests")
    assert line["message"].startswith("GET /api/health 200 ")
    assert line["at"].endswith("Z")


def test_what_it_started_ends_with_it_even_if_it_is_killed(env: dict[str, str], session: Path) -> None:
    with start(env, "--port", "0") as server:
        server.await_count("turnlog_sessions", 1)
        [child] = find_children(server.process.pid)
        server.process.kill()
        end = time.monotonic() + TIMEOUT
        while is_alive(child):
            assert time.monotonic() < end
            time.sleep(0.1)
    with start(env, "--port", "0") as server:  # and what it left behind is no obstacle
        server.await_count("turnlog_sessions", 1)


def test_a_follower_that_dies_is_started_again(env: dict[str, str], session: Path) -> None:
    with start(env, "--port", "0") as server:
        server.await_count("turnlog_sessions", 1)
        [child] = find_children(server.process.pid)
        os.kill(child, signal.SIGKILL)
        server.await_count("turnlog_sync_restarts_total", 1)
        session.with_name("22222222-2222-4222-8222-222222222222.jsonl").write_text('{"type":"user"}\n')
        server.await_count("turnlog_sessions", 2)


def test_modules_in_the_current_folder_are_not_run(
    env: dict[str, str], session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cloned"
    folder.mkdir()
    for name in ("msgspec", "apsw", "watchfiles", "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open({os.fspath(tmp_path / 'was run')!r}, 'w')\n")
    monkeypatch.chdir(folder)
    with start(env, "--port", "0", command=(sys.executable, "-P", *SERVE[1:])) as server:
        server.await_count("turnlog_sessions", 1)
    assert not (tmp_path / "was run").exists()


def test_it_leaves_the_work_to_who_is_at_it_already(env: dict[str, str], session: Path) -> None:
    watching = subprocess.Popen(
        [*TURNLOG, "sync", "--watch", "--json"], stdout=subprocess.PIPE, env=environment(env)
    )
    with watching:
        assert watching.stdout is not None
        watching.stdout.readline()
        with start(env, "--port", "0") as server:
            server.await_count('turnlog_sync_phase{phase="elsewhere"}', 1)
            assert server.count("turnlog_sessions") == 1
            watching.terminate()
            watching.wait(TIMEOUT)
            server.await_count('turnlog_sync_phase{phase="watching"}', 1)


def test_a_second_server_says_where_the_first_one_is(env: dict[str, str]) -> None:
    with start(env, "--port", "0", "--no-sync") as server:
        ran = run("serve", "--no-browser", env=env)
        assert (ran.returncode, ran.stdout) == (2, b"")
        message = ran.stderr.decode().splitlines()[-1]
        url = server.told["url"]
        assert (
            f"process {server.process.pid} is already serving this archive, at {url}; open {url}/open?key="
            in message
        )
        fresh = urlsplit(message.rpartition(" ")[2])
        assert server.ask("GET", f"{fresh.path}?{fresh.query}")[0] == 303


def test_a_port_that_is_taken_is_said(env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("serve", "--no-browser", "--port", str(port), env=env)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert (
        f"port {port} of 127.0.0.1 is in use by another program; choose another with --port"
        in ran.stderr.decode()
    )


def test_without_a_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("turnlog.server.http_server.DEFAULT_PORT", port)
        with closing(listen("127.0.0.1", None)) as made:
            assert port < made.getsockname()[1] < port + 20


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_host_of_another_machine_is_said(env: dict[str, str], host: str) -> None:
    ran = run("serve", "--no-browser", "--host", host, env=env)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert host in ran.stderr.decode().splitlines()[-1]
    assert b"Traceback" not in ran.stderr


@pytest.mark.parametrize("kind", ["a file", "nowhere"])
def test_a_home_that_cannot_be_used_is_said(tmp_path: Path, kind: str, env: dict[str, str]) -> None:
    (tmp_path / "file").touch()
    home = tmp_path / "file" if kind == "a file" else Path("/proc/turnlog/home")
    ran = run("serve", "--no-browser", env={**env, "TURNLOG_HOME": os.fspath(home)})
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode().splitlines()[-1].startswith(f"turnlog: {home}")
    assert b"Traceback" not in ran.stderr


def test_a_home_that_is_missing_is_made_for_the_owner_alone(env: dict[str, str]) -> None:
    with start(env, "--port", "0", "--no-sync"):
        home = Path(env["TURNLOG_HOME"])
        modes = {path.name: path.stat().st_mode & 0o777 for path in [home, *home.iterdir()]}
    assert modes.pop("home") == 0o700
    assert {"server.json", "server-token", "turnlog.db"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_whoever_listens_everywhere_is_warned(env: dict[str, str]) -> None:
    with start(env, "--host", "0.0.0.0", "--port", "0", "--no-sync") as server:
        assert server.told["url"].startswith("http://127.0.0.1:")
        assert server.ask("GET", "/metrics")[0] == 401
        assert server.ask("GET", "/api/health", {"Host": f"evil.example:{server.url.port}"})[0] == 421
        assert server.ask("GET", "/api/health", {"Host": f"192.0.2.7:{server.url.port}"})[0] == 200
        server.process.terminate()
        _, errors = server.process.communicate(timeout=SOON)
    assert b"on 0.0.0.0, everybody on the network can reach this server, and nothing is encrypted" in errors


def test_other_names_can_be_allowed(env: dict[str, str]) -> None:
    with start(env, "--port", "0", "--no-sync", "--allow-host", "box.lan:80") as server:
        assert server.ask("GET", "/api/health", {"Host": "box.lan"})[0] == 200
    ran = run("serve", "--allow-host", "http://x/", env=env)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)


def test_a_new_token_ends_the_old_one(env: dict[str, str]) -> None:
    tokens = set()
    for args in ((), (), ("--new-token",)):
        with start(env, "--port", "0", "--no-sync", *args) as server:
            tokens.add(Path(server.told["token_file"]).read_text())
    assert len(tokens) == 2


def test_without_sessions_the_demo_is_offered(env: dict[str, str]) -> None:
    ran = subprocess.Popen(
        [*TURNLOG, "serve", "--no-browser", "--port", "0"], stderr=subprocess.PIPE, env=environment(env)
    )
    with ran:
        assert ran.stderr is not None
        assert b"`turnlog serve --demo` shows sample ones" in ran.stderr.readline()
        ran.terminate()


def test_on_a_terminal_it_is_asked_for(env: dict[str, str]) -> None:
    shown = show_in_terminal("serve", "--no-browser", "--port", "0", env=env, interrupt=True)
    assert "Show sample ones? [Y/n]" in shown.text
    assert shown.status == 130
    assert "Traceback" not in shown.text


def test_the_demo_is_apart_from_ones_own_sessions(env: dict[str, str], session: Path) -> None:
    with start(env, "--demo", "--port", "0") as server:
        server.await_count("turnlog_sessions", len(PLAYS))
        place = Path(server.told["token_file"]).parent
        assert place != Path(env["TURNLOG_HOME"])
        server.process.terminate()
        server.process.communicate(timeout=SOON)
        assert server.process.returncode == 0
    assert not place.exists()
    assert not Path(env["TURNLOG_HOME"]).exists()


def test_it_says_plainly_where_it_is(env: dict[str, str], session: Path) -> None:
    shown = show_in_terminal("serve", "--no-browser", "--port", "0", env=env, interrupt=True)
    assert shown.status == 130
    assert "turnlog serves your sessions at http://127.0.0.1:" in shown.text
    assert "/open?key=" in shown.text


def test_samples_are_said_to_be_samples(env: dict[str, str]) -> None:
    shown = show_in_terminal("serve", "--demo", "--no-browser", "--port", "0", env=env, interrupt=True)
    assert "turnlog serves sample sessions at http://127.0.0.1:" in shown.text


@pytest.mark.parametrize(
    ("env", "platform", "has"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "x"}, "darwin", False),
    ],
)
def test_a_browser_is_opened_only_where_it_has_a_window(env: dict[str, str], platform: str, has: bool) -> None:
    assert has_screen(env, platform) is has


def test_there_is_one_server_for_a_home(tmp_path: Path) -> None:
    presence = RunningServer(pid=1, url="http://x", host="x", port=1, started_at=0.0)
    (tmp_path / "server.json").write_text("what a killed one left")
    with hold_server_lock(tmp_path) as first:
        with pytest.raises(AlreadyServingError, match="is starting"), hold_server_lock(tmp_path):
            pass
        first(presence)
        with pytest.raises(AlreadyServingError, match="at http://x") as raised, hold_server_lock(tmp_path):
            pass
        assert raised.value.presence == presence
    with hold_server_lock(tmp_path):
        assert (tmp_path / "server.json").read_bytes() == b""
    assert list(tmp_path.iterdir()) == []


def test_addresses_are_such_as_browsers_understand() -> None:
    hosts = ("127.0.0.1", "0.0.0.0", "::", "::1", "box.lan")
    assert [build_url(host, 80) for host in hosts] == [
        "http://127.0.0.1:80",
        "http://127.0.0.1:80",
        "http://[::1]:80",
        "http://[::1]:80",
        "http://box.lan:80",
    ]


def test_no_other_command_needs_what_the_server_is_made_of() -> None:
    script = (
        "import sys\n"
        "from click import Context\n"
        "from turnlog.cli.program import COMMANDS, program\n"
        "[program.get_command(Context(program), name) for name in COMMANDS if name != 'serve']\n"
        "print(*sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment(), check=True)
    heavy = {"litestar", "uvicorn", "prometheus_client", "httptools", "httpx", "pydantic"}
    assert heavy & set(ran.stdout.decode().split()) == set()
