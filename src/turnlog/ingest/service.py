"""Keeping `turnlog sync --watch` running: what every system's way of doing it has in common.

A service is one file that tells the system what to run. It carries a mark, and a file without it is never
touched. The system's own program then starts it; where that is missing or refuses, what to run is told instead.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from turnlog.errors import ServiceError

MARK = "Written by `turnlog service install`; `turnlog service uninstall` removes it."
_SECONDS = 30


class Job(Struct, frozen=True, kw_only=True):
    """What is to be kept running."""

    command: tuple[str, ...]
    """The first is the absolute path of a program."""
    environment: Mapping[str, str]
    log: Path
    """Where it writes to, on systems that keep no journal."""
    purpose: str = "archive what Claude Code writes"


class StepTaken(Struct, frozen=True, gc=False):
    """A command that was run to make the system follow the file; `status` is None if it could not be."""

    command: tuple[str, ...]
    status: int | None
    output: str = ""


class Installed(StrEnum):
    """What became of the file."""

    NEW = "installed"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    MISSING = "not installed"


class ServiceStatus(Struct, frozen=True, gc=False, kw_only=True):
    """How a service is doing."""

    path: str
    installed: bool
    ours: bool
    """Whether the file is one that turnlog wrote."""
    running: bool | None
    """None if the system does not say."""
    state: str = ""
    """In the system's own words."""
    last_words: tuple[str, ...] = ()


class Service(ABC):
    """A way to keep a job running, and the file that it takes."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self.path = path
        self._environment = environment

    @abstractmethod
    def render(self, job: Job) -> str:
        """Return the file; raises `ServiceError` for names that it cannot hold."""

    @abstractmethod
    def list_starts(self, outcome: Installed) -> list[tuple[str, ...]]:
        """Return the commands that start the service, given what became of the file."""

    @abstractmethod
    def list_stops(self) -> list[tuple[str, ...]]:
        """Return the commands that stop it for good."""

    @abstractmethod
    def ask(self) -> ServiceStatus:
        """Return how it is doing."""

    def install(self, job: Job) -> tuple[Installed, list[StepTaken]]:
        """Write the file and start the service; what is there already stays as it is.

        Raises `ServiceError` if there is a file that turnlog did not write.
        """
        text, found = self.render(job), self.read()
        if found is None:
            outcome = Installed.NEW
        else:
            self._require_own(found)
            outcome = Installed.UNCHANGED if found == text else Installed.CHANGED
        if outcome is not Installed.UNCHANGED:
            _write(self.path, text)
        return outcome, self._take(self.list_starts(outcome))

    def uninstall(self) -> tuple[Installed, list[StepTaken]]:
        """Stop the service and remove its file; raises `ServiceError` for one that turnlog did not write."""
        found = self.read()
        if found is None:
            return Installed.MISSING, []
        self._require_own(found)
        before, *after = self.list_stops()
        steps = self._take([before])
        self.path.unlink()
        return Installed.REMOVED, [*steps, *self._take(after)]

    def read(self) -> str | None:
        """Return the file as it is; None if there is none."""
        try:
            return self.path.read_text("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None

    def _require_own(self, text: str) -> None:
        if MARK not in text:
            raise ServiceError("not written by turnlog, and left as it is", os.fspath(self.path))

    def _take(self, commands: Sequence[tuple[str, ...]]) -> list[StepTaken]:
        """Run commands up to the first that fails; the rest are told as not having been run."""
        steps: list[StepTaken] = []
        for command in commands:
            if any(step.status != 0 for step in steps):
                steps.append(StepTaken(command, None))
            else:
                steps.append(run_tool(command, self._environment))
        return steps


def run_tool(command: tuple[str, ...], environment: Mapping[str, str]) -> StepTaken:
    """Run a program of the system; that it is missing, fails or hangs is told, not raised."""
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return StepTaken(command, None, f"{command[0]}: no such program")
    except (OSError, subprocess.TimeoutExpired) as error:
        return StepTaken(command, None, str(error))
    return StepTaken(command, ran.returncode, (ran.stdout + ran.stderr).strip())


def _write(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
