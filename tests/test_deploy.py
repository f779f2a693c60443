"""What a team's server is installed by: the steps of the container, run from a clean checkout without one."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from command_line import TIMEOUT
from postgres_server import find_programs, make_database, start_server

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
TEAMS = ROOT / "docs" / "team.md"
STEP = re.compile(r"^```sh (.+)\n((?:.*\n)*?)```", re.MULTILINE)
SESSION = "5e551011-0000-4000-8000-000000000001"
LONG = 900.0
"""How many seconds the registries may take."""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build and install from what git has, in folders of their own."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    folder = tmp_path_factory.mktemp("deploy")
    checkout, prefix = folder / "checkout", folder / "prefix"
    checkout.mkdir()
    for name in run(["git", "ls-files", "-z"], ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            target = checkout / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    run(["deploy/build.sh", str(folder / "wheels")], checkout)
    [wheel] = (folder / "wheels").glob("*.whl")
    run(["deploy/install.sh", str(wheel), str(prefix)], checkout)
    return prefix


def run(command: list[str], folder: Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable, **(env or {})},
        capture_output=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout.decode()


class Walk:
    """A walk through docs/team.md: each of its blocks is run in a shell, where it says."""

    def __init__(self, prefix: Path, folder: Path) -> None:
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        named = {"/opt/turnlog": prefix, "/var/lib/turnlog": folder / "server", "8822": self.port}
        self.steps = [
            (where, re.sub("|".join(named), lambda name: str(named[name[0]]), text))
            for where, text in STEP.findall(TEAMS.read_text())
        ]
        self.laptop = folder / "laptop"
        self._exported = ""
        programs = find_programs()
        assert programs is not None
        self._env = {
            "PATH": f"{prefix / 'bin'}:{programs}:{os.environ['PATH']}",
            "PGHOST": str(start_server().folder),
            "PGUSER": "postgres",
            "HOME": str(self.laptop),
        }

    def take(self, number: int) -> str:
        """Take a step, and return what it prints."""
        where, text = self.steps[number]
        script = text if where == "laptop" else self._exported + text
        if where == "server":
            self._exported += "".join(re.findall(r"^export .*\n", text, re.MULTILINE))
        return run(["bash", "-euc", script], self._folder, self._env)

    @contextmanager
    def staying(self, number: int) -> Iterator[None]:
        """Take a step that goes on, until it answers; end it at last."""
        _, text = self.steps[number]
        process = subprocess.Popen(
            ["bash", "-euc", f"{self._exported}exec {text}"], env={**os.environ, **self._env}
        )
        with process:
            try:
                while process.poll() is None and not self._answers():
                    time.sleep(0.05)
                assert process.poll() is None
                yield
            finally:
                process.terminate()
                process.wait(TIMEOUT)

    def _answers(self) -> bool:
        with suppress(OSError):
            return bool(urlopen(f"http://127.0.0.1:{self.port}/api/ready", timeout=TIMEOUT).status == 200)
        return False


@contextmanager
def serving(prefix: Path, env: Mapping[str, str], *options: str) -> Iterator[tuple[str, str]]:
    """Run what was installed; give its address and its token."""
    process = subprocess.Popen(
        [prefix / "bin" / "turnlog", "serve", "--no-browser", "--port", "0", "--json", *options],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    timer = threading.Timer(TIMEOUT, process.kill)
    timer.start()
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1].decode()
            told = json.loads(line)
            yield told["url"], Path(told["token_file"]).read_text().strip()
        finally:
            timer.cancel()
            process.terminate()
            process.communicate(timeout=TIMEOUT)


def ask(url: str, path: str, token: str | None) -> str:
    given = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = Request(f"{url}{path}", headers=given)
    with urlopen(request, timeout=TIMEOUT) as answer:
        text: bytes = answer.read()
        return text.decode()


def test_what_is_installed_serves_sessions_from_a_database(prefix: Path, tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "-p"
    project.mkdir(parents=True)
    (project / "11111111-1111-4111-8111-111111111111.jsonl").write_text(
        '{"type":"user","message":{"role":"user","content":"Where is the kettle?"}}\n'
    )
    env = {
        "TURNLOG_HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"),
        "TURNLOG_STORE": make_database(),
    }
    run([str(prefix / "bin" / "turnlog"), "sync"], tmp_path, env)
    with (
        serving(prefix, env, "--no-sync") as (url, token),
        serving(prefix, env | {"TURNLOG_HOME": str(tmp_path / "b")}, "--no-sync") as other,
    ):
        assert json.loads(ask(url, "/api/ready", token)) == {"ready": True, "reason": None}
        assert "<script" in ask(url, "/", token), "the page is in the wheel"
        for server in ((url, token), other):
            assert json.loads(ask(server[0], "/api/sessions", server[1]))["total"] == 1
            assert json.loads(ask(server[0], "/api/search?q=kettle", server[1]))["items"]


def test_a_wheel_needs_nothing_but_python(tmp_path: Path) -> None:
    run(["make", "dist"], ROOT, {"MAKEFLAGS": "", "MAKELEVEL": ""})
    [wheel] = (ROOT / "dist").glob("turnlog-*.whl")
    prefix = tmp_path / "prefix"
    run([sys.executable, "-m", "venv", str(prefix)], tmp_path)
    versions = ROOT / "requirements" / "dev.txt"
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(versions)]
    run([str(prefix / "bin" / "python"), *install, str(wheel)], tmp_path)
    project = tmp_path / ".claude" / "projects" / "-p"
    project.mkdir(parents=True)
    (project / f"{SESSION}.jsonl").write_text('{"type":"user","message":{"role":"user","content":"Tea?"}}\n')
    # Neither Node nor anything else of the machine is in the path.
    env = {"PATH": str(prefix / "bin"), "HOME": str(tmp_path), "PYTHONPATH": ""}
    assert "1 new" in run([str(prefix / "bin" / "turnlog"), "sync"], tmp_path, env)
    with serving(prefix, env, "--demo") as (url, token):
        page = ask(url, "/", token)
        [script] = re.findall(r'<script type="module"[^>]* src="([^"]+)"', page)
        assert len(ask(url, script, token)) > 10_000
        until = time.monotonic() + TIMEOUT
        while json.loads(ask(url, "/api/sessions", token))["total"] < 2:  # they are archived once it serves
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_team_is_set_up_as_the_page_says(prefix: Path, tmp_path: Path) -> None:
    walk = Walk(prefix, tmp_path)
    assert [where for where, _ in walk.steps][:3] == ["build", "server", "server background"]
    assert walk.steps[0][1] == f"deploy/build.sh dist\ndeploy/install.sh dist/turnlog-*.whl {prefix}\n"
    start_server().execute("DROP DATABASE IF EXISTS turnlog")
    project = walk.laptop / ".claude" / "projects" / "-home-ben-website"
    project.mkdir(parents=True)
    (project / f"{SESSION}.jsonl").write_text(
        '{"type":"user","cwd":"/home/ben/website","message":{"role":"user","content":"Where is the kettle?"}}\n'
    )
    ada = find_secret("tlp_", walk.take(1))
    with walk.staying(2):
        url = f"http://127.0.0.1:{walk.port}"
        assert json.loads(ask(url, "/api/me", ada))["role"] == "admin"
        told = walk.take(3)
        ben, machine = find_secret("tlp_", told), find_secret("tlm_", told)
        (walk.laptop / ".turnlog-token").write_text(machine)
        walk.take(4)
        [session] = json.loads(ask(url, "/api/sessions", ben))["items"]
        assert (session["person"], session["visibility"]) == ("ben", "private")
        assert "website" in walk.take(5)
        [session] = json.loads(ask(url, "/api/sessions", ben))["items"]
        assert session["visibility"] == "team"
        link = find_secret("tls_", walk.take(6))
        assert "kettle" in ask(url, f"/s/{link}/api/sessions/{SESSION}/messages", None)
        ask(url, f"/api/sessions/{SESSION}/messages", ada)
        audit = walk.take(7)
        assert (tmp_path / "turnlog-backup.dump").exists()
    assert [word for word in ("ada", "ben", "viewed", "rule") if word not in audit] == []


def find_secret(prefix: str, text: str) -> str:
    [secret] = set(re.findall(rf"{prefix}[\w-]{{43}}", text))
    return str(secret)


def test_the_unit_of_systemd_is_sound(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd")
    unit = tmp_path / "turnlog-server.service"
    text = (DEPLOY / unit.name).read_text()
    unit.write_text(text.replace("/opt/turnlog/bin/turnlog", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, timeout=TIMEOUT, check=False
    )
    told = [line for line in done.stderr.decode().splitlines() if unit.name in line]
    assert (done.returncode, told) == (0, [])
