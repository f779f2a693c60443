"""Which files of an archived session are captures, and which of those turnlog wrote itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import SourceKind
from turnlog.transcripts.files.session_files import split_capture

NOTES = ("hidden", "summaries")
"""Folders beside the captured files with what is noted of sessions, as `<project folder>/<session>.json`."""
_MAINS = frozenset({SourceKind.TRANSCRIPT, SourceKind.CAPTURE})


def list_mains(session: KnownSession) -> list[KnownSource]:
    """Return the files that tell all of a session: its transcript, and what was captured besides."""
    return [each for each in session.sources if each.kind in _MAINS and each.agent_id is None]


def is_capture(source: KnownSource) -> bool:
    """Tell whether a file tells of a session or an agent once more, or was captured and is all there is."""
    has_messages = source.kind in (SourceKind.TRANSCRIPT, SourceKind.AGENT)
    return source.kind is SourceKind.CAPTURE or (has_messages and kind_of_capture(source) != "file")


def kind_of_capture(source: KnownSource) -> str:
    """Return how a file came to be: `mirror`, `stream`, or `file` for Claude Code's own."""
    path = Path(source.path)
    kinds = (split_capture(name)[1] for name in (path.stem, *path.parts))
    return next((str(kind) for kind in kinds if kind is not None), "file")


def remove_captures(sessions: Iterable[KnownSession], folder: Path) -> None:
    """Delete what turnlog's own folder has of sessions; raises `OSError`.

    Whoever forgets a session means what turnlog wrote of it, too: also what is not archived yet, and notes.
    """
    for session in sessions:
        paths = [Path(path) for path in list_own_files(session, folder)]
        mains = [path for path in paths if is_captured(os.fspath(path))]
        for path in paths:
            path.unlink(missing_ok=True)
        for path in mains:
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        for project in {session.project_folder, *(path.parent.name for path in mains)}:
            for notes in NOTES:
                (folder / notes / project / f"{session.session_id}.json").unlink(missing_ok=True)


def list_own_files(session: KnownSession, folder: Path) -> list[str]:
    """Return the files of a session that lie in turnlog's own folder."""
    root = os.path.realpath(folder)
    paths = [source.path for source in session.sources]
    return [path for path in paths if Path(os.path.realpath(path)).is_relative_to(root)]


def is_captured(path: str) -> bool:
    """Tell whether turnlog wrote a file, by its name."""
    return split_capture(Path(path).stem)[1] is not None
