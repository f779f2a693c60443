"""Recordings of the real program: made once for a run of the tests, and read by turnlog.

The Agent SDK carries the program. It is started in a network namespace that has only a loopback device, which
takes root, or a system that lets anyone make namespaces; `find_obstacle` says what is missing elsewhere.
Several test processes may ask for a recording: the first makes it, the others wait.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from real_program.scenarios import SCENARIOS
from real_program.script import Scenario
from real_program.stand_in_api import Served
from turnlog import Line, Session, decode, read
from turnlog.messages.sdk.messages import ResultMessage
from turnlog.transcripts import (
    Call,
    SessionFiles,
    SessionUsage,
    Tokens,
    UsageFold,
    build_calls,
    find_reported_cost,
    locate_path,
    read_lines,
)

_TESTS = Path(__file__).parents[1]
_SECONDS = 90


class Recording:
    """What the program wrote while it played a scenario."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self.folder = folder

    @cached_property
    def sessions(self) -> tuple[SessionFiles, ...]:
        """The sessions on disk, the scenario's own first."""
        found = locate_path(self.folder / "config").sessions
        return tuple(sorted(found, key=lambda each: each.session_id != self.scenario.session_id))

    @property
    def session(self) -> SessionFiles:
        return self.sessions[0]

    @property
    def path(self) -> Path:
        """The session's transcript."""
        assert self.session.path is not None
        return self.session.path

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The session's transcript."""
        return tuple(read_lines(self.path))

    @cached_property
    def whole(self) -> Session:
        """The session as turnlog reads it."""
        return read(self.path)

    @cached_property
    def files(self) -> dict[Path, tuple[Line, ...]]:
        """All transcripts, of all sessions and agents."""
        paths = [
            path
            for session in self.sessions
            for path in (session.path, *(each.path for each in session.agents))
        ]
        return {path: tuple(read_lines(path)) for path in paths if path is not None}

    @cached_property
    def streams(self) -> tuple[tuple[Line, ...], ...]:
        """What each run of the program gave out."""
        paths = sorted(self.folder.glob("stream-*.jsonl"))
        return tuple(tuple(map(decode, path.read_bytes().splitlines())) for path in paths)

    @cached_property
    def hooks(self) -> tuple[Line, ...]:
        """What hooks were told, in no order."""
        return tuple(decode(path.read_bytes().strip()) for path in sorted((self.folder / "hooks").iterdir()))

    @cached_property
    def ledger(self) -> tuple[Served, ...]:
        """What the stand-in for the model's API served."""
        rows: list[dict[str, Any]] = json.loads((self.folder / "ledger.json").read_text())
        return tuple(Served(**row) for row in rows)

    @cached_property
    def calls(self) -> dict[str, Call]:
        """The calls of the session and of its agents, by their ids."""
        found = [build_calls(lines).calls for lines in self.files.values()]
        return {str(each.id): each for calls in reversed(found) for each in calls}

    @cached_property
    def usage(self) -> UsageFold:
        """What all sessions used together."""
        return UsageFold(line for lines in self.files.values() for line in lines)

    @property
    def session_usage(self) -> SessionUsage:
        session_id = self.scenario.session_id
        return next(each for each in self.usage.list_sessions() if each.session == session_id)

    @property
    def reported_cost(self) -> Decimal:
        """What the program says on disk that the session cost."""
        state = self.session_usage.cost_state
        cost = None if state is None else find_reported_cost(state)
        assert cost is not None
        return cost

    @property
    def results(self) -> list[ResultMessage]:
        """The ends of turns that the streams tell of."""
        entries = [line.entry for stream in self.streams for line in stream]
        return [entry for entry in entries if isinstance(entry, ResultMessage)]

    def find_served(self, *cues: str) -> list[Served]:
        """Return the answers to some cues that were served to their ends."""
        return [each for each in self.ledger if each.cue in cues and each.finished]


def tokens_of(served: Served) -> Tokens:
    """Return what an answer used, as turnlog counts it."""
    usage: dict[str, Any] = dict(served.usage)
    return Tokens(
        input=usage["input_tokens"],
        output=usage["output_tokens"],
        cache_read=usage["cache_read_input_tokens"],
        cache_write_5m=usage["cache_creation"]["ephemeral_5m_input_tokens"],
        cache_write_1h=usage["cache_creation"]["ephemeral_1h_input_tokens"],
        web_searches=usage["server_tool_use"]["web_search_requests"],
    )


@cache
def find_obstacle() -> str | None:
    """Return why nothing can be recorded here; None if it can."""
    if not sys.platform.startswith("linux"):
        return "network namespaces need Linux"
    if _find_program() is None:
        return "the installed claude-agent-sdk carries no program"
    if shutil.which("unshare") is None:
        return "unshare (util-linux) is not installed"
    tried = subprocess.run([*_unshare(), "true"], capture_output=True, text=True, check=False)
    return f"no network namespace can be made: {tried.stderr.strip()}" if tried.returncode else None


def make_recording(name: str, root: Path) -> Recording:
    """Return a scenario's recording, and make it if no other process does."""
    folder = make_once(root / name, lambda folder: _record(name, folder))
    return Recording(SCENARIOS[name], folder)


def make_once(folder: Path, make: Callable[[Path], None], seconds: float = _SECONDS) -> Path:
    """Fill a new folder, or wait until another process has done so; return it."""
    done, failed = folder.with_name(f"{folder.name}.done"), folder.with_name(f"{folder.name}.failed")
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        _wait_for(done, failed, seconds)
        return folder
    try:
        make(folder)
        done.touch()
    except BaseException as error:
        failed.write_text(str(error))
        raise
    return folder


def _wait_for(done: Path, failed: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not done.exists():
        if failed.exists() or time.monotonic() > deadline:
            reason = failed.read_text() if failed.exists() else "it takes too long"
            raise RuntimeError(f"another process could not record: {reason}")
        time.sleep(0.05)


def _record(name: str, folder: Path) -> None:
    run_apart("real_program.launcher", name, folder, seconds=_SECONDS)


def run_apart(module: str, *args: str | Path, seconds: float) -> None:
    """Run a module in a network namespace of its own; the last of `args` is the folder that it fills."""
    folder = Path(args[-1])
    run = subprocess.run(
        [*_unshare(), sys.executable, "-m", module, *map(str, args), str(_find_program())],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    if run.returncode:
        raise RuntimeError(f"{module} failed in {folder}:\n{run.stderr}\n{_list_errors(folder)}")


def _list_errors(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in sorted(folder.glob("errors-*.txt")))


def _unshare() -> list[str]:
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]


def _find_program() -> Path | None:
    spec = find_spec("claude_agent_sdk")
    places = (spec and spec.submodule_search_locations) or ()
    found = (Path(place) / "_bundled" / "claude" for place in places)
    return next((path for path in found if os.access(path, os.X_OK)), None)
