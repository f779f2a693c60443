"""`turnlog sync`, `status`, `export` and `restore`: from files to the archive and back."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import apsw
import pytest

from command_line import TURNLOG, environment, invoke, run_here
from golden import DATA

TOUR = DATA / "cli" / "tour"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A machine with one session, and an archive that is empty."""
    shutil.copytree(TOUR, tmp_path / "claude" / "projects" / "-home-ada-tea")
    return {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}


def project(env: dict[str, str]) -> Path:
    return Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-home-ada-tea"


def test_what_is_new_is_archived_and_then_nothing_is(env: dict[str, str]) -> None:
    first = run_here("sync", env=env)
    assert (first.returncode, first.stderr) == (0, b"")
    assert first.stdout.startswith(b"1 session: 1 new, 0 changed; ")
    again = json.loads(run_here("sync", "--json", env=env).stdout)
    assert (again["sessions"], again["added"], again["changed"], again["bytes"]) == (1, 0, 0, 0)


def test_status_tells_what_exists_only_here(env: dict[str, str]) -> None:
    invoke("sync", env=env)
    shutil.rmtree(project(env))
    invoke("sync", env=env)
    status = json.loads(invoke("status", "--json", env=env).stdout)
    assert (status["sessions"], status["only_here"]) == (1, 1)
    assert "1 of them exist only in the archive" in invoke("status", env=env).stdout


def test_what_an_older_version_derived_is_read_anew_and_nothing_fails_meanwhile(env: dict[str, str]) -> None:
    invoke("sync", env=env)
    connection = apsw.Connection(str(Path(env["TURNLOG_HOME"]) / "turnlog.db"))
    connection.execute("UPDATE sessions SET derivation = 0; DELETE FROM segments; DELETE FROM outlines")
    connection.close()
    for command in (["status"], ["export", "0b5c7a52", "--raw", "--output", f"{env['TURNLOG_HOME']}/out"]):
        assert invoke(*command, env=env).exit_code == 0
    assert "1 session: 0 new, 0 changed; 1 derived again by newer rules; " in invoke("sync", env=env).stdout
    assert "newer rules" not in invoke("sync", env=env).stdout
    assert invoke("verify", env=env).exit_code == 0


def test_a_deleted_session_is_exported_and_restored(env: dict[str, str], tmp_path: Path) -> None:
    invoke("sync", env=env)
    original = {p.name: p.read_bytes() for p in project(env).rglob("*") if p.is_file()}
    shutil.rmtree(project(env))
    exported = invoke("export", "0b5c", "--raw", "--output", tmp_path / "out", env=env)
    assert exported.exit_code == 0
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()} == original
    assert invoke("restore", "0b5c", "--dry-run", env=env).exit_code == 0
    assert not project(env).exists()
    assert invoke("restore", "0b5c", env=env).exit_code == 0
    assert {p.name: p.read_bytes() for p in project(env).rglob("*") if p.is_file()} == original


def test_excluded_projects_are_not_archived(env: dict[str, str]) -> None:
    home = Path(env["TURNLOG_HOME"])
    home.mkdir()
    (home / "config.toml").write_text('[sync]\nexclude = ["/home/ada/tea"]\n')
    assert json.loads(invoke("sync", "--json", env=env).stdout)["sessions"] == 0


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (("status",), 1, "nothing is archived yet"),
        (("export", "0b5c", "--raw", "--output", "out"), 1, "nothing is archived yet"),
        (("export", "0b5c", "--output", "out"), 2, "or --raw for the original files"),
        (("sync", "/no/such/place"), 2, "/no/such/place: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    env: dict[str, str], args: tuple[str, ...], status: int, message: str
) -> None:
    ran = run_here(*args, env=env)
    assert (ran.returncode, ran.stdout) == (status, b"")
    assert message in ran.stderr.decode()
    assert ran.stderr.count(b"\n") == 1


def test_an_id_that_fits_none_is_nothing_found(env: dict[str, str]) -> None:
    invoke("sync", env=env)
    ran = run_here("restore", "ffff", env=env)
    assert (ran.returncode, ran.stderr) == (1, b"turnlog: no archived session begins with ffff\n")


def test_a_machine_without_claude_code_is_told_so(tmp_path: Path) -> None:
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "none")}
    ran = run_here("sync", env=env)
    assert ran.returncode == 1
    assert b"no Claude Code data in" in ran.stderr


def test_beside_a_watcher_the_work_is_handed_over(env: dict[str, str], tmp_path: Path) -> None:
    old = tmp_path / "old" / "projects" / "-home-ada-coffee"
    shutil.copytree(TOUR, old)
    (transcript,) = old.glob("*.jsonl")
    transcript.rename(old / "ffffffff-9d3e-4a6f-8c11-5e2f9a7d4c01.jsonl")
    watcher = subprocess.Popen(
        [*TURNLOG, "sync", "--watch", "--json"], env=environment(env), stdout=subprocess.PIPE
    )
    assert watcher.stdout is not None
    try:
        assert json.loads(watcher.stdout.readline())["occasion"] == "start"
        ran = run_here("sync", tmp_path / "old", "--json", env=env)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert json.loads(ran.stdout)["added"] >= 1
    finally:
        watcher.terminate()
        watcher.wait(60)
        watcher.stdout.close()
    assert watcher.returncode == 0
    assert json.loads(invoke("status", "--json", env=env).stdout)["sessions"] >= 2
