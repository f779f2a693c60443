"""What has to be located again because a path changed.

That is a session, named by its transcript whether that is there or not, or a folder that belongs to none, with
all sessions under it. The answer follows `turnlog.transcripts.locate_sessions`: what that would not find
concerns nobody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from turnlog.transcripts.files.locate import locate_path
from turnlog.transcripts.files.session_files import Listing, SessionFiles, is_session_folder, pair_agents

_SUFFIXES = (".jsonl", ".ndjson")
_MEMORY = "memory"


def is_transcript(concern: Path) -> bool:
    """Tell whether what is concerned is one session, not a folder."""
    return concern.suffix in _SUFFIXES


def find_concern(path: Path, roots: Sequence[Path], homes: Mapping[str, Path]) -> Path | None:
    """Return what is concerned by a change at a path: a transcript, a folder, or None for nothing.

    `homes` has the transcripts that known files belong to.
    """
    known = homes.get(os.fspath(path))
    if known is not None:
        return known
    root = next((root for root in roots if path.is_relative_to(root)), None)
    if root is None or path == root:
        return root
    folder, parts = root, path.relative_to(root).parts
    for depth, name in enumerate(parts[:-1]):
        if name == _MEMORY and depth:
            return None
        if _is_session(folder / name, parts[depth + 1]):
            return _name_transcript(folder / name)
        folder /= name
    return _find_last(path, len(parts))


def _find_last(path: Path, depth: int) -> Path | None:
    if is_transcript(path):
        # A sub-agent beside sessions names its own only in its lines.
        return path.parent if pair_agents([path]) else path
    if path.is_file() or (path.name == _MEMORY and depth > 1):
        return None
    return _name_transcript(path) if _is_session(path, "") else path


def _is_session(folder: Path, inside: str) -> bool:
    return is_session_folder(folder.name, Listing(folders=(inside,))) or _name_transcript(folder).is_file()


def _name_transcript(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{_SUFFIXES[0]}")


def locate_concern(concern: Path) -> tuple[SessionFiles, ...]:
    """Return the sessions that are there of what is concerned."""
    if not is_transcript(concern):
        return locate_path(concern).sessions if concern.is_dir() else ()
    if concern.is_file():
        return locate_path(concern).sessions
    folder = concern.with_suffix("")
    return locate_path(folder).sessions if folder.is_dir() else ()
