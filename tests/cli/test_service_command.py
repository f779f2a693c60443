"""`turnlog service`, with a program `systemctl` that only notes how it is called."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from command_line import run_here

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")

SYSTEMCTL = """\
#!/bin/sh
echo "$*" >> "$HOME/calls"
case "$*" in *show*) echo "ActiveState=active"; echo "SubState=running";; esac
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with a home, and with systemd's programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in (("systemctl", SYSTEMCTL), ("journalctl", "#!/bin/sh\necho hello\n")):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": os.fspath(tmp_path),
        "TURNLOG_HOME": os.fspath(tmp_path / "my data"),
        "CLAUDE_CONFIG_DIR": f"{tmp_path / 'one'},{tmp_path / 'two'}",
    }


def unit(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".config" / "systemd" / "user" / "turnlog.service"


def calls(env: dict[str, str]) -> list[str]:
    path = Path(env["HOME"]) / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_a_dry_run_prints_the_file_and_does_nothing(env: dict[str, str]) -> None:
    ran = run_here("service", "install", "--dry-run", env=env)
    assert ran.returncode == 0, ran.stderr
    head, *lines = ran.stdout.decode().splitlines()
    home = env["HOME"]
    assert head == f"# {unit(env)}"
    assert f'ExecStart="{sys.executable}" "-m" "turnlog" "sync" "--watch"' in lines
    assert f'Environment="TURNLOG_HOME={home}/my data"' in lines
    assert f'Environment="CLAUDE_CONFIG_DIR={home}/one,{home}/two"' in lines
    assert calls(env) == []
    assert not unit(env).exists()
    told = json.loads(run_here("service", "install", "--dry-run", "--json", env=env).stdout)
    assert told["text"].splitlines() == lines


def test_install_status_and_uninstall(env: dict[str, str]) -> None:
    ran = run_here("service", "install", env=env)
    assert (ran.returncode, ran.stdout.decode()) == (0, f"installed: {unit(env)}\n")
    assert calls(env)[-1] == "--user enable --now turnlog.service"
    again = json.loads(run_here("service", "install", "--json", env=env).stdout)
    assert again["outcome"] == "unchanged"
    shown = run_here("service", "status", env=env)
    assert shown.returncode == 0
    assert shown.stdout.decode().splitlines() == [
        f"installed: {unit(env)}",
        "running (active, running)",
        "  hello",
    ]
    told = json.loads(run_here("service", "status", "--json", env=env).stdout)
    assert (told["installed"], told["ours"], told["running"]) == (True, True, True)
    gone = run_here("service", "uninstall", env=env)
    assert (gone.returncode, gone.stdout.decode()) == (0, f"removed: {unit(env)}\n")
    assert not unit(env).exists()
    missing = run_here("service", "uninstall", env=env)
    assert (missing.returncode, missing.stdout.decode()) == (1, f"not installed: {unit(env)}\n")


def test_a_file_of_somebody_else_is_one_clear_line(env: dict[str, str]) -> None:
    unit(env).parent.mkdir(parents=True)
    unit(env).write_text("[Unit]\n")
    ran = run_here("service", "install", env=env)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode() == f"turnlog: {unit(env)}: not written by turnlog, and left as it is\n"
    assert "not written by turnlog" in run_here("service", "status", env=env).stdout.decode()


def test_without_systemctl_it_is_said_what_to_run(env: dict[str, str], tmp_path: Path) -> None:
    ran = run_here("service", "install", env={**env, "PATH": os.fspath(tmp_path / "nothing")})
    assert ran.returncode == 1
    assert ran.stdout.decode().splitlines() == [
        f"installed: {unit(env)}",
        "systemctl: no such program",
        "Run this yourself, when possible:",
        "  systemctl --user daemon-reload",
        "  systemctl --user enable --now turnlog.service",
    ]
    assert unit(env).exists()


def test_what_is_not_set_is_not_passed_on(env: dict[str, str]) -> None:
    bare = {name: env[name] for name in ("PATH", "HOME")} | {"TURNLOG_HOME": ""}
    text = run_here("service", "install", "--dry-run", env=bare).stdout.decode()
    assert "Environment" not in text
