"""The script that Claude Code runs: it keeps what it is told, says nothing, waits for nobody, never fails."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from turnlog.ingest.hook_install import build_entries, install_script
from turnlog.ingest.spool import is_delivery_id

PAYLOAD = b'{"session_id":"s1",\n"hook_event_name":"Stop","x":"\\u0000 \xc3\xa9 %s \\\\n"}'
SHELLS = [
    command
    for command in (["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"], ["zsh"])
    if shutil.which(command[0])
]
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home [with] a 'quote', {a,b} and $HOME"
    install_script(home)
    return home


def run(
    shell: list[str], home: Path, payload: bytes = PAYLOAD, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    [entry] = build_entries(home, ["Stop"])
    return subprocess.run(
        [*shell, "-c", f"{entry.command} # turnlog"],
        input=payload,
        capture_output=True,
        env={"PATH": os.environ["PATH"]} if env is None else env,
        check=False,
    )


def list_spooled(home: Path) -> list[Path]:
    return sorted(path for path in (home / "spool").iterdir() if path.is_file())


def wait_for(is_so: Callable[[], object]) -> None:
    while not is_so():
        time.sleep(0.01)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_payload_is_spooled_as_it_came(shell: list[str], home: Path) -> None:
    before = time.time_ns()
    done = run(shell, home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    [path] = list_spooled(home)
    assert path.read_bytes() == PAYLOAD
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.suffix == ".json"
    assert is_delivery_id(path.stem)
    assert before <= int(path.stem.partition("-")[0]) <= time.time_ns()


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_script_that_is_gone_is_no_failure(shell: list[str], home: Path) -> None:
    """With status 2, a hook forbids what the agent is about to do."""
    [entry] = build_entries(home, ["Stop"])
    (home / "hook.sh").unlink()
    done = subprocess.run(
        [*shell, "-c", f"{entry.command} # turnlog"], input=b"{}", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_it_runs_by_itself_too(shell: list[str], home: Path) -> None:
    done = subprocess.run(
        [*shell, os.fspath(home / "hook.sh")], input=PAYLOAD, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [path.read_bytes() for path in list_spooled(home)] == [PAYLOAD]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_many_at_once_do_not_meet(shell: list[str], home: Path) -> None:
    [entry] = build_entries(home, ["Stop"])
    started = [subprocess.Popen([*shell, "-c", entry.command], stdin=subprocess.PIPE) for _ in range(20)]
    for number, process in enumerate(started):
        process.communicate(b'{"n":%d}' % number)
    assert {json.loads(path.read_bytes())["n"] for path in list_spooled(home)} == set(range(20))


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_large_payload_and_none_at_all(shell: list[str], home: Path) -> None:
    large = b'{"x":"' + b"y" * (8 << 20) + b'"}'
    assert run(shell, home, large).returncode == 0
    assert run(shell, home, b"").returncode == 0
    assert sorted(path.stat().st_size for path in list_spooled(home)) == [0, len(large)]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_spool_that_cannot_be_written_is_no_failure(shell: list[str], home: Path) -> None:
    (home / "spool").rmdir()
    (home / "spool").write_text("no folder")
    done = run(shell, home, b'{"x":"' + b"y" * (1 << 20) + b'"}')
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_spool_that_is_missing_is_made(shell: list[str], home: Path) -> None:
    (home / "spool").rmdir()
    assert run(shell, home).returncode == 0
    assert len(list_spooled(home)) == 1
    assert (home / "spool").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_clock_without_nanoseconds_will_do(shell: list[str], home: Path, tmp_path: Path) -> None:
    """As on systems whose `date` does not know %N, and writes an N instead."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cat", "mv", "mkdir", "rm"):
        (folder / name).symlink_to(shutil.which(name) or "")
    date = folder / "date"
    date.write_text(f'#!/bin/sh\n[ "$1" = +%s ] && exec {shutil.which("date")} +%s\necho 1790000000N\n')
    date.chmod(0o755)
    shell = [shutil.which(shell[0]) or "", *shell[1:]]
    done = run(shell, home, env={"PATH": os.fspath(folder)})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    [path] = list_spooled(home)
    assert is_delivery_id(path.stem)
    assert path.stem.partition("-")[0].endswith("000000000" if shell[0].endswith("dash") else "000")


class Listener:
    """Somebody at a port who hears what is posted, and answers as told."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.heard: list[tuple[str, dict[str, str], bytes]] = []
        self.commands = b""


@contextmanager
def listening(home: Path, status: int = 200, pid: int | None = None) -> Iterator[Listener]:
    listener = Listener(status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            listener.commands += read_commands()
            listener.heard.append((self.path, headers, body))
            self.send_response(listener.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    announce(home, server.server_port, pid)
    try:
        yield listener
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def announce(home: Path, port: int, pid: int | None = None) -> None:
    """Say where a server is, as one does."""
    said = f'{{"pid":{pid or os.getpid()},"url":"http://127.0.0.1:{port}","host":"127.0.0.1","port":{port}}}'
    (home / "server.json").write_text(said)
    (home / "server-token").write_text("very-secret-token\n")


def read_commands() -> bytes:
    """Return the command lines of all processes."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes()
        except OSError:
            continue
    return found


@needs_curl
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_server_is_told_and_the_file_goes_when_it_has_it(shell: list[str], home: Path) -> None:
    with listening(home) as listener:
        done = run(shell, home)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        wait_for(lambda: listener.heard)
        [(path, headers, body)] = listener.heard
        assert (path, body) == ("/api/hooks", PAYLOAD)
        assert headers["authorization"] == "Bearer very-secret-token"
        assert is_delivery_id(headers["x-turnlog-delivery"])
        assert headers["content-type"] == "application/json"
        wait_for(lambda: not list_spooled(home))
        if Path("/proc").is_dir():
            assert b"curl" in listener.commands
            assert b"very-secret-token" not in listener.commands


NAME = "1790000000123456789-a"


def post(home: Path, *, spooled: bool = True) -> bool:
    """Have a file posted, as a hook has it done in the background; return whether it is still there."""
    path = home / "spool" / f"{NAME}.json"
    if spooled:
        path.write_bytes(PAYLOAD)
    subprocess.run(["sh", os.fspath(home / "hook.sh"), "post", NAME], check=True, capture_output=True)
    return path.exists()


@needs_curl
@pytest.mark.parametrize(
    ("status", "stays"), [(401, True), (413, True), (507, True), (302, True), (200, False)]
)
def test_the_file_stays_if_the_server_does_not_take_it(home: Path, status: int, stays: bool) -> None:
    with listening(home, status) as listener:
        assert post(home) is stays
        assert [headers["x-turnlog-delivery"] for _, headers, _ in listener.heard] == [NAME]


@needs_curl
def test_a_file_that_was_taken_up_meanwhile_is_not_posted(home: Path) -> None:
    """Nor is nothing posted in its name."""
    with listening(home) as listener:
        post(home, spooled=False)
        assert listener.heard == []


@needs_curl
def test_whoever_listens_where_a_server_was_killed_hears_nothing(home: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    with listening(home, pid=dead.pid) as listener:
        assert post(home)
        assert listener.heard == []


@needs_curl
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_nobody_waits_for_a_server_that_never_answers(shell: list[str], home: Path) -> None:
    with socket.socket() as hanging:
        hanging.bind(("127.0.0.1", 0))
        hanging.listen()
        announce(home, hanging.getsockname()[1])
        done = run(shell, home)  # its pipes are closed when it ends, or this would wait for them
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        connection, _ = hanging.accept()
        with connection:
            assert connection.recv(4) == b"POST"  # it is still being asked
            [path] = list_spooled(home)
            assert path.read_bytes() == PAYLOAD


@pytest.mark.parametrize(
    "content", ["", "{}", "\n", '{"url":"', '{"pid":1,"url":"ftp://x"}', "$(touch x)", "\0"]
)
def test_a_note_of_a_server_that_says_nothing_is_no_failure(home: Path, content: str) -> None:
    (home / "server.json").write_text(content)
    done = run(["sh"], home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(list_spooled(home)) == 1
