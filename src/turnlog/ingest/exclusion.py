"""What is never archived: sessions that the person has excluded.

A pattern is a path, in which `*` stands for anything within a name and `**` for anything at all. It is held
against the session's files and against the directories that its lines name as their own; a directory excludes
all that lies in it. The lines are asked because the names of project folders are ambiguous.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib import import_module
from itertools import islice
from pathlib import Path

from turnlog.transcripts.files.session_files import SessionFiles

_FIRST_LINES = 64
"""How many lines are asked for their directory: the first that has one is near the top."""


class Exclusion:
    """Patterns of what is not to be archived."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [_compile(os.path.expanduser(pattern)) for pattern in patterns if pattern.strip()]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def excludes(self, files: SessionFiles) -> bool:
        """Tell whether a session is excluded, by where it lies or by where it was at work."""
        if not self._patterns:
            return False
        paths = [os.fspath(files.folder)] if files.path is None else [os.fspath(files.path)]
        if self._matches(paths):
            return True
        transcripts = [files.path, *(agent.path for agent in files.agents)]
        return any(self._matches(_list_directories(path)) for path in transcripts if path is not None)

    def excludes_paths(self, paths: Iterable[str]) -> bool:
        """Tell whether any of some files or directories is excluded."""
        return self._matches(paths)

    def _matches(self, paths: Iterable[str]) -> bool:
        return any(pattern.fullmatch(path) for path in paths for pattern in self._patterns)


def _compile(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*|\?)", pattern.rstrip("/"))
    meanings = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts) + "(/.*)?", re.DOTALL)


def _list_directories(path: Path) -> list[str]:
    # An import statement would load all types of lines with this module, even where nothing is excluded.
    read_lines = import_module("turnlog.transcripts.files.reader").read_lines
    try:
        cwds = (getattr(line.entry, "cwd", None) for line in islice(read_lines(path), _FIRST_LINES))
        return [cwd for cwd in dict.fromkeys(cwds) if isinstance(cwd, str)]
    except OSError:
        return []  # whoever reads the file is told why
