"""Having Claude Code report events: the script that it runs, and the entries in its settings that name it.

The script lies in turnlog's own folder, so that settings need not change when turnlog moves. A settings file is
replaced as a whole, with its permissions, where it really is, and a copy of how it was is kept in turnlog's
folder: settings may hold secrets, and a project's folder is often shared. Those events are installed that help,
and that the installed Claude Code knows.

People write these files by hand: everything else keeps its bytes, and taking out what was put in gives back the
very text that was there. An entry is recognised by the end of its command, which also says what must stay when
it goes: a list or an object that was there and empty; or nothing, not even the file.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from turnlog.atomic_files import write_file
from turnlog.errors import HookError
from turnlog.ingest.spool import SPOOL
from turnlog.messages.spans import Span, find_span, list_items, list_members
from turnlog.transcripts.hooks import EVENTS

_HOOKS = "hooks"
_MARK = re.compile(r" # turnlog((?: kept-\w+)*)$")
_NEW_FILE, _EMPTY_HOOKS, _EMPTY_LIST = "kept-nothing", "kept-hooks", "kept-list"
_LAST_LINE = re.compile(rb"\{\s*\n([ \t]*)$")


class NotSettingsError(ValueError):
    """A text that is not what Claude Code reads as its settings."""


class Entry(Struct, frozen=True, gc=False):
    """One of turnlog's hooks."""

    event: str
    command: str
    """Without what tells it from others."""
    timeout: object = None


def list_entries(text: bytes) -> list[Entry]:
    """Return turnlog's entries; raises `NotSettingsError`."""
    return [
        Entry(event, _MARK.sub("", hook["command"]), hook.get("timeout"))
        for event, groups in _read_hooks(text).items()
        for group in groups
        for hook in _list_own(group)
    ]


def add_entries(text: bytes | None, entries: Sequence[Entry]) -> bytes:
    """Return the text with entries, of which it has none yet; None for a file that is not there.

    Raises `NotSettingsError`.
    """
    marks = []
    if text is None:
        text, marks = b"{}\n", [_NEW_FILE]
    hooks = _read_hooks(text)
    style = _Style(text)
    if find_span(text, (_HOOKS,)) is None:
        made = {entry.event: [_make_group(entry, marks)] for entry in entries}
        return _add_member(text, (), _HOOKS, made, style) if made else text
    if not hooks:
        marks = [*marks, _EMPTY_HOOKS]
    for entry in entries:
        path = (_HOOKS, entry.event)
        if entry.event in hooks:
            empty = [] if hooks[entry.event] else [_EMPTY_LIST]
            text = _add_item(text, path, _make_group(entry, [*marks, *empty]), style)
        else:
            text = _add_member(text, (_HOOKS,), entry.event, [_make_group(entry, marks)], style)
    return text


def remove_entries(text: bytes) -> bytes | None:
    """Return the text without turnlog's entries; None if nothing but them was ever in it.

    Raises `NotSettingsError`.
    """
    hooks = _read_hooks(text)
    own = {event: [group for group in groups if _list_own(group)] for event, groups in hooks.items()}
    marks = {mark for groups in own.values() for group in groups for mark in _list_marks(group)}
    style = _Style(text)
    emptied = {
        event
        for event, groups in hooks.items()
        if own[event]
        and all(_is_own(group) for group in groups)
        and not any(_EMPTY_LIST in _list_marks(group) for group in groups)
    }
    if emptied and emptied == set(hooks) and _EMPTY_HOOKS not in marks:
        text = _remove_member(text, (), _HOOKS, style)
        return None if _NEW_FILE in marks and text.strip() == b"{}" else text
    for event in reversed(hooks):
        if event in emptied:
            text = _remove_member(text, (_HOOKS,), event, style)
        elif own[event]:
            text = _remove_groups(text, event, hooks[event], style)
    return text


def _read_hooks(text: bytes) -> dict[str, list[Any]]:
    try:
        read = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise NotSettingsError(f"not valid JSON ({error})") from error
    if not isinstance(read, dict):
        raise NotSettingsError("not a JSON object")
    hooks = read.get(_HOOKS, {})
    if not isinstance(hooks, dict):
        raise NotSettingsError('"hooks" is not an object')
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise NotSettingsError(f'"hooks" has no list for "{event}"')
    return hooks


def _list_own(group: object) -> list[Mapping[str, Any]]:
    hooks = group.get(_HOOKS) if isinstance(group, dict) else None
    found = hooks if isinstance(hooks, list) else []
    return [hook for hook in found if isinstance(hook, dict) and _is_own_hook(hook)]


def _is_own_hook(hook: Mapping[str, Any]) -> bool:
    command = hook.get("command")
    return isinstance(command, str) and _MARK.search(command) is not None


def _is_own(group: Any) -> bool:
    return bool(_list_own(group)) and len(_list_own(group)) == len(group[_HOOKS])


def _list_marks(group: object) -> list[str]:
    found = (_MARK.search(hook["command"]) for hook in _list_own(group))
    return [mark for match in found if match is not None for mark in match[1].split()]


def _make_group(entry: Entry, marks: Sequence[str]) -> dict[str, Any]:
    command = " ".join((f"{entry.command} # turnlog", *marks))
    return {_HOOKS: [{"type": "command", "command": command, "timeout": entry.timeout}]}


class _Style:
    """How a text is laid out."""

    def __init__(self, text: bytes) -> None:
        members = list_members(text)
        lead = text[: members[0].key_start] if members else b""
        found = _LAST_LINE.search(lead)
        self.indent = b"  " if found is None else found[1]
        self.line = b"\r\n" if b"\r\n" in text else b"\n"
        self.flat = bool(members) and b"\n" not in text.strip()

    def render(self, value: object, depth: int) -> bytes:
        """Return a value as it is written at a depth."""
        if self.flat:
            return json.dumps(value, ensure_ascii=False).encode()
        indent = self.indent.decode()
        lines = json.dumps(value, ensure_ascii=False, indent=indent).encode().split(b"\n")
        return (self.line + self.indent * depth).join(lines)

    def lead(self, depth: int, *, first: bool) -> bytes:
        """Return what stands before something at a depth."""
        if self.flat:
            return b"" if first else b" "
        return self.line + self.indent * depth

    def trail(self, depth: int) -> bytes:
        """Return what stands behind the only thing in something at a depth."""
        return b"" if self.flat else self.line + self.indent * depth


_Path = tuple[str | int, ...]


def _add_member(text: bytes, path: _Path, key: str, value: object, style: _Style) -> bytes:
    depth = len(path) + 1
    written = json.dumps(key).encode() + b": " + style.render(value, depth)
    span = _get_span(text, path)
    members = list_members(text, span.start)
    return _insert(text, span, members[-1].value.end if members else None, written, depth, style)


def _add_item(text: bytes, path: _Path, value: object, style: _Style) -> bytes:
    depth = len(path) + 1
    span = _get_span(text, path)
    items = list_items(text, span.start)
    written = style.render(value, depth)
    return _insert(text, span, items[-1].end if items else None, written, depth, style)


def _insert(text: bytes, span: Span, after: int | None, written: bytes, depth: int, style: _Style) -> bytes:
    """Put something behind the last in a container, or into one that is empty, whose blanks stay behind it."""
    if after is None:
        at = span.start + 1
        written = style.lead(depth, first=True) + written + style.trail(depth - 1)
    else:
        at = after
        written = b"," + style.lead(depth, first=False) + written
    return text[:at] + written + text[at:]


def _remove_member(text: bytes, path: _Path, key: str, style: _Style) -> bytes:
    span = _get_span(text, path)
    members = list_members(text, span.start)
    number = max(at for at, member in enumerate(members) if member.key == key)
    parts = [Span(member.key_start, member.value.end) for member in members]
    return _cut(text, span, parts, number, len(path), style)


def _remove_groups(text: bytes, event: str, groups: Sequence[Any], style: _Style) -> bytes:
    path = (_HOOKS, event)
    for number in reversed(range(len(groups))):
        if _is_own(groups[number]):
            span = _get_span(text, path)
            text = _cut(text, span, list_items(text, span.start), number, len(path), style)
        elif _list_own(groups[number]):
            inner = (*path, number, _HOOKS)
            for at in reversed(list(_find_own(groups[number][_HOOKS]))):
                span = _get_span(text, inner)
                text = _cut(text, span, list_items(text, span.start), at, len(inner), style)
    return text


def _find_own(hooks: Sequence[Any]) -> Iterator[int]:
    return (at for at, hook in enumerate(hooks) if isinstance(hook, dict) and _is_own_hook(hook))


def _cut(text: bytes, span: Span, parts: Sequence[Span], number: int, depth: int, style: _Style) -> bytes:
    """Take one part out of a container, with what stands between it and its neighbour."""
    part = parts[number]
    if number > 0:
        return text[: parts[number - 1].end] + text[part.end :]
    if len(parts) > 1:
        return text[: part.start] + text[parts[1].start :]
    trail = style.trail(depth)
    end = part.end + (len(trail) if text[part.end :].startswith(trail) else 0)
    return text[: span.start + 1] + text[end:]


def _get_span(text: bytes, path: _Path) -> Span:
    span = find_span(text, path)
    if span is None:
        raise NotSettingsError("it cannot be read")
    return span


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
    write_file(script.path, _load_script(), 0o700)
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
            write_file(real, plan.after, mode)
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
    write_file(backup, plan.before or b"")
    return backup


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
