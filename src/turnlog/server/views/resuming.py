"""How to go on with a session."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath, PureWindowsPath

_is_id = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


def build_resume(session_id: str, project: str | None) -> str | None:
    """Return the command that goes on with a session; what is not an id is nothing for a shell."""
    if _is_id(session_id) is None:
        return None
    command = f"claude --resume {session_id}"
    # A session that does not tell where it worked has the name of its folder instead of a path.
    if project is None or not (PurePosixPath(project).is_absolute() or PureWindowsPath(project).drive):
        return command
    return f"cd {shlex.quote(project)} && {command}"
