"""Whether anything is new outside, told at a glance and without loading what reading it would take."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from turnlog.ingest.derivation import DERIVATION
from turnlog.ingest.kinds import key_of, list_kinds
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.transcripts.files.fingerprints import is_untouched
from turnlog.transcripts.files.session_files import SessionFiles

__all__ = ["has_news"]


def has_news(
    sessions: Iterable[SessionFiles],
    known: Iterable[KnownSession],
    origin: str,
    within: Iterable[Path] = (),
    forgotten: Collection[str] = (),
    is_excluded: Callable[[SessionFiles], bool] = lambda _: False,
) -> bool:
    """Tell whether a sync of some sessions would have anything to do.

    It may do so once too often, but never too seldom.
    """
    sources: dict[str, KnownSource] = {}
    for session in known:
        if session.derivation < DERIVATION:
            return True
        if session.origin in (
            "",
            origin,
        ):  # the files of other machines are elsewhere, whatever their paths are
            sources.update((source.path, source) for source in session.sources if source.present)
    for files in sessions:
        if _is_new(files, sources) and not _is_left_out(files, origin, forgotten) and not is_excluded(files):
            return True
    roots = tuple(f"{os.path.abspath(folder)}{os.sep}" for folder in within)
    return any(path.startswith(roots) for path in sources)  # gone, since nobody came across them


def _is_new(files: SessionFiles, sources: dict[str, KnownSource]) -> bool:
    """Tell whether any file is not as it is known; those that are, are taken out of `sources`."""
    new = False
    for path, *_ in list_kinds(files):
        source = sources.pop(os.path.abspath(path), None)
        try:
            status = os.stat(path)
        except OSError:  # gone in this moment, or not to be read
            new = new or source is not None
            continue
        if source is None or source.checkpoint is None or not is_untouched(source.checkpoint, status):
            new = True
    return new


def _is_left_out(files: SessionFiles, origin: str, forgotten: Collection[str]) -> bool:
    return bool(forgotten) and (key_of(files, origin) in forgotten or files.session_id in forgotten)
