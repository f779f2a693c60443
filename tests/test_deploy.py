"""What a team's server is installed by: the steps of the container, run from a clean checkout without one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from command_line import TIMEOUT
from postgres_server import make_database

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
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


@contextmanager
def serving(prefix: Path, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Run what was installed; give its address and its token."""
    process = subprocess.Popen(
        [prefix / "bin" / "turnlog", "serve", "--no-browser", "--no-sync", "--port", "0", "--json"],
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


def ask(url: str, path: str, token: str) -> str:
    request = Request(f"{url}{path}", headers={"Authorization": f"Bearer {token}"})
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
        serving(prefix, env) as (url, token),
        serving(prefix, env | {"TURNLOG_HOME": str(tmp_path / "b")}) as other,
    ):
        assert json.loads(ask(url, "/api/ready", token)) == {"ready": True, "reason": None}
        assert "<script" in ask(url, "/", token), "the page is in the wheel"
        for server in ((url, token), other):
            assert json.loads(ask(server[0], "/api/sessions", server[1]))["total"] == 1
            assert json.loads(ask(server[0], "/api/search?q=kettle", server[1]))["items"]


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
