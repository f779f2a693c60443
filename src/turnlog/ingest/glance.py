"""Whether anything is new outside, told at a glance and without loading what reading it would take."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from msgspec import Struct

from turnlog.ingest.derivation import DERIVATION
from turnlog.ingest.kinds import key_of, list_kinds
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.transcripts.files.fingerprints import is_untouched
from turnlog.transcripts.files.session_files import SessionFiles


class SyncReport(Struct, frozen=True, gc=False, kw_only=True):
    """What a sync did."""

    sessions: int = 0
    """How many there are outside."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    rederived: int = 0
    """Sessions of which nothing is new, but whose rows followed older rules."""
    gone: int = 0
    """Sessions that exist only here from now on."""
    bytes: int = 0
    """How many were archived."""
    lines: int = 0
    seconds: float = 0.0


def report_unchanged(
    sessions: Iterable[SessionFiles],
    known: Iterable[KnownSession],
    origin: str,
    within: Iterable[Path] = (),
    forgotten: Collection[str] = (),
    is_excluded: Callable[[SessionFiles], bool] = lambda _: False,
) -> SyncReport | None:
    """Return what a sync of some sessions would report that finds nothing new; None if it may find anything."""
    started = time.monotonic()
    sources: dict[str, KnownSource] = {}
    owners: dict[str, str] = {}
    for session in known:
        if session.derivation < DERIVATION:
            return None
        if session.origin in (
            "",
            origin,
        ):  # the files of other machines are elsewhere, whatever their paths are
            for source in session.sources:
                if source.present:
                    sources[source.path] = source
                    owners[source.path] = session.key
    for files in sessions:
        if _is_new(files, sources) and not _is_left_out(files, origin, forgotten) and not is_excluded(files):
            return None
    roots = tuple(f"{os.path.abspath(folder)}{os.sep}" for folder in within)
    if any(path.startswith(roots) for path in sources):  # gone, since nobody came across them
        return None
    seen = {owners[path] for path in owners.keys() - sources.keys()}
    return SyncReport(sessions=len(seen), unchanged=len(seen), seconds=time.monotonic() - started)


def _is_new(files: SessionFiles, sources: dict[str, KnownSource]) -> bool:
    """Tell whether any file is not as it is known; those that are, are taken out of `sources`."""
    new = False
    for each, *_ in list_kinds(files):
        path = os.fspath(each)
        if path not in sources:  # which are absolute, as nearly all are that are looked for
            path = os.path.abspath(path)
        source = sources.pop(path, None)
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
