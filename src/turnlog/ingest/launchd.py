"""A service of macOS: an agent of the person's own launchd."""

from __future__ import annotations

import os
import plistlib
import re
from collections.abc import Mapping
from pathlib import Path

from turnlog.errors import ServiceError
from turnlog.ingest.service import MARK, Installed, Job, Service, ServiceStatus, run_tool

LABEL = "turnlog.sync"
_PUSH_LABEL = "turnlog.push"
_LAST_WORDS = 5
_TAIL = 4096
_FORBIDDEN = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


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
            if _FORBIDDEN.search(text):
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

    def list_starts(self, outcome: Installed) -> list[tuple[str, ...]]:
        """Return the commands that start it: an agent that is loaded cannot be loaded again."""
        load = ("launchctl", "bootstrap", self._domain, str(self.path))
        match outcome:
            case Installed.UNCHANGED:
                return [] if self._is_loaded() else [load]
            case Installed.CHANGED if self._is_loaded():
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
            last_words=self._find_last_words(found) if found is not None else (),
        )

    def _is_loaded(self) -> bool:
        return run_tool(("launchctl", "list", self._label), self._environment).status == 0

    def _find_last_words(self, text: str) -> tuple[str, ...]:
        try:
            path = plistlib.loads(text.encode("utf-8", "surrogateescape")).get("StandardErrorPath", "")
            with open(path, "rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - _TAIL, 0))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except (OSError, ValueError, plistlib.InvalidFileException):
            return ()
        return tuple(lines[-_LAST_WORDS:])
