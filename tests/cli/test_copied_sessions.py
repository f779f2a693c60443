"""A session that began as a copy of another says so."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import invoke

FIRST, FORK = "0000000a-0000-4000-8000-00000000000a", "0000000b-0000-4000-8000-00000000000b"


def write(folder: Path, name: str, **more: object) -> None:
    with (folder / f"{name}.jsonl").open("w") as file:
        for number in range(3):
            line = {"type": "user", "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
            line |= {"sessionId": name, "timestamp": "2026-05-01T10:00:00Z"}
            said = {"message": {"role": "user", "content": "Which tea?"}, **more}
            file.write(json.dumps({**line, **said}) + "\n")


def test_a_fork_names_its_original(tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "-tea"
    folder.mkdir(parents=True)
    write(folder, FORK, forkedFrom={"sessionId": FIRST, "messageUuid": "u2"})
    write(folder, FIRST)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TURNLOG_HOME": str(tmp_path / "home")}
    assert invoke("sync", env=env).exit_code == 0
    assert f"started as a copy of session {FIRST}" in invoke("show", FORK, env=env).stdout
    assert "copy of" not in invoke("show", FIRST, env=env).stdout
    items = {item["id"]: item for item in json.loads(invoke("sessions", "--json", env=env).stdout)["sessions"]}
    assert items[FORK]["copied_from"] == items[FIRST]["key"]
    assert items[FIRST]["copied_from"] is None
