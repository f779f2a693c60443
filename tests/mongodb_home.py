"""An archive beside a MongoDB database: files that grow, and turnlog, which may be killed at work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from command_line import environment, run_here

KILLS = int(os.environ.get("TURNLOG_KILLS", "6"))
"""How often each command is killed."""
_KILLER = Path(__file__).with_name("killed_turnlog.py")


class Home:
    """An archive, and files that it is synced with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"TURNLOG_HOME": str(folder / "turnlog"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
        self.project = folder / "claude" / "projects" / "-tea"
        self.project.mkdir(parents=True)

    def run(self, *args: str | Path, status: int = 0, env: dict[str, str] | None = None) -> str:
        done = run_here(*args, env={**self.env, **(env or {})})
        told = (done.stdout + done.stderr).decode()
        assert done.returncode == status, told
        return told

    def write(self, name: str, lines: list[dict[str, Any]]) -> None:
        with (self.project / f"{name}.jsonl").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def sync(self) -> None:
        self.run("sync")

    def kill(self, at: int, delay: int, *args: str) -> bool:
        """Run turnlog until it is killed; return whether it was."""
        command = [sys.executable, str(_KILLER), str(at), str(delay), *args]
        done = subprocess.run(command, env=environment(self.env), capture_output=True, timeout=60, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
        return done.returncode != 0


def talk(session: str, turns: int, first: int = 0, text: str = "Tea") -> list[dict[str, Any]]:
    """Return prompts, each answered with a call and its result, as Claude Code writes them."""
    found: list[dict[str, Any]] = []
    for turn in range(first, first + turns):
        call = {"type": "tool_use", "id": f"toolu_{session}_{turn}", "name": "Bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"out {turn}"}
        answer = {
            "role": "assistant",
            "id": f"msg_{session}_{turn}",
            "model": "claude-opus-4-1",
            "content": [call],
        }
        above = f"{session}-r{turn - 1}" if turn else None
        for kind, name, parent, message in (
            ("user", "u", above, {"role": "user", "content": f"{text} {turn}"}),
            ("assistant", "a", f"{session}-u{turn}", answer),
            ("user", "r", f"{session}-a{turn}", {"role": "user", "content": [result]}),
        ):
            time = f"2026-03-05T{turn // 3600:02d}:{turn // 60 % 60:02d}:{turn % 60:02d}.000Z"
            said = {"type": kind, "uuid": f"{session}-{name}{turn}", "parentUuid": parent, "timestamp": time}
            found.append(
                {**said, "sessionId": session, "cwd": "/tea", "isSidechain": False, "message": message}
            )
    return found


def fetch(address: str, collection: str = "messages") -> dict[Any, dict[str, Any]]:
    """Return all documents by their ids; an id that stands twice is an error."""
    with MongoClient[Any](address) as client:
        found = [*client.get_default_database()[collection].find()]
    by_id = {each["_id"]: each for each in found}
    assert len(by_id) == len(found)
    return by_id
