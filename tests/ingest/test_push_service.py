"""A service that pushes is another one than that which archives."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from command_line import run_here
from turnlog.ingest.services import Job, Launchd, Systemd


def test_both_services_have_names_of_their_own(tmp_path: Path) -> None:
    for kind in (Systemd, Launchd):
        archives, pushes = kind(tmp_path, {}), kind(tmp_path, {}, pushes=True)
        assert archives.path != pushes.path
        job = Job(command=("/usr/bin/python", "push"), environment={}, log=tmp_path / "log", purpose="push it")
        assert "push" in pushes.render(job)
        for commands in (pushes.list_stops(), archives.list_stops()):
            assert commands
        assert pushes.list_stops() != archives.list_stops()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about systemd")
def test_it_runs_the_collector_and_holds_no_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("very-secret\n")
    env = {"HOME": os.fspath(tmp_path), "TURNLOG_HOME": os.fspath(tmp_path / "turnlog")}
    install = ("service", "install", "--dry-run", "--json", "--push", "https://turnlog.example.org")
    done = run_here(*install, "--token-file", token, "--limit-rate", "2MB/s", env=env)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["path"].endswith("turnlog-push.service")
    assert '"push" "--to" "https://turnlog.example.org" "--token-file"' in told["text"]
    assert '"--limit-rate" "2MB/s"' in told["text"]
    assert "very-secret" not in told["text"]
    assert run_here(*install, env=env).returncode == 2
