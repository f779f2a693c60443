"""Runs the program with turnlog's hooks, which turnlog's own command installed, and a real server of turnlog.

It must be started in a network namespace of its own, as the launcher. The program runs three times: while the
server runs, while none does, and while somebody listens in its place who never answers. Then the server is
started again, and has all there is. The launcher's own hooks write down what they are told, to compare with.

What it leaves besides what the launcher leaves: `turnlog/` (the archive), `told.json` (what the server said),
and `settings.json` (Claude Code's settings, as they were installed).
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from real_program.launcher import Performance, bring_loopback_up, end_leftovers, network_of
from real_program.replies import FILES, READ_BOTH, SEND_AGENT
from real_program.script import Run, Say, Scenario
from real_program.stand_in_api import Reply, StandIn, call, text

_SECONDS = 300
_TURNLOG = (sys.executable, "-m", "turnlog")
_WORK = (
    Say("Read both files."),
    Say("Run what fails."),
)
_REPLIES = (
    *READ_BOTH,
    Reply("Run what fails.", (call("toolu_fails", "Bash", command="echo oh no >&2; exit 3"),)),
    Reply("toolu_fails", (text("It failed."),)),
    *SEND_AGENT,
)

UP = Scenario("hooks while the server runs", (Run((*_WORK, Say("Send an agent."))),), _REPLIES, FILES)
DOWN = Scenario("hooks while no server runs", (Run(_WORK),), _REPLIES, FILES)
HANGING = Scenario("hooks while a server never answers", (Run(_WORK),), _REPLIES, FILES)


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
        _run_all(_Hooked(folder, program))
    finally:
        end_leftovers()


def _run_all(hooked: _Hooked) -> None:
    hooked.turnlog("hooks", "install")
    (hooked.folder / "settings.json").write_bytes((hooked.folder / "config" / "settings.json").read_bytes())
    with StandIn(_REPLIES) as stand_in:
        with hooked.serving() as server:
            hooked.play(UP, 0, stand_in.url)
            told: dict[str, Any] = {"received": server.count_received()}
        hooked.play(DOWN, 1, stand_in.url)
        told["spooled"] = hooked.count_spooled()
        with hooked.hanging():
            hooked.play(HANGING, 2, stand_in.url)
    with hooked.serving() as server:
        hooked.await_taken()
        told["events"] = {name.session_id: server.list_events(name.session_id) for name in (UP, DOWN, HANGING)}
    hooked.turnlog("sync")
    with hooked.serving() as server:
        told["timelines"] = {
            name.session_id: server.list_timeline(name.session_id) for name in (UP, DOWN, HANGING)
        }
    (hooked.folder / "told.json").write_text(json.dumps(told))


class _Server:
    def __init__(self, told: dict[str, Any]) -> None:
        self._url = urlsplit(told["url"])
        self._token = Path(told["token_file"]).read_text().strip()

    def ask(self, path: str) -> bytes:
        with closing(http.client.HTTPConnection(self._url.hostname or "", self._url.port)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            return body

    def count_received(self) -> float:
        lines = self.ask("/metrics").decode().splitlines()
        [line] = [line for line in lines if line.startswith('turnlog_hooks_received_total{kept="archive"}')]
        return float(line.split()[-1])

    def list_events(self, session_id: str) -> Any:
        return json.loads(self.ask(f"/api/sessions/{session_id}/hook-events"))

    def list_timeline(self, session_id: str) -> Any:
        return json.loads(self.ask(f"/api/sessions/{session_id}/timeline?limit=200"))["items"]


class _Hooked:
    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self._program = program
        self._home = folder / "turnlog"
        self._deadline = time.monotonic() + _SECONDS
        self._env = {
            **os.environ,
            "TURNLOG_HOME": os.fspath(self._home),
            "CLAUDE_CONFIG_DIR": os.fspath(folder / "config"),
        }

    def turnlog(self, *args: str) -> None:
        subprocess.run([*_TURNLOG, *args], env=self._env, check=True, stdout=subprocess.DEVNULL)

    def play(self, scenario: Scenario, number: int, url: str) -> None:
        [run] = scenario.runs
        Performance(scenario, run, number, self.folder, self._program, url, self._deadline).perform()

    @contextmanager
    def serving(self) -> Iterator[_Server]:
        process = subprocess.Popen(
            [*_TURNLOG, "serve", "--no-browser", "--json", "--port", "0"],
            env=self._env,
            stdout=subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            yield _Server(json.loads(process.stdout.readline()))
        finally:
            process.terminate()
            process.communicate()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Have somebody in the server's place who takes every connection and says nothing."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(128)
            port = listening.getsockname()[1]
            note = self._home / "server.json"
            note.write_text(f'{{"pid":{os.getpid()},"url":"http://127.0.0.1:{port}"}}')
            try:
                yield
            finally:
                note.unlink()

    def count_spooled(self) -> int:
        return len(list((self._home / "spool").glob("*.json")))

    def await_taken(self) -> None:
        while self.count_spooled():
            if time.monotonic() > self._deadline:
                raise TimeoutError("waited too long for the spool to be archived")
            time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
