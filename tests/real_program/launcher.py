"""Records one scenario. It must be started in a network namespace of its own, by `unshare --net`.

It brings the loopback device up, starts the stand-in for the model's API, and then the program as often as the
scenario says, with an environment made from nothing. All there is of a network is this loopback device, and
whatever is still running in the namespace at the end was started here, and is ended by its id.

What it leaves in the folder: `project/`, `config/` (the program's `CLAUDE_CONFIG_DIR`), `stream-<run>.jsonl`,
`errors-<run>.txt`, `hooks/<random>.json`, and at last `ledger.json`.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from real_program.scenarios import SCENARIOS
from real_program.script import Interrupt, Run, Say, Scenario, SetModel, Step, Stop, Touch
from real_program.stand_in_api import StandIn

_SECONDS = 60
"""For all of a scenario."""
_TOOLS = "Bash,Read,Edit,Agent"
_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Stop",
    "StopFailure",
    "SessionEnd",
)
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def main(name: str, folder: Path, program: str) -> None:
    """Record a scenario into an empty folder."""
    scenario = SCENARIOS[name]
    if network_of(os.getpid()) == network_of(os.getppid()):
        raise RuntimeError("expected a network namespace of its own")
    bring_loopback_up()
    for part in ("project", "config", "home", "tmp", "hooks"):
        (folder / part).mkdir()
    for file, content in scenario.files.items():
        (folder / "project" / file).write_bytes(content)
    deadline = time.monotonic() + _SECONDS
    try:
        with StandIn(scenario.replies) as stand_in:
            for number, run in enumerate(scenario.runs):
                Performance(scenario, run, number, folder, program, stand_in.url, deadline).perform()
            ledger = stand_in.list_served()
    finally:
        end_leftovers()
    (folder / "ledger.json").write_text(json.dumps(ledger))


def bring_loopback_up() -> None:
    """Do what `ip link set lo up` does, where there may be no `ip`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        now = fcntl.ioctl(probe, _GET_FLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", now)[1]
        fcntl.ioctl(probe, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def end_leftovers() -> None:
    """End what is still running in this network namespace, but for this process."""
    own = os.getpid()
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            if pid != own and network_of(pid) == network_of(own):
                os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it has ended by itself, or is none of ours


def network_of(pid: int) -> str:
    """Return the network namespace that a process is in."""
    return os.readlink(f"/proc/{pid}/ns/net")


class Performance:
    """One run of the program, and the reading of its stream."""

    def __init__(
        self, scenario: Scenario, run: Run, number: int, folder: Path, program: str, url: str, deadline: float
    ) -> None:
        self._run = run
        self._folder = folder
        self._deadline = deadline
        self._requests = 0
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._stream = folder / f"stream-{number}.jsonl"
        with (folder / f"errors-{number}.txt").open("wb") as errors:
            self._process = subprocess.Popen(
                [program, *_options(scenario, run, folder)],
                cwd=folder / "project",
                env=program_environment(folder, url),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def perform(self) -> None:
        """Take all steps, and see the program end; raise if it does anything else, or takes too long."""
        self._reader.start()
        try:
            for step in self._run.steps:
                self._take(step)
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(self._left())
        finally:
            self._process.kill()
            self._process.wait()
        self._reader.join(self._left())

    def _take(self, step: Step) -> None:
        match step:
            case Say(prompt):
                self._prompt(prompt)
                self._await_result()
            case Touch(file):
                (self._folder / "project" / file).touch()
                self._await_result()
            case SetModel(model):
                self._control(subtype="set_model", model=model)
                self._await(lambda line: line["type"] == "control_response", f"an answer for {model}")
            case Interrupt(prompt, sign, file):
                self._prompt(prompt)
                self._await(lambda line: sign in json.dumps(line), sign)
                self._await_file(file)
                self._control(subtype="interrupt")
                self._await_result()
            case Stop(prompt, sign, file, number):
                self._prompt(prompt)
                self._await_file(file)
                self._await_written(sign)
                self._process.send_signal(number)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._stream.open("wb") as stream:
            for line in self._process.stdout:
                stream.write(line)
                self._lines.put(json.loads(line))
        self._lines.put(None)

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _prompt(self, prompt: str) -> None:
        self._send({"type": "user", "message": {"role": "user", "content": prompt}})

    def _control(self, **request: str) -> None:
        self._requests += 1
        self._send({"type": "control_request", "request_id": f"request-{self._requests}", "request": request})

    def _await_result(self) -> None:
        self._await(lambda line: line["type"] == "result", "the end of a turn")

    def _await(self, is_it: Callable[[dict[str, Any]], bool], what: str) -> None:
        while True:
            try:
                line = self._lines.get(timeout=self._left())
            except queue.Empty:
                raise TimeoutError(f"waited too long for {what}") from None
            if line is None:
                raise RuntimeError(f"the program ended before {what}")
            if is_it(line):
                return

    def _await_file(self, file: str | None) -> None:
        if file is not None:
            self._poll((self._folder / "project" / file).exists, file)

    def _await_written(self, sign: str) -> None:
        def is_written() -> bool:
            transcripts = self._folder.glob("config/projects/*/*.jsonl")
            return any(sign.encode() in path.read_bytes() for path in transcripts)

        self._poll(is_written, sign)

    def _poll(self, is_there: Callable[[], bool], what: str) -> None:
        while not is_there():
            if not self._left():
                raise TimeoutError(f"waited too long for {what}")
            time.sleep(0.02)


def _options(scenario: Scenario, run: Run, folder: Path) -> list[str]:
    sessions = {
        "new": ("--session-id", scenario.session_id),
        "resumed": ("--resume", scenario.session_id),
        "forked": ("--resume", scenario.session_id, "--fork-session"),
    }
    settings = hook_settings(folder)
    return [
        *("--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"),
        *("--model", scenario.model, "--allowedTools", _TOOLS, "--settings", json.dumps(settings)),
        *sessions[run.session],
        *run.options,
    ]


def hook_settings(folder: Path) -> dict[str, Any]:
    """Return settings with hooks that write down what they are told, each into a file of its own."""
    hook = {"type": "command", "command": f'cat > "$(mktemp {folder}/hooks/XXXXXXXXXX)"'}
    return {"hooks": {event: [{"hooks": [hook]}] for event in _EVENTS}}


def program_environment(folder: Path, url: str) -> dict[str, str]:
    """Return an environment made from nothing, in which the program finds only what was put into a folder."""
    off = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
    )
    return {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "SHELL": "/bin/bash",
        "TMPDIR": str(folder / "tmp"),
        **dict.fromkeys(off, "1"),
    }


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
