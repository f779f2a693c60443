"""What follows when something was captured: it is archived, with Claude Code's own file of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from turnlog.cli.files import warn
from turnlog.config import Settings
from turnlog.errors import TurnlogError
from turnlog.ingest.capture.archiving import archive_paths
from turnlog.ingest.capture.stream import Captured
from turnlog.transcripts.files.locate import list_roots

_PATIENCE = 1.0


def archive_captured(settings: Settings, captured: Iterable[Captured]) -> bool:
    """Archive what was captured; False if that is left to another process, or failed, which is said."""
    paths = [path for each in captured for path in _list_paths(settings, each)]
    try:
        return (
            archive_paths(settings.place, paths, exclude=settings.exclude, wait_seconds=_PATIENCE) is not None
        )
    except (TurnlogError, OSError) as error:
        warn(f"the capture is not archived yet: {error}")
        return False


def _list_paths(settings: Settings, captured: Captured) -> list[Path]:
    """Return where a session was kept, and where Claude Code's own file of it may be."""
    if captured.session_id is None or captured.path is None:
        return []
    folders = [root / captured.path.parent.name for root in list_roots(settings.config_dirs)]
    return [captured.path, *(folder / f"{captured.session_id}.jsonl" for folder in folders)]
