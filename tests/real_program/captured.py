"""Runs the program through all that captures it: the Agent SDK's session store, a pipe, and `turnlog run`.

It must be started in a network namespace of its own, as the launcher. What it leaves besides what the launcher
leaves: `turnlog/` (the archive), and `told.json`, which has what was seen on the way.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import anyio
from claude_agent_sdk import ClaudeAgentOptions, query

from conversing import open_terminal
from real_program.launcher import (
    bring_loopback_up,
    end_leftovers,
    hook_settings,
    network_of,
    program_environment,
)
from real_program.replies import FILES, READ_BOTH, SEND_AGENT
from real_program.stand_in_api import Reply, StandIn, call, text
from turnlog.config import Settings
from turnlog.integrations.agent_sdk import TurnlogSessionStore

_IDS = UUID("7b5f3d62-6a0c-4c55-9d0e-0d6a3c6f9d11")
MIRRORED, PIPED, ASKED, UNATTENDED = (
    str(uuid5(_IDS, name)) for name in ("mirrored", "piped", "asked", "unattended")
)
_TURNLOG = (sys.executable, "-m", "turnlog")
_MODEL = "claude-opus-5-5"
_REPLIES = (
    Reply("", (text("Yes."),)),  # to the program, which tries a model before it takes it
    *READ_BOTH,
    *SEND_AGENT,
    Reply("Make a file.", (call("toolu_make", "Bash", command="echo made > made.txt", description="Make it"),)),
    Reply("toolu_make", (text("That was that."),)),
)


def main(folder: Path, program: str) -> None:
    """Run all of it in an empty folder."""
    if network_of(os.getpid()) == network_of(os.getppid()):
        raise RuntimeError("expected a network namespace of its own")
    bring_loopback_up()
    for part in ("project", "config", "home", "tmp", "hooks"):
        (folder / part).mkdir()
    for file, content in FILES.items():
        (folder / "project" / file).write_bytes(content)
    try:
        with StandIn(_REPLIES) as stand_in:
            _Capturing(folder, program, stand_in.url).run()
    finally:
        end_leftovers()


class _Capturing:
    def __init__(self, folder: Path, program: str, url: str) -> None:
        self._folder = folder
        self._program = program
        self._project = folder / "project"
        self._env = {
            **program_environment(folder, url),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "TURNLOG_HOME": str(folder / "turnlog"),
            "TERM": "xterm",
        }

    def run(self) -> None:
        told: dict[str, Any] = {"mirrored": anyio.run(self._mirror)}
        told["piped"] = self._pipe()
        told["unattended"] = self._run_unattended()
        told["asked"] = self._run_asked()
        (self._folder / "told.json").write_text(json.dumps(told))

    async def _mirror(self) -> list[list[str]]:
        """Have a session, lose all files of Claude Code's own, and resume it from the archive."""
        store = TurnlogSessionStore(settings=Settings.from_env(self._env))
        first = await self._ask(store, "Read both files.", extra_args={"session-id": MIRRORED})
        shutil.rmtree(self._folder / "config" / "projects")
        second = await self._ask(store, "Send an agent.", resume=MIRRORED)
        return [first, second]

    async def _ask(self, store: TurnlogSessionStore, prompt: str, **more: Any) -> list[str]:
        options = ClaudeAgentOptions(
            session_store=store,
            cli_path=self._program,
            cwd=self._project,
            env=self._env,
            model=_MODEL,
            allowed_tools=["Bash", "Read", "Agent"],
            **more,
        )
        return [type(message).__name__ async for message in query(prompt=prompt, options=options)]

    def _pipe(self) -> Mapping[str, object]:
        command = [
            *(self._program, "--print", "Read both files.", "--output-format", "stream-json", "--verbose"),
            *("--include-partial-messages", "--model", _MODEL, "--allowedTools", "Bash,Read"),
            *("--session-id", PIPED, "--settings", json.dumps(hook_settings(self._folder))),
        ]
        with subprocess.Popen(
            command, cwd=self._project, env=self._env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as writing:
            kept = subprocess.run(
                [*_TURNLOG, "ingest", "-", "--tee"],
                cwd=self._project,
                env=self._env,
                stdin=writing.stdout,
                capture_output=True,
                check=True,
            )
        (self._folder / "stream-0.jsonl").write_bytes(kept.stdout)
        return {"status": writing.returncode, "said": kept.stderr.decode()}

    def _wrap(self, *args: str) -> list[str]:
        session = ("--model", _MODEL, "--session-id")
        return [*_TURNLOG, "run", "--no-color", *args[:-1], "--", self._program, *session, args[-1]]

    def _run_unattended(self) -> Mapping[str, object]:
        done = subprocess.run(
            self._wrap("-p", "Make a file.", UNATTENDED),
            cwd=self._project,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        made = (self._project / "made.txt").exists()
        return {
            "status": done.returncode,
            "out": done.stdout.decode(),
            "err": done.stderr.decode(),
            "made": made,
        }

    def _run_asked(self) -> Mapping[str, object]:
        with open_terminal(self._wrap(ASKED), self._env, self._project) as shown:
            shown.expect("> ")
            shown.type("/model claude-haiku-4-5\n")
            shown.expect("model: claude-haiku-4-5")
            shown.type("/mode acceptEdits\n")
            shown.expect("mode: acceptEdits")
            shown.type("/mode default\n")
            shown.expect("mode: default")
            shown.type("Make a file.\n")
            shown.expect("Allow? ")
            shown.type("y\n")
            shown.expect("That was that.")
            shown.expect("> ")
            shown.type("\x04")
            status = shown.end()
            return {"status": status, "out": shown.text, "made": (self._project / "made.txt").exists()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
