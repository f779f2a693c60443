"""Keeping `turnlog sync --watch` running as a service: of systemd's user instance, or of launchd.

A service is one file that tells the system what to run. It carries a mark, and a file without it is never
touched. The system's own program then starts it; where that is missing or refuses, what to run is shown
instead.
"""

from __future__ import annotations

import os
import plistlib
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from turnlog.atomic_files import write_file
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


class CommandResult(Struct, frozen=True, gc=False):
    """A command that was run to make the system follow the file; `status` is None if it could not be."""

    command: tuple[str, ...]
    status: int | None
    output: str = ""


class InstallOutcome(StrEnum):
    """The result of installing or removing the file."""

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
    last_log_lines: tuple[str, ...] = ()


class Service(ABC):
    """A way to keep a job running, and the file that it takes."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self.path = path
        self._environment = environment

    @abstractmethod
    def render(self, job: Job) -> str:
        """Return the file; raises `ServiceError` for names that it cannot hold."""

    @abstractmethod
    def list_starts(self, outcome: InstallOutcome) -> list[tuple[str, ...]]:
        """Return the commands that start the service, given the result for its file."""

    @abstractmethod
    def list_stops(self) -> list[tuple[str, ...]]:
        """Return the commands that stop it for good."""

    @abstractmethod
    def ask(self) -> ServiceStatus:
        """Return how it is doing."""

    def install(self, job: Job) -> tuple[InstallOutcome, list[CommandResult]]:
        """Write the file and start the service; what is there already stays as it is.

        Raises `ServiceError` if there is a file that turnlog did not write.
        """
        text, found = self.render(job), self.read()
        if found is None:
            outcome = InstallOutcome.NEW
        else:
            self._require_own(found)
            outcome = InstallOutcome.UNCHANGED if found == text else InstallOutcome.CHANGED
        if outcome is not InstallOutcome.UNCHANGED:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_file(self.path, text.encode("utf-8", "surrogateescape"), 0o644)
        return outcome, self._take(self.list_starts(outcome))

    def uninstall(self) -> tuple[InstallOutcome, list[CommandResult]]:
        """Stop the service and remove its file; raises `ServiceError` for one that turnlog did not write."""
        found = self.read()
        if found is None:
            return InstallOutcome.MISSING, []
        self._require_own(found)
        before, *after = self.list_stops()
        steps = self._take([before])
        self.path.unlink()
        return InstallOutcome.REMOVED, [*steps, *self._take(after)]

    def read(self) -> str | None:
        """Return the file as it is; None if there is none."""
        try:
            return self.path.read_text("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None

    def _require_own(self, text: str) -> None:
        if MARK not in text:
            raise ServiceError("not written by turnlog, and left as it is", os.fspath(self.path))

    def _take(self, commands: Sequence[tuple[str, ...]]) -> list[CommandResult]:
        """Run commands up to the first that fails; the rest are reported as not run."""
        steps: list[CommandResult] = []
        for command in commands:
            if any(step.status != 0 for step in steps):
                steps.append(CommandResult(command, None))
            else:
                steps.append(run_tool(command, self._environment))
        return steps


def run_tool(command: tuple[str, ...], environment: Mapping[str, str]) -> CommandResult:
    """Run a program of the system; failures and timeouts are reported, not raised."""
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
        return CommandResult(command, None, f"{command[0]}: no such program")
    except (OSError, subprocess.TimeoutExpired) as error:
        return CommandResult(command, None, str(error))
    return CommandResult(command, ran.returncode, (ran.stdout + ran.stderr).strip())


UNIT = "turnlog.service"
_PUSH_UNIT = "turnlog-push.service"
_FORBIDDEN_IN_UNITS = re.compile("[\0-\x1f\x7f\ud800-\udfff]")
_REFUSED = re.compile(r"""["'\\]""")
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')
_USER = ("systemctl", "--user")
_JOURNAL_LINES = 5


class Systemd(Service):
    """A unit in the folder that systemd reads a person's units from.

    In a unit's file `%` begins a specifier, `$` a variable (in arguments, but not in the program's own path),
    and quotes and backslashes are as in C. A program whose path holds quotes or backslashes is refused however
    it is written, so a shell starts such a one.
    """

    def __init__(self, home: Path, environment: Mapping[str, str], *, pushes: bool = False) -> None:
        """Take the person's own folder; a service that `pushes` is another one than that which archives."""
        self._unit = _PUSH_UNIT if pushes else UNIT
        config = environment.get("XDG_CONFIG_HOME") or home / ".config"
        super().__init__(Path(config) / "systemd" / "user" / self._unit, environment)

    def render(self, job: Job) -> str:
        """Return the unit's file."""
        program, *arguments = job.command if not _REFUSED.search(job.command[0]) else (*_SHELL, *job.command)
        command = [_quote(program), *(_quote(part).replace("$", "$$") for part in arguments)]
        lines = [
            f"# {MARK}",
            "[Unit]",
            f"Description=turnlog: {job.purpose}",
            "",
            "[Service]",
            "Type=exec",
            f"ExecStart={' '.join(command)}",
            *(f"Environment={_quote(f'{name}={value}')}" for name, value in job.environment.items()),
            "Restart=on-failure",
            "RestartSec=10",
            # Said wrongly, or refused until somebody does something about it.
            "RestartPreventExitStatus=2",
            "Nice=10",
            "IOSchedulingClass=idle",
            "UMask=0077",
            "",
            "[Install]",
            "WantedBy=default.target",
        ]
        return "".join(f"{line}\n" for line in lines)

    def list_starts(self, outcome: InstallOutcome) -> list[tuple[str, ...]]:
        """Return the commands that start it; `enable` does nothing to what runs already."""
        start = (*_USER, "enable", "--now", self._unit)
        if outcome is InstallOutcome.UNCHANGED:
            return [start]
        more = [(*_USER, "restart", self._unit)] if outcome is InstallOutcome.CHANGED else []
        return [(*_USER, "daemon-reload"), start, *more]

    def list_stops(self) -> list[tuple[str, ...]]:
        """Return the commands that stop it."""
        return [(*_USER, "disable", "--now", self._unit), (*_USER, "daemon-reload")]

    def ask(self) -> ServiceStatus:
        """Return how it is doing."""
        found = self.read()
        shown = run_tool(
            (*_USER, "show", self._unit, "--property=ActiveState,SubState,Result"), self._environment
        )
        told = dict(line.split("=", 1) for line in shown.output.splitlines() if "=" in line)
        is_told = shown.status == 0 and "ActiveState" in told
        words = [told[name] for name in ("ActiveState", "SubState", "Result") if told.get(name)]
        return ServiceStatus(
            path=str(self.path),
            installed=found is not None,
            ours=found is not None and MARK in found,
            running=told["ActiveState"] == "active" if is_told else None,
            state=", ".join(words) if is_told else shown.output,
            last_log_lines=self._find_last_log_lines() if found is not None else (),
        )

    def _find_last_log_lines(self) -> tuple[str, ...]:
        command = (
            "journalctl",
            "--user",
            "--unit",
            self._unit,
            "--lines",
            str(_JOURNAL_LINES),
            "--output",
            "cat",
        )
        told = run_tool((*command, "--no-pager", "--quiet"), self._environment)
        return tuple(told.output.splitlines()[-_JOURNAL_LINES:]) if told.status == 0 else ()


def _quote(text: str) -> str:
    if _FORBIDDEN_IN_UNITS.search(text):
        raise ServiceError(f"systemd cannot read the characters in {text!r}", UNIT)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


LABEL = "turnlog.sync"
_PUSH_LABEL = "turnlog.push"
_LOG_LINES = 5
_TAIL = 4096
_FORBIDDEN_IN_LISTS = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


class Launchd(Service):
    """A property list in the folder that launchd reads a person's agents from."""

    def __init__(self, home: Path, environment: Mapping[str, str], *, pushes: bool = False) -> None:
        """Take the person's own folder; a service that `pushes` is another one than that which archives."""
        self._label = _PUSH_LABEL if pushes else LABEL
        super().__init__(home / "Library" / "LaunchAgents" / f"{self._label}.plist", environment)
        self._domain = f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"

    def render(self, job: Job) -> str:
        """Return the property list."""
        texts = (*job.command, *job.environment, *job.environment.values(), str(job.log))
        for text in texts:
            if _FORBIDDEN_IN_LISTS.search(text):
                raise ServiceError(f"launchd cannot read the characters in {text!r}", os.fspath(self.path))
        data = plistlib.dumps(
            {
                "Label": self._label,
                "ProgramArguments": list(job.command),
                "EnvironmentVariables": dict(job.environment),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": 10,
                "ProcessType": "Background",
                "LowPriorityIO": True,
                "Nice": 10,
                "Umask": 0o077,
                "StandardOutPath": str(job.log),
                "StandardErrorPath": str(job.log),
            },
            sort_keys=False,
        )
        head, line, rest = data.decode().partition('<plist version="1.0">\n')
        return f"{head}<!-- {MARK} -->\n{line}{rest}"

    def list_starts(self, outcome: InstallOutcome) -> list[tuple[str, ...]]:
        """Return the commands that start it: an agent that is loaded cannot be loaded again."""
        load = ("launchctl", "bootstrap", self._domain, str(self.path))
        match outcome:
            case InstallOutcome.UNCHANGED:
                return [] if self._is_loaded() else [load]
            case InstallOutcome.CHANGED if self._is_loaded():
                return [*self.list_stops(), load]
            case _:
                return [load]

    def list_stops(self) -> list[tuple[str, ...]]:
        """Return the command that stops it."""
        return [("launchctl", "bootout", f"{self._domain}/{self._label}")]

    def ask(self) -> ServiceStatus:
        """Return how it is doing."""
        found = self.read()
        told = run_tool(("launchctl", "list", self._label), self._environment)
        process = re.search(r'"PID" = (\d+);', told.output)
        ended = re.search(r'"LastExitStatus" = (\d+);', told.output)
        state = f"process {process[1]}" if process else f"last exit status {ended[1]}" if ended else ""
        return ServiceStatus(
            path=str(self.path),
            installed=found is not None,
            ours=found is not None and MARK in found,
            running=None if told.status is None else process is not None,
            state=state or told.output,
            last_log_lines=self._find_last_log_lines(found) if found is not None else (),
        )

    def _is_loaded(self) -> bool:
        return run_tool(("launchctl", "list", self._label), self._environment).status == 0

    def _find_last_log_lines(self, text: str) -> tuple[str, ...]:
        try:
            path = plistlib.loads(text.encode("utf-8", "surrogateescape")).get("StandardErrorPath", "")
            with open(path, "rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - _TAIL, 0))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except (OSError, ValueError, plistlib.InvalidFileException):
            return ()
        return tuple(lines[-_LOG_LINES:])


_SERVICES: Mapping[str, type[Systemd] | type[Launchd]] = {"linux": Systemd, "darwin": Launchd}


def find_service(*, pushes: bool = False) -> Service:
    """Return the way in which this system keeps things running: archiving, or pushing."""
    kind = _SERVICES.get(sys.platform)
    if kind is None:
        raise ServiceError(
            "services are not supported; run `turnlog sync --watch` with its scheduler", sys.platform
        )
    return kind(Path(os.path.expanduser("~")), os.environ, pushes=pushes)
