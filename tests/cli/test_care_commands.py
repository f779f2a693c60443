"""`turnlog verify`, `forget`, `prune`, `backup`, `restore --from` and `doctor`: taking care of the archive."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from command_line import invoke, run_here
from golden import DATA
from turnlog.cli.program import program
from turnlog.transcripts.segments import pack_segment, unpack_segment

NEEDLE = "zq8-needle"
ID = "0b5c7c1e-8f5d-4a35-9d0b-0f6f0a7c3d11"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A machine with two sessions, both archived."""
    project = tmp_path / "claude" / "projects" / "-home-ada-tea"
    shutil.copytree(DATA / "cli" / "tour", project)
    write_session(project / f"{ID}.jsonl", NEEDLE)
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    assert invoke("sync", env=env).exit_code == 0
    return env


def write_session(path: Path, word: str) -> None:
    """Write a session with a word in its prompt, its title and the result of a call."""
    lines: list[dict[str, object]] = [
        {
            "type": "user",
            "uuid": "u1",
            "parentUuid": None,
            "message": {"role": "user", "content": f"Say {word}"},
        },
        {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "message": {
                "id": "m1",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": f"mcp__{word}__ask", "input": {}}],
            },
        },
        {
            "type": "user",
            "uuid": "u2",
            "parentUuid": "a1",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": f"{word} it is"}],
            },
        },
    ]
    common = {"sessionId": path.stem, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": f"/home/ada/{word}"}
    title = {"type": "custom-title", "customTitle": f"About {word}", "sessionId": path.stem}
    path.write_text(
        "".join(json.dumps(each) + "\n" for each in [*({**line, **common} for line in lines), title])
    )


def home(env: dict[str, str]) -> Path:
    return Path(env["TURNLOG_HOME"])


def find_needle(env: dict[str, str]) -> list[str]:
    return [
        path.name for path in home(env).iterdir() if path.is_file() and NEEDLE.encode() in path.read_bytes()
    ]


def answer(text: str, *args: str | Path, env: dict[str, str]) -> Result:
    return CliRunner(env=env).invoke(program, [*map(str, args)], input=text, prog_name="turnlog")


def tamper(env: dict[str, str], statement: str) -> None:
    connection = sqlite3.connect(home(env) / "turnlog.db")
    assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()


def list_ids(env: dict[str, str]) -> int:
    return int(json.loads(invoke("status", "--json", env=env).stdout)["sessions"])


def test_a_sound_archive_is_said_to_be_sound(env: dict[str, str]) -> None:
    ran = invoke("verify", env=env)
    assert (ran.exit_code, ran.stdout) == (0, "2 sessions: everything agrees\n")
    assert json.loads(invoke("verify", "--json", env=env).stdout) == {
        "sessions": 2,
        "disagreements": [],
        "left": 0,
        "accounts": [],
    }


def lose_message(env: dict[str, str], where: str) -> None:
    """Take the message with the index 1 out of segments."""
    connection = sqlite3.connect(home(env) / "turnlog.db")
    query = f"SELECT source, number, packed FROM segment_data WHERE {where}"
    for *place, data in connection.execute(query).fetchall():
        segment = unpack_segment(data)
        messages = [each for each in segment.messages if each.index != 1]
        packed = pack_segment(segment.lines, messages, segment.calls, segment.events, segment.sightings)
        connection.execute(
            "UPDATE segment_data SET packed = ? WHERE source = ? AND number = ?", (packed, *place)
        )
    connection.commit()
    connection.close()


def test_what_disagrees_is_listed_and_mended(env: dict[str, str]) -> None:
    lose_message(env, "true")
    tamper(env, "UPDATE sessions SET output_tokens = 12345678 WHERE output_tokens > 0")
    found = json.loads(invoke("verify", "--json", env=env).stdout)
    messages = {each["message"] for each in found["disagreements"]}
    assert {"row 1 is missing", "row 0 differs in output_tokens"} <= messages
    assert found["left"] == len(found["disagreements"])
    ran = invoke("verify", env=env)
    assert ran.exit_code == 1
    assert ": rows: message: row 1 is missing\n" in ran.stdout
    repaired = invoke("verify", "--repair", env=env)
    assert repaired.exit_code == 0
    assert "repaired: " in repaired.stdout
    assert invoke("verify", env=env).exit_code == 0


def test_one_session_is_verified_alone(env: dict[str, str]) -> None:
    of_session = "session = (SELECT id FROM sessions WHERE CAST(title AS TEXT) LIKE 'About%')"
    lose_message(env, f"source IN (SELECT id FROM sources WHERE {of_session})")
    assert invoke("verify", ID[:13], env=env).exit_code == 1
    other = next(path.stem for path in (Path(env["CLAUDE_CONFIG_DIR"])).rglob("0b5c*.jsonl") if path.stem != ID)
    assert invoke("verify", other, env=env).exit_code == 0


def test_a_damaged_archive_is_told_and_not_a_crash(env: dict[str, str]) -> None:
    connection = sqlite3.connect(home(env) / "turnlog.db")
    [(page,)] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'segment_data'").fetchall()
    connection.close()
    with (home(env) / "turnlog.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(64))
    ran = run_here("verify", env=env)
    assert ran.returncode == 1
    assert b"the store: store: " in ran.stdout
    assert b"Traceback" not in ran.stderr


def test_a_session_is_forgotten_for_good(env: dict[str, str]) -> None:
    assert find_needle(env)
    ran = invoke("forget", ID, "--yes", env=env)
    assert ran.exit_code == 0, ran.output
    assert f"About {NEEDLE}" in ran.stdout
    assert "1 session, 1 file, " in ran.stdout
    assert "1 of these files still exist outside" in ran.stdout
    assert ran.stdout.endswith("forgotten\n")
    assert find_needle(env) == []
    again = json.loads(invoke("sync", "--json", env=env).stdout)
    assert (again["added"], again["sessions"]) == (0, 1)
    moved = Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-home-ada-coffee"
    moved.mkdir()
    next(Path(env["CLAUDE_CONFIG_DIR"]).rglob(f"{ID}.jsonl")).rename(moved / f"{ID}.jsonl")
    assert json.loads(invoke("sync", "--json", env=env).stdout)["added"] == 0
    assert find_needle(env) == []
    assert invoke("verify", env=env).exit_code == 0
    undone = invoke("forget", "--undo", ID[:13], env=env)
    assert (undone.exit_code, undone.stdout) == (0, f"{ID}: the next sync can archive it again\n")
    assert json.loads(invoke("sync", "--json", env=env).stdout)["added"] == 1


@pytest.mark.parametrize("text", ["n\n", "", "\n"])
def test_without_a_yes_nothing_is_forgotten(env: dict[str, str], text: str) -> None:
    before = list_ids(env)
    ran = answer(text, "forget", ID, env=env)
    assert ran.exit_code == 1
    assert "nothing was changed" in ran.stderr
    assert list_ids(env) == before


def test_with_a_yes_it_is(env: dict[str, str]) -> None:
    assert answer("y\n", "forget", ID, env=env).exit_code == 0
    assert list_ids(env) == 1


def test_a_dry_run_changes_nothing(env: dict[str, str]) -> None:
    document = json.loads(invoke("forget", ID, "--dry-run", "--json", env=env).stdout)
    assert [each["title"] for each in document["sessions"]] == [f"About {NEEDLE}"]
    assert (document["done"], document["scrubbed"]) == (False, False)
    assert list_ids(env) == 2


def test_backups_that_hold_what_was_forgotten_are_named(env: dict[str, str], tmp_path: Path) -> None:
    kept, gone = tmp_path / "kept.db", tmp_path / "gone.db"
    for path in (kept, gone):
        assert invoke("backup", path, env=env).exit_code == 0
    gone.unlink()
    document = json.loads(invoke("forget", ID, "--yes", "--json", env=env).stdout)
    assert (document["backups"], document["unknown_backups"]) == ([str(kept)], [str(gone)])
    later = tmp_path / "later.db"
    invoke("backup", later, env=env)
    assert NEEDLE.encode() not in later.read_bytes()


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (("--older-than", "0"), 0),
        (("--older-than", "36500"), 2),
        (("--project", f"/home/ada/{NEEDLE}"), 1),
        (("--project", "/home/ada"), 0),
        (("--project", "/home/ad"), 2),
        (("--only-here",), 2),
        (("--project", "/home/ada", "--older-than", "36500"), 2),
    ],
)
def test_sessions_of_a_kind_are_pruned(env: dict[str, str], args: tuple[str, ...], left: int) -> None:
    ran = invoke("prune", *args, "--yes", env=env)
    assert ran.exit_code == (1 if left == 2 else 0)
    assert list_ids(env) == left


def test_what_is_only_here_is_pruned(env: dict[str, str]) -> None:
    next(Path(env["CLAUDE_CONFIG_DIR"]).rglob(f"{ID}.jsonl")).unlink()
    invoke("sync", env=env)
    assert invoke("prune", "--only-here", "--yes", env=env).exit_code == 0
    assert list_ids(env) == 1


def test_a_backup_is_restored(env: dict[str, str], tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    assert json.loads(invoke("backup", backup, "--json", env=env).stdout) == {
        "path": str(backup),
        "bytes": backup.stat().st_size,
        "accounts": None,
    }
    assert invoke("backup", backup, env=env).exit_code == 2
    assert invoke("backup", backup, "--force", env=env).exit_code == 0
    shutil.rmtree(Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-home-ada-tea")
    (home(env) / "turnlog.db").unlink()
    restored = json.loads(invoke("restore", "--from", backup, "--json", env=env).stdout)
    assert (restored["kept"], restored["done"]) == (None, True)
    assert list_ids(env) == 2
    assert answer("n\n", "restore", "--from", backup, env=env).exit_code == 1
    assert invoke("restore", "--from", backup, "--dry-run", env=env).exit_code == 0
    again = invoke("restore", "--from", backup, "--yes", env=env)
    assert again.exit_code == 0
    [kept] = home(env).glob("turnlog.db.before-restore-*")
    assert f"the previous archive is kept: {kept}\n" in again.stdout
    assert invoke("verify", env=env).exit_code == 0


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (("forget",), 2, "name the sessions to forget"),
        (("forget", "ffff"), 1, "no archived session begins with ffff"),
        (("forget", "--undo", "ffff"), 1, "no forgotten session begins with ffff"),
        (("forget", "0b5c"), 2, "2 sessions begin with 0b5c"),
        (("forget", ID, "--json"), 2, "use --yes"),
        (("prune",), 2, "say which sessions"),
        (("prune", "--older-than", "36500"), 1, "no archived session matches"),
        (("restore",), 2, "name one session, or a backup"),
        (("restore", "--from", "/no/such/file"), 2, "/no/such/file: No such file or directory"),
        (("verify", "ffff"), 1, "no archived session begins with ffff"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    env: dict[str, str], args: tuple[str, ...], status: int, message: str
) -> None:
    ran = run_here(*args, env=env)
    assert ran.returncode == status
    assert message in ran.stderr.decode()
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.parametrize("args", [("verify",), ("forget", "a"), ("prune", "--only-here"), ("backup", "b")])
def test_without_an_archive_there_is_nothing_to_care_for(tmp_path: Path, args: tuple[str, ...]) -> None:
    ran = invoke(*args, env={"TURNLOG_HOME": str(tmp_path / "home")})
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert "nothing is archived yet" in ran.stderr
    assert not (tmp_path / "home").exists()


def test_scrubbing_again_is_done_at_any_time(env: dict[str, str]) -> None:
    assert invoke("forget", "--scrub", env=env).exit_code == 0


def doctor(env: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Return what the doctor says, by subject."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in json.loads(invoke("doctor", "--json", env=env).stdout):
        found.setdefault(each["subject"], []).append((each["state"], each["message"]))
    return found


def list_states(env: dict[str, str], subject: str) -> list[str]:
    return [state for state, _ in doctor(env)[subject]]


def test_the_doctor_finds_nothing_wrong_with_a_sound_machine(env: dict[str, str]) -> None:
    ran = invoke("doctor", env=env)
    assert ran.exit_code == 0, ran.output
    assert "fail" not in {line.split()[0] for line in ran.stdout.splitlines()}
    found = doctor(env)
    for subject in ("version", "config", "home", "store", "Claude Code", "writer"):
        assert {state for state, _ in found[subject]} == {"ok"}, subject
    assert found["clean-up"][0] == (
        "ok",
        "sessions are deleted after 30 days (unless a settings file says otherwise)",
    )


def test_the_doctor_looks_without_writing(tmp_path: Path) -> None:
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "none")}
    found = doctor(env)
    assert {found[subject][0][0] for subject in ("home", "store", "Claude Code")} == {"warn"}
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_tells_a_wrong_setting_and_goes_on(env: dict[str, str]) -> None:
    (home(env) / "config.toml").write_text("[sink]\n")
    ran = invoke("doctor", env=env)
    assert ran.exit_code == 1
    assert "fail  config: " in ran.stdout
    assert list_states(env, "store") == ["ok", "ok"]


def test_the_doctor_tells_what_is_open_to_others(env: dict[str, str]) -> None:
    home(env).chmod(0o755)
    (home(env) / "turnlog.db").chmod(0o644)
    assert list_states(env, "home") == ["warn"]
    assert list_states(env, "store") == ["warn", "ok"]


@pytest.mark.parametrize("state", ["newer", "damaged", "no database"])
def test_the_doctor_tells_a_store_that_cannot_be_used(env: dict[str, str], state: str) -> None:
    place = home(env) / "turnlog.db"
    if state == "newer":
        tamper(env, "INSERT INTO migrations (name, applied_ns) VALUES ('add_wonders', 1)")
    elif state == "damaged":
        with place.open("r+b") as file:
            file.seek(8192 * 20)
            file.write(bytes(8192 * 5))
    else:
        place.write_bytes(b"hello" * 1000)
    assert "fail" in list_states(env, "store")
    assert run_here("doctor", env=env).returncode == 1


def test_the_doctor_tells_the_last_backup(env: dict[str, str], tmp_path: Path) -> None:
    assert "backup" not in doctor(env)
    invoke("backup", tmp_path / "b.db", env=env)
    assert list_states(env, "backup") == ["ok"]
    (tmp_path / "b.db").unlink()
    assert list_states(env, "backup") == ["warn"]


def test_the_doctor_tells_what_is_about_to_be_lost(env: dict[str, str]) -> None:
    (Path(env["CLAUDE_CONFIG_DIR"]) / "settings.json").write_text('{"cleanupPeriodDays": 1}')
    write_session(Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-home-ada-tea" / "new.jsonl", "tea")
    assert list_states(env, "clean-up") == ["ok", "warn"]
