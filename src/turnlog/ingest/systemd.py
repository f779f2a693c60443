"""A service of the person's own systemd (`systemctl --user`).

In a unit's file `%` begins a specifier, `$` a variable (in arguments, but not in the program's own path), and
quotes and backslashes are as in C. A program whose path holds quotes or backslashes is refused however it is
written, so a shell starts such a one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from turnlog.errors import ServiceError
from turnlog.ingest.service import MARK, Installed, Job, Service, ServiceStatus, run_tool

UNIT = "turnlog.service"
_PUSH_UNIT = "turnlog-push.service"
_FORBIDDEN = re.compile("[\0-\x1f\x7f\ud800-\udfff]")
_REFUSED = re.compile(r"""["'\\]""")
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')
_USER = ("systemctl", "--user")
_LAST_WORDS = 5


class Systemd(Service):
    """A unit in the folder that systemd reads a person's units from."""

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

    def list_starts(self, outcome: Installed) -> list[tuple[str, ...]]:
        """Return the commands that start it; `enable` does nothing to what runs already."""
        start = (*_USER, "enable", "--now", self._unit)
        if outcome is Installed.UNCHANGED:
            return [start]
        more = [(*_USER, "restart", self._unit)] if outcome is Installed.CHANGED else []
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
            last_words=self._find_last_words() if found is not None else (),
        )

    def _find_last_words(self) -> tuple[str, ...]:
        command = ("journalctl", "--user", "--unit", self._unit, "--lines", str(_LAST_WORDS), "--output", "cat")
        told = run_tool((*command, "--no-pager", "--quiet"), self._environment)
        return tuple(told.output.splitlines()[-_LAST_WORDS:]) if told.status == 0 else ()


def _quote(text: str) -> str:
    if _FORBIDDEN.search(text):
        raise ServiceError(f"systemd cannot read the characters in {text!r}", UNIT)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
