"""Whether anything is new outside, found without loading what reading it would take.

The files of a session are sources. A source is named after the path at which it was first seen. A file at the
path of a known one is that source. A file at a new path, while one of its kind with its inode is missing from
an old one, was moved and keeps its name, provided that it begins with what was read of it: inodes are used
again.

`ChangeCheck` holds size, time and inode of every file against what is known: most syncs find nothing new, and
must be quick. For the same reason the number of the rules that rows are derived by is kept here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from turnlog.store.interface import KnownSession, KnownSource, PresentFiles
from turnlog.store.model import SourceKind, name_source
from turnlog.transcripts.session_files import SessionFiles, is_untouched, pair_agents

DERIVATION = 7
"""Raised when the rules change: the next sync derives what follows older ones again."""


KindOfFile = tuple[Path, SourceKind, str | None, str | None]
"""A file, what it is for, and the agent or the run that it belongs to."""


def is_outdated(known: KnownSession) -> bool:
    """Tell whether a session's rows follow older rules than those of today."""
    return known.derivation < DERIVATION


class Match(Struct, frozen=True, gc=False):
    """A file, and the source that it may be."""

    path: str
    kind: SourceKind
    agent_id: str | None
    run_id: str | None
    known: KnownSource | None
    moved: bool = False
    """Whether the source is known at another path, and only the inode says that it is this one."""


def list_kinds(files: SessionFiles) -> list[KindOfFile]:
    """Return all files of a session that are there, with what each is for: the transcript first."""
    return list(_walk(files))


def _walk(files: SessionFiles) -> Iterator[KindOfFile]:
    if files.path is not None:
        yield files.path, SourceKind.TRANSCRIPT, None, None
    for agent in files.agents:
        if agent.path is not None:
            yield agent.path, SourceKind.AGENT, agent.agent_id, agent.run_id
        if agent.meta is not None:
            yield agent.meta, SourceKind.AGENT_META, agent.agent_id, agent.run_id
    for run in files.workflows:
        if run.journal is not None:
            yield run.journal, SourceKind.JOURNAL, None, run.run_id
        if run.record is not None:
            yield run.record, SourceKind.WORKFLOW, None, run.run_id
    for kind, paths in (
        (SourceKind.TOOL_RESULT, files.tool_results),
        (SourceKind.META, files.meta),
        (SourceKind.OTHER, files.others),
    ):
        yield from ((path, kind, None, None) for path in paths)
    for path in files.captures:
        agents = pair_agents([path])
        agent_id, run_id = (agents[0].agent_id, agents[0].run_id) if agents else (None, None)
        yield path, SourceKind.CAPTURE, agent_id, run_id


def find_transcript(files: SessionFiles) -> str:
    """Return where the transcript is, or where it would be."""
    return os.path.abspath(files.path or files.folder.with_name(f"{files.folder.name}.jsonl"))


def key_of(files: SessionFiles, origin: str) -> str:
    """Return what a session is called that is seen for the first time."""
    return name_source(origin, find_transcript(files))


def match_known(files: SessionFiles, known: KnownSession | None) -> tuple[list[Match], list[KnownSource]]:
    """Return the files of a session with what is known of them, and the known sources that no file is."""
    missing = {source.path: source for source in known.sources} if known is not None else {}
    found: list[Match] = []
    for path, kind, agent_id, run_id in list_kinds(files):
        name = os.path.abspath(path)
        found.append(Match(name, kind, agent_id, run_id, missing.pop(name, None)))
    if missing:
        found = [_find_moved(match, missing) if match.known is None else match for match in found]
    return found, list(missing.values())


def _find_moved(match: Match, missing: dict[str, KnownSource]) -> Match:
    try:
        status = os.stat(match.path)
    except OSError:
        return match
    for path, source in missing.items():
        last = source.checkpoint
        if last is None or source.kind is not match.kind or not last.inode:
            continue
        if (last.inode, last.device) == (status.st_ino, status.st_dev):
            del missing[path]
            return Match(match.path, match.kind, match.agent_id, match.run_id, source, moved=True)
    return match


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


class ChangeCheck:
    """Files outside, held against what is known of them: first single transcripts, then sessions."""

    def __init__(self, known: PresentFiles, origin: str) -> None:
        self._started = time.monotonic()
        self._known = known
        self._origin = origin
        self._left = dict(known.files)
        """What nobody came across so far."""

    def is_settled(self, path: str) -> bool:
        """Tell whether a file is as it is known: then nothing has to be found out about it any more."""
        known = self._left.get(path)
        if known is None or known.checkpoint is None:
            return False
        try:
            if not is_untouched(known.checkpoint, os.stat(path)):
                return False
        except OSError:  # gone in this moment, or not to be read
            return False
        del self._left[path]
        return True

    def report_unchanged(
        self,
        sessions: Iterable[SessionFiles],
        within: Iterable[Path] = (),
        forgotten: Collection[str] = (),
        is_excluded: Callable[[SessionFiles], bool] = lambda _: False,
    ) -> SyncReport | None:
        """Return what a sync would report that finds nothing new; None if it may find anything.

        The sessions are those of which not all was settled; `within` is where everything was looked for.
        """
        if self._known.derivation is not None and self._known.derivation < DERIVATION:
            return None
        for files in sessions:
            if (
                self._is_new(files)
                and not _is_left_out(files, self._origin, forgotten)
                and not is_excluded(files)
            ):
                return None
        left = self._left
        roots = tuple(f"{os.path.abspath(folder)}{os.sep}" for folder in within)
        if any(path.startswith(roots) for path in left):  # gone, since nobody came across them
            return None
        seen = {file.session for path, file in self._known.files.items() if path not in left}
        return SyncReport(sessions=len(seen), unchanged=len(seen), seconds=time.monotonic() - self._started)

    def _is_new(self, files: SessionFiles) -> bool:
        """Tell whether any file of a session is not as it is known."""
        new = False
        for each, *_ in list_kinds(files):
            path = os.fspath(each)
            if path not in self._left:  # where they are absolute, as nearly all are that are looked for
                path = os.path.abspath(path)
            if not self.is_settled(path):
                was_known = self._left.pop(path, None) is not None
                new = new or was_known or os.path.exists(path)
        return new


def _is_left_out(files: SessionFiles, origin: str, forgotten: Collection[str]) -> bool:
    return bool(forgotten) and (key_of(files, origin) in forgotten or files.session_id in forgotten)
