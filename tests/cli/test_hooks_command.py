"""`turnlog hooks`: into Claude Code's settings and out again, and how it is doing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from command_line import TURNLOG, environment, invoke, run
from turnlog.ingest.hook_install import LEFT_OUT, SINCE
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import EVENTS

SETTINGS = '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash(ls:*)"]}\n}\n'


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "claude").mkdir()
    return {
        "TURNLOG_HOME": os.fspath(tmp_path / "turnlog home"),
        "CLAUDE_CONFIG_DIR": os.fspath(tmp_path / "claude"),
        "PATH": os.fspath(tmp_path / "bin"),
    }


@pytest.fixture
def settings(tmp_path: Path, env: dict[str, str]) -> Path:
    path = tmp_path / "claude" / "settings.json"
    path.write_text(SETTINGS)
    path.chmod(0o640)
    return path


def read_events(path: Path) -> set[str]:
    return set(json.loads(path.read_text())["hooks"])


def look(env: dict[str, str], *args: str) -> Any:
    return json.loads(invoke("hooks", "status", "--json", *args, env=env).stdout)


def test_hooks_go_in_and_out_again_without_a_trace(env: dict[str, str], settings: Path, tmp_path: Path) -> None:
    done = invoke("hooks", "install", env=env)
    assert done.exit_code == 0, done.output
    installed = settings.read_text()
    assert installed.startswith(SETTINGS[: SETTINGS.rindex("\n}")])
    assert read_events(settings) == set(EVENTS) - set(LEFT_OUT)
    assert settings.stat().st_mode & 0o777 == 0o640
    again = invoke("hooks", "install", env=env)
    assert again.output.startswith("unchanged")
    assert settings.read_text() == installed
    assert invoke("hooks", "uninstall", env=env).exit_code == 0
    assert settings.read_text() == SETTINGS
    assert invoke("hooks", "uninstall", env=env).output.startswith("unchanged")
    backups = sorted((tmp_path / "turnlog home" / "settings-backups").iterdir())
    assert [path.read_text() for path in backups] == [SETTINGS, installed]
    assert {path.stat().st_mode & 0o777 for path in backups} == {0o600}


def test_each_hook_runs_the_script_and_has_a_timeout_in_seconds(env: dict[str, str], settings: Path) -> None:
    invoke("hooks", "install", env=env)
    script = Path(env["TURNLOG_HOME"], "hook.sh")
    assert stat.S_IMODE(script.stat().st_mode) == 0o700
    assert script.read_text().startswith("#!/bin/sh\n# turnlog hook 1\n")
    [group] = json.loads(settings.read_text())["hooks"]["Stop"]
    assert group == {
        "hooks": [
            {
                "type": "command",
                "command": f"turnlog_hook='{script}'; "
                'if [ -r "$turnlog_hook" ]; then . "$turnlog_hook"; fi # turnlog',
                "timeout": 10,
            }
        ]
    }


def test_without_a_file_one_is_made_and_removed_again(env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "claude" / "settings.json"
    assert invoke("hooks", "install", "--events", "Stop", env=env).exit_code == 0
    assert read_events(path) == {"Stop"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert invoke("hooks", "uninstall", env=env).exit_code == 0
    assert not path.exists()


def test_nothing_is_changed_by_a_dry_run(env: dict[str, str], settings: Path) -> None:
    shown = invoke("hooks", "install", "--dry-run", "--events", "Stop", env=env)
    assert '+        "Stop": [' in shown.output.splitlines()
    assert settings.read_text() == SETTINGS
    assert not Path(env["TURNLOG_HOME"]).exists()
    invoke("hooks", "install", "--events", "Stop", env=env)
    before = settings.read_text()
    assert '-        "Stop": [' in invoke("hooks", "uninstall", "--dry-run", env=env).output.splitlines()
    assert settings.read_text() == before


def test_other_events_are_chosen_by_installing_again(env: dict[str, str], settings: Path) -> None:
    invoke("hooks", "install", "--events", "Stop,Notification", env=env)
    assert read_events(settings) == {"Stop", "Notification"}
    invoke("hooks", "install", "--events", "Stop, WorktreeCreate", env=env)
    assert read_events(settings) == {"Stop", "WorktreeCreate"}
    wrong = invoke("hooks", "install", "--events", "Stopp", env=env)
    assert wrong.exit_code == 2
    assert "Stopp: no such event" in wrong.output


@pytest.mark.parametrize(("scope", "name"), [("project", "settings.json"), ("local", "settings.local.json")])
def test_a_project_has_settings_of_its_own(env: dict[str, str], tmp_path: Path, scope: str, name: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    done = run("hooks", "install", "--scope", scope, env=env, cwd=project)
    assert done.returncode == 0, done.stderr
    path = project / ".claude" / name
    assert read_events(path) == set(EVENTS) - set(LEFT_OUT)
    found = look(env, "--project", os.fspath(project))
    assert {each["scope"]: bool(each["events"]) for each in found["scopes"]} == {
        "user": False,
        "project": scope == "project",
        "local": scope == "local",
    }
    assert invoke("hooks", "uninstall", "--scope", scope, "--project", project, env=env).exit_code == 0
    assert not path.exists()


def test_a_link_stays_a_link(env: dict[str, str], settings: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    settings.rename(real)
    settings.symlink_to(real)
    invoke("hooks", "install", "--events", "Stop", env=env)
    assert settings.is_symlink()
    assert read_events(real) == {"Stop"}
    assert sorted(os.listdir(real.parent)) == ["claude.json"]
    invoke("hooks", "uninstall", env=env)
    assert real.read_text() == SETTINGS


@pytest.mark.parametrize(
    "content", ["", "{", '{"a": 1,}', "// no\n{}", "[]", '{"hooks": []}', '{"hooks": {"Stop": 1}}']
)
def test_what_is_not_settings_is_refused_in_a_line_and_left(
    env: dict[str, str], settings: Path, content: str
) -> None:
    settings.write_text(content)
    for args in (["install"], ["uninstall"], ["install", "--dry-run"]):
        refused = run("hooks", *args, env={**env, "PATH": os.environ["PATH"]})
        [line] = refused.stderr.decode().splitlines()
        assert refused.returncode in (1, 2)
        assert os.fspath(settings) in line
        assert "left as it is" in line
    assert settings.read_text() == content
    found = look(env)
    assert found["scopes"][0]["problem"] is not None
    assert not found["ok"]


def test_hooks_of_another_archive_are_brought_here(env: dict[str, str], settings: Path, tmp_path: Path) -> None:
    invoke("hooks", "install", env={**env, "TURNLOG_HOME": os.fspath(tmp_path / "old")})
    assert look(env)["scopes"][0]["elsewhere"] is True
    assert "another archive" in invoke("hooks", "status", env=env).output
    invoke("hooks", "install", env=env)
    assert look(env)["scopes"][0]["elsewhere"] is False
    assert "old" not in settings.read_text()
    invoke("hooks", "uninstall", env=env)
    assert settings.read_text() == SETTINGS


def test_status_says_how_hooks_are_doing(env: dict[str, str], settings: Path) -> None:
    missing = invoke("hooks", "status", env=env)
    assert missing.exit_code == 1
    assert "user: not installed" in missing.output
    assert "script: missing" in missing.output
    invoke("hooks", "install", env=env)
    home = Path(env["TURNLOG_HOME"])
    (home / "spool" / "1790000000123456789-a.json").write_text("{}")
    (home / "spool" / "aside").mkdir()
    (home / "spool" / "aside" / "b.json").write_text("{")
    fine = invoke("hooks", "status", env=env)
    assert fine.exit_code == 0
    assert f"user: installed for {len(set(EVENTS) - set(LEFT_OUT))} events" in fine.output
    assert "script: version 1" in fine.output
    assert "server: not running" in fine.output
    assert "deliveries: no archive yet, 1 in the spool, 1 quarantined" in fine.output
    (home / "hook.sh").write_text("#!/bin/sh\n# turnlog hook 0\n")
    assert "script: another version" in invoke("hooks", "status", env=env).output
    assert (look(env)["script_version"], look(env)["ok"]) == (0, False)
    invoke("hooks", "install", env=env)
    assert look(env)["ok"]


def test_a_version_that_does_not_know_an_event_is_not_told_of_it(
    env: dict[str, str], settings: Path, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.81 (Claude Code)'\n")
    program.chmod(0o755)
    invoke("hooks", "install", env=env)
    events = read_events(settings)
    assert {"StopFailure", "PostCompact", "Elicitation", "Stop"} <= events
    assert not {event for event, since in SINCE.items() if since > (2, 1, 81)} & events
    program.write_text("#!/bin/sh\nexit 3\n")
    invoke("hooks", "install", env=env)
    assert read_events(settings) == set(EVENTS) - set(LEFT_OUT)


def test_sync_takes_up_what_hooks_left(env: dict[str, str], tmp_path: Path) -> None:
    spool = Path(env["TURNLOG_HOME"], "spool")
    spool.mkdir(parents=True)
    payload = {"session_id": "s1", "hook_event_name": "Stop"}
    (spool / "1790000000123456789-a.json").write_text(json.dumps(payload))
    done = invoke("sync", env=env)
    assert done.exit_code == 0, done.output
    assert "1 hook event archived" in done.output
    store = open_store(Path(env["TURNLOG_HOME"], "turnlog.db"), read_only=True)
    assert [delivery.session_id for delivery in store.list_deliveries(LOCAL)] == ["s1"]
    store.close()
    assert os.listdir(spool) == []


def test_a_watching_sync_takes_up_what_hooks_leave_meanwhile(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "claude" / "projects").mkdir()
    spool = Path(env["TURNLOG_HOME"], "spool")
    process = subprocess.Popen(
        [*TURNLOG, "sync", "--watch", "--json"],
        stdout=subprocess.PIPE,
        env=environment({**env, "PATH": os.environ["PATH"]}),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline()  # it watches from now on
        spool.mkdir(parents=True, exist_ok=True)
        (spool / "1790000000123456789-a.json").write_text('{"session_id": "s1", "hook_event_name": "Stop"}')
        while any(spool.iterdir()):
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.terminate()
        process.communicate()
    store = open_store(Path(env["TURNLOG_HOME"], "turnlog.db"), read_only=True)
    assert [delivery.session_id for delivery in store.list_deliveries(LOCAL)] == ["s1"]
    store.close()
