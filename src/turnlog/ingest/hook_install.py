"""Having Claude Code tell turnlog what happens: the script that it runs, and the settings that name it.

The script lies in turnlog's own folder, so that settings need not change when turnlog moves. A settings file is
replaced as a whole, with its permissions, where it really is, and a copy of how it was is kept in turnlog's
folder: settings may hold secrets, and a project's folder is often shared. Those events are installed that help,
and that the installed Claude Code knows.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from turnlog.errors import HookError
from turnlog.ingest.hook_settings import Entry, NotSettingsError, add_entries, list_entries, remove_entries
from turnlog.ingest.spool import SPOOL
from turnlog.transcripts.hooks.table import EVENTS

SCRIPT = "hook.sh"
_BACKUPS = "settings-backups"
_TIMEOUT_SECONDS = 10
_CLAUDE_SECONDS = 10
_VERSION = re.compile(rb"^# turnlog hook (\d+)$", re.MULTILINE)

LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "WorktreeCreate": "a hook for it must create the worktree itself",
        "WorktreeRemove": "a hook for it must remove the worktree itself",
        "FileChanged": "it fires only for files that a matcher names",
        "MessageDisplay": "it fires for every few lines of text",
    }
)
"""The events that are installed only by name, and why."""

SINCE: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "Setup": (2, 1, 18),
        "TeammateIdle": (2, 1, 33),
        "TaskCompleted": (2, 1, 33),
        "ConfigChange": (2, 1, 48),
        "WorktreeCreate": (2, 1, 50),
        "WorktreeRemove": (2, 1, 50),
        "Elicitation": (2, 1, 64),
        "ElicitationResult": (2, 1, 64),
        "InstructionsLoaded": (2, 1, 64),
        "StopFailure": (2, 1, 81),
        "PostCompact": (2, 1, 81),
        "PermissionDenied": (2, 1, 90),
        "TaskCreated": (2, 1, 90),
        "CwdChanged": (2, 1, 90),
        "FileChanged": (2, 1, 90),
        "PostToolBatch": (2, 1, 119),
        "UserPromptExpansion": (2, 1, 119),
        "MessageDisplay": (2, 1, 170),
        "DirectoryAdded": (2, 1, 245),
        "PreModelSwitch": (2, 1, 260),
        "PostModelSwitch": (2, 1, 260),
    }
)
"""Which version of Claude Code knows which event: one that does not may refuse the whole file."""


class HookScope(StrEnum):
    """Whose settings."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


class Script(Struct, frozen=True, gc=False, kw_only=True):
    """The script in turnlog's folder."""

    path: Path
    version: int | None
    """None if it is missing, or none of ours."""
    current: bool


class Plan(Struct, frozen=True, kw_only=True):
    """What a settings file is, and shall be; None if it is not there."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def find_settings(scope: HookScope, config_dirs: Sequence[Path], project: Path) -> list[Path]:
    """Return the settings files of a scope: that of each config dir that is there, else of the first."""
    if scope is HookScope.USER:
        there = [path for path in config_dirs if path.is_dir()] or list(config_dirs[:1])
        return [path / "settings.json" for path in there]
    name = "settings.json" if scope is HookScope.PROJECT else "settings.local.json"
    return [project / ".claude" / name]


def build_entries(home: Path, events: Sequence[str]) -> list[Entry]:
    """Return the entries for events; raises `HookError` for a folder that settings cannot name."""
    path = os.path.abspath(home / SCRIPT)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise HookError("settings cannot contain a path that is not valid text", path) from None
    # A script that is gone must not fail: with status 2 a hook forbids what the agent is about to do.
    quoted = shlex.quote(path)
    command = f'turnlog_hook={quoted}; if [ -r "$turnlog_hook" ]; then . "$turnlog_hook"; fi'
    return [Entry(event, command, _TIMEOUT_SECONDS) for event in events]


def read_script(home: Path) -> Script:
    """Return what is known of the script."""
    path = home / SCRIPT
    try:
        content = path.read_bytes()
    except OSError:
        return Script(path=path, version=None, current=False)
    found = _VERSION.search(content)
    return Script(
        path=path, version=None if found is None else int(found[1]), current=content == _load_script()
    )


def install_script(home: Path) -> bool:
    """Put the script into turnlog's folder, and make the spool; return whether anything changed."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / SPOOL).mkdir(mode=0o700, exist_ok=True)
    script = read_script(home)
    if script.current and script.path.stat().st_mode & 0o777 == 0o700:
        return False
    _replace(script.path, _load_script(), 0o700)
    return True


def plan_install(path: Path, entries: Sequence[Entry]) -> Plan:
    """Return what a settings file becomes with exactly these entries of turnlog; raises `HookError`."""
    before = _read(path)
    with _explaining(path):
        there = [] if before is None else list_entries(before)
        if sorted(map(_key, there)) == sorted(map(_key, entries)):
            return Plan(path=path, before=before, after=before)
        bare = remove_entries(before) if before is not None and there else before
        return Plan(path=path, before=before, after=add_entries(bare, entries))


def list_installed(path: Path) -> list[Entry]:
    """Return turnlog's entries in a settings file; raises `HookError`."""
    text = _read(path)
    with _explaining(path):
        return [] if text is None else list_entries(text)


def plan_uninstall(path: Path) -> Plan:
    """Return what a settings file becomes without turnlog's entries; raises `HookError`."""
    before = _read(path)
    if before is None:
        return Plan(path=path, before=None, after=None)
    with _explaining(path):
        return Plan(path=path, before=before, after=remove_entries(before) if list_entries(before) else before)


def write_plan(plan: Plan, home: Path) -> Path | None:
    """Write what was planned, and return where a copy of what was there is; raises `HookError`.

    Nothing is written if the file changed meanwhile.
    """
    real = Path(os.path.realpath(plan.path))
    try:
        backup = None if plan.before is None else _back_up(plan, home)
        if _read(plan.path) != plan.before:
            raise HookError("it changed in the meantime; try again", os.fspath(plan.path))
        if plan.after is None:
            with suppress(FileNotFoundError):
                real.unlink()
        else:
            real.parent.mkdir(parents=True, exist_ok=True)
            mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
            _replace(real, plan.after, mode)
    except OSError as error:
        raise HookError(error.strerror or str(error), os.fspath(plan.path)) from error
    return backup


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.event, entry.command, str(entry.timeout)


def _load_script() -> bytes:
    return files("turnlog.ingest").joinpath(SCRIPT).read_bytes()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise HookError(error.strerror or str(error), os.fspath(path)) from error


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    try:
        yield
    except NotSettingsError as error:
        raise HookError(f"{error}; it was left as it is", os.fspath(path)) from error


def _back_up(plan: Plan, home: Path) -> Path:
    folder = home / _BACKUPS
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    backup = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1_000_000_000:09}-{plan.path.name}"
    _replace(backup, plan.before or b"", 0o600)
    return backup


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Write a file as a whole, so that nobody ever sees half of it."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def choose_events(wanted: Sequence[str], version: tuple[int, ...] | None) -> list[str]:
    """Return the events to install: those that are named, else all that Claude Code of a version knows."""
    if wanted:
        return list(dict.fromkeys(wanted))
    return [
        name for name in EVENTS if name not in LEFT_OUT and (version is None or SINCE.get(name, ()) <= version)
    ]


def find_claude_version(env: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the version of the Claude Code that is on the path; None if there is none, or it does not say."""
    program = shutil.which("claude", path=env.get("PATH", os.defpath))
    if program is None:
        return None
    try:
        ran = subprocess.run(
            [program, "--version"],
            capture_output=True,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            timeout=_CLAUDE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(rb"(\d+)\.(\d+)\.(\d+)", ran.stdout)
    return None if found is None else tuple(int(part) for part in found.groups())
