"""Files that turnlog itself writes of a session, and how they are told from Claude Code's own: by their names.

`<session>.mirror.jsonl` has the lines of a session file as the Agent SDK hands them on, with sub-agents in
`<session>.mirror/subagents/` as on disk. `<session>.stream.jsonl` has what a program and its host said to each
other. The name tells it wherever such a file is copied to.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path


class CaptureKind(StrEnum):
    """What was captured, the one that says the most first."""

    MIRROR = "mirror"
    """The lines of the session's file."""
    STREAM = "stream"
    """The messages of the program, and control traffic."""


def name_capture(folder: Path, session_id: str, kind: CaptureKind) -> Path:
    """Return where what is captured of a session lies in its project's folder."""
    return folder / f"{session_id}.{kind}.jsonl"


def split_capture(stem: str) -> tuple[str, CaptureKind | None]:
    """Return the session that a file tells of, by its name without suffix, and what kind of capture it is."""
    session_id, _, word = stem.rpartition(".")
    kind = _KINDS.get(word) if session_id else None
    return (stem, None) if kind is None else (session_id, kind)


_KINDS = {kind.value: kind for kind in CaptureKind}
