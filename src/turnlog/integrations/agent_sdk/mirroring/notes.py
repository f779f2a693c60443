"""What the Agent SDK's session store remembers besides sessions: parts that are not told, and summaries.

Both lie beside the captured files, where no sessions are looked for. Summaries are only what was made of
entries before: one that cannot be read is made again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from turnlog.ingest.captured_files import NOTES
from turnlog.ingest.durable_files import write_safely

Name = tuple[str, str, str | None]
"""A project, a session of it, and what is meant in its folder: None for the session itself."""


class Summary(Struct, frozen=True):
    """What was made of the entries of a file, up to a byte."""

    source: str
    generation: int
    consumed: int
    data: dict[str, Any]


class Notes:
    """Notes on sessions, by project and id."""

    def __init__(self, folder: Path) -> None:
        self._hidden, self._summaries = (folder / name for name in NOTES)

    def list_hidden(self, name: Name) -> frozenset[str]:
        """Return the parts of a session that somebody deleted."""
        try:
            data = (self._hidden / name[0] / f"{name[1]}.json").read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return frozenset()
        return frozenset(msgspec.json.decode(data, type=list[str]))

    def set_hidden(self, name: Name, *, hidden: bool) -> None:
        """Note that a part of a session is deleted, or is there again."""
        subpath, now = name[2], self.list_hidden(name)
        if subpath is not None and (subpath in now) is not hidden:
            now = now | {subpath} if hidden else now - {subpath}
            write_safely(self._hidden / name[0], f"{name[1]}.json", msgspec.json.encode(sorted(now)))

    def find_summary(self, name: Name, source: str, generation: int) -> Summary | None:
        """Return what was made of a file's entries before."""
        try:
            data = (self._summaries / name[0] / f"{name[1]}.json").read_bytes()
            found = msgspec.json.decode(data, type=Summary)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if (found.source, found.generation) == (source, generation) else None

    def keep_summary(self, name: Name, summary: Summary) -> None:
        """Remember what was made of a file's entries."""
        write_safely(self._summaries / name[0], f"{name[1]}.json", msgspec.json.encode(summary))

    def remove(self, name: Name) -> None:
        """Let go of all notes on a session."""
        for folder in (self._hidden, self._summaries):
            (folder / name[0] / f"{name[1]}.json").unlink(missing_ok=True)
