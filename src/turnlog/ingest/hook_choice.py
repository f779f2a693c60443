"""Which events are installed: those that help, and that the installed Claude Code knows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from turnlog.transcripts.hooks.table import EVENTS

__all__ = ["LEFT_OUT", "SINCE", "choose_events", "find_claude_version"]

_CLAUDE_SECONDS = 10

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
