"""The command line on an archive that is on a database server, as on one in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clickhouse_engine import make_index
from command_line import run_here
from postgres_server import make_database
from turnlog.testing.builders import make_line

SESSION = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    project = tmp_path / ".claude" / "projects" / "-p"
    project.mkdir(parents=True)
    (project / f"{SESSION}.jsonl").write_text(
        '{"type":"user","message":{"role":"user","content":"Where is the kettle?"}}\n'
    )
    return {
        "TURNLOG_HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"),
        "TURNLOG_STORE": make_database(),
    }


def ask(env: dict[str, str], *args: str | Path, status: int = 0) -> str:
    ran = run_here(*args, env=env)
    assert ran.returncode == status, ran.stderr.decode()
    return ran.stdout.decode()


def test_a_machine_without_a_folder_of_its_own_yet_archives_and_asks(env: dict[str, str]) -> None:
    ask(env, "sync")
    assert json.loads(ask(env, "status", "--json"))["sessions"] == 1
    assert SESSION in ask(env, "search", "kettle", "--json")
    assert "kettle" in ask(env, "show", SESSION)
    ask(env, "verify")
    assert not (Path(env["TURNLOG_HOME"]) / "turnlog.db").exists()


def test_a_backup_brings_back_what_was_there_but_not_what_was_forgotten(
    env: dict[str, str], tmp_path: Path
) -> None:
    ask(env, "sync")
    ask(env, "mark", SESSION, "--star")
    ask(env, "backup", tmp_path / "copy")
    ask(env, "mark", SESSION, "--no-star")
    ask(env, "restore", "--from", tmp_path / "copy", "--yes")
    assert len(json.loads(ask(env, "sessions", "--starred", "--json"))["sessions"]) == 1
    assert str(tmp_path / "copy") in ask(env, "forget", SESSION, "--yes")
    ask(env, "restore", "--from", tmp_path / "copy", "--yes")
    assert json.loads(ask(env, "status", "--json"))["sessions"] == 0


def test_a_server_that_is_not_there_is_one_line(env: dict[str, str], tmp_path: Path) -> None:
    nowhere = f"postgresql://ada:s3cret@/turnlog?host={tmp_path}&connect_timeout=2"
    ran = run_here("status", env={**env, "TURNLOG_STORE": nowhere})
    assert ran.returncode != 0
    [line] = ran.stderr.decode().splitlines()
    assert "cannot be reached" in line
    assert "s3cret" not in line


def test_bytes_go_to_blobs_when_the_environment_says_so(env: dict[str, str], tmp_path: Path) -> None:
    path = Path(env["CLAUDE_CONFIG_DIR"], "projects", "-p", f"{SESSION}.jsonl")
    path.write_bytes(b"".join(make_line(n, session_id=SESSION, requestId=f"{n:05}" * 900) for n in range(300)))
    ask(env, "sync")
    assert "blobs" not in json.loads(ask(env, "status", "--json"))
    [line] = run_here("blobs", env=env).stderr.decode().splitlines()
    assert "TURNLOG_BLOBS" in line
    env["TURNLOG_BLOBS"] = str(tmp_path / "blobs")
    ask(env, "sync")
    moved = json.loads(ask(env, "blobs", "--json"))
    files = [each for each in (tmp_path / "blobs").rglob("*") if each.is_file()]
    assert moved["blob_bytes"] == sum(each.stat().st_size for each in files) > 0
    told = json.loads(ask(env, "status", "--json"))
    assert (told["blobs"], told["blob_bytes"]) == (str(tmp_path / "blobs"), moved["blob_bytes"])
    assert f"in blobs: {tmp_path / 'blobs'}" in ask(env, "status")
    assert {"state": "ok", "subject": "blobs", "message": f"{tmp_path / 'blobs'} is reachable"} in json.loads(
        run_here("doctor", "--json", env=env).stdout
    )
    ask(env, "verify")
    files[0].write_bytes(b"")
    assert "is damaged" in ask(env, "verify", status=1)
    ask(env, "verify", "--repair")
    ask(env, "forget", SESSION, "--yes")
    ask(env, "blobs")
    assert [each for each in (tmp_path / "blobs").rglob("*") if each.is_file()] == []
    del env["TURNLOG_BLOBS"]
    assert "TURNLOG_BLOBS must say where" in run_here("sync", env=env).stderr.decode()


def test_the_index_goes_elsewhere_when_the_environment_says_so(env: dict[str, str]) -> None:
    ask(env, "sync")
    assert "index" not in json.loads(ask(env, "status", "--json"))
    assert "1 session indexed in the archive" in ask(env, "reindex")
    assert SESSION in ask(env, "search", "kettle", "--json")
    index = make_index()
    env["TURNLOG_INDEX"] = index.address
    assert SESSION in ask(env, "search", "kettle", "--json")
    assert f"1 session to index in {index}" in ask(env, "reindex", "--dry-run", status=0)
    assert json.loads(ask(env, "reindex", "--json")) == {"index": str(index), "sessions": 1, "backlog": 0}
    told = json.loads(ask(env, "status", "--json"))
    assert (told["index"], told["index_backlog"]) == (str(index), 0)
    assert f"index: {index}, up to date" in ask(env, "status")
    assert SESSION in ask(env, "search", "kettle", "--json")
    ask(env, "verify")
    found = {"state": "ok", "subject": "index", "message": f"{index} is reachable, 0 changes behind"}
    assert found in json.loads(run_here("doctor", "--json", env=env).stdout)
    ask(env, "forget", SESSION, "--yes")
    ask(env, "search", "kettle", status=1)
    del env["TURNLOG_INDEX"]
    assert "TURNLOG_INDEX must say where" in run_here("sync", env=env).stderr.decode()


def test_an_index_that_is_away_is_one_line_without_its_password(env: dict[str, str]) -> None:
    env["TURNLOG_INDEX"] = "clickhouse://ada:s3cret@127.0.0.1:9/turnlog"
    ask(env, "sync")
    assert "behind" in ask(env, "status")
    for args in (("search", "kettle"), ("reindex",)):
        ran = run_here(*args, env=env)
        assert ran.returncode != 0
        [line] = ran.stderr.decode().splitlines()
        assert "clickhouse://ada@127.0.0.1:9/turnlog cannot be reached" in line
        assert "s3cret" not in line


def test_a_bucket_that_is_away_is_one_line_without_its_keys(env: dict[str, str]) -> None:
    env["TURNLOG_BLOBS"] = "s3://key:s3cret@bytes/x?endpoint=http://127.0.0.1:9&region=us-east-1"
    path = Path(env["CLAUDE_CONFIG_DIR"], "projects", "-p", f"{SESSION}.jsonl")
    path.write_bytes(b"".join(make_line(n, session_id=SESSION, requestId=f"{n:05}" * 900) for n in range(300)))
    ran = run_here("sync", env=env)
    assert ran.returncode != 0
    [line] = ran.stderr.decode().splitlines()
    assert "s3://bytes/x cannot be reached" in line
    assert "s3cret" not in line
