"""The retention guard: what Claude Code's own clean-up would take that is not archived.

When Claude Code starts, it deletes the files of sessions that were last written more than `cleanupPeriodDays`
ago, 30 unless a settings file says otherwise. Managed settings win over a person's own; of several others the
smallest counts here, since any of them may be the one that is in force. Settings of single projects and of the
command line are not known here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.ingest.change_check import find_transcript, list_kinds
from turnlog.ingest.machine import Exclusion
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.transcripts.session_files import SessionFiles, locate_sessions

SOON = timedelta(days=3)
_DEFAULT = 30.0
_NOTHING = Exclusion()
_NAMES = ("settings.json", "settings.local.json")
_LONGEST = 400_000.0
"""Days that a date can still hold."""


class _CleanUp(Struct, rename="camel"):
    cleanup_period_days: float | None = None


class Retention(Struct, frozen=True, gc=False):
    """How long Claude Code keeps sessions."""

    days: float
    source: Path | None = None
    """The file that says so; None if none does."""


class ExpiringFiles(Struct, frozen=True, gc=False, kw_only=True):
    """A session that will be deleted."""

    path: Path
    """Its transcript, there or not."""
    deletes_at: datetime
    """From then on, the next time that Claude Code starts."""
    archived: bool
    """Whether all of its bytes are."""
    missing_bytes: int
    key: str | None = None
    """Of the session; None if nothing of it is archived."""


class RetentionReport(Struct, frozen=True, gc=False, kw_only=True):
    """What is about to be deleted, in all."""

    days: float
    """The shortest time for which sessions are kept."""
    deleted_soon: int = 0
    not_archived: int = 0
    """So many of them would be lost."""
    missing_bytes: int = 0
    first_at: datetime | None = None
    """When the first of those would be."""

    @property
    def warning(self) -> str | None:
        """What to tell the person; None if nothing would be lost."""
        if not self.not_archived or self.first_at is None:
            return None
        sessions = "session" if self.not_archived == 1 else "sessions"
        return (
            f"{self.not_archived:,} {sessions} that Claude Code deletes within {SOON.days} days not archived"
            f" ({self.missing_bytes / 1e6:,.1f} MB): run `turnlog sync`"
        )


def list_managed_settings(platform: str = sys.platform) -> list[Path]:
    """Return where an administrator's settings may be."""
    match platform:
        case "darwin":
            folder = Path("/Library/Application Support/ClaudeCode")
        case "win32":
            folder = Path(os.environ.get("PROGRAMFILES", "C:/Program Files")) / "ClaudeCode"
        case _:
            folder = Path("/etc/claude-code")
    parts = sorted(folder.glob("managed-settings.d/*.json"))
    return [folder / "managed-settings.json", *parts]


def read_retention(config_dir: Path, managed: Iterable[Path] = ()) -> Retention:
    """Return how long sessions of a config dir are kept; a file that cannot be read says nothing."""
    # Of an administrator's files the last one wins.
    forced = [found for path in managed if (found := _read(path)) is not None]
    if forced:
        return forced[-1]
    own = [found for name in _NAMES if (found := _read(config_dir / name)) is not None]
    return min(own, key=lambda found: found.days, default=Retention(_DEFAULT))


def read_shortest_retention(config_dirs: Iterable[Path], managed: Iterable[Path] = ()) -> float:
    """Return for how many days sessions are kept at least, wherever they are."""
    managed = list(managed)
    there = (config for config in config_dirs if config.is_dir())
    return min((read_retention(config, managed).days for config in there), default=_DEFAULT)


def _read(path: Path) -> Retention | None:
    try:
        days = msgspec.json.decode(path.read_bytes(), type=_CleanUp).cleanup_period_days
    except (OSError, msgspec.DecodeError):
        return None
    return None if days is None else Retention(max(days, 0.0), path)


def list_expiring(
    sessions: Iterable[SessionFiles],
    known: Iterable[KnownSession],
    now: datetime,
    days: float,
) -> list[ExpiringFiles]:
    """Return the sessions that are deleted soon, those first that are deleted first."""
    sources = {source.path: (session.key, source) for session in known for source in session.sources}
    found = (_find_expiry(files, sources, days) for files in sessions)
    soon = [each for each in found if each is not None and each.deletes_at <= now + SOON]
    return sorted(soon, key=lambda each: (each.deletes_at, each.path))


def _find_expiry(
    files: SessionFiles, sources: Mapping[str, tuple[str, KnownSource]], days: float
) -> ExpiringFiles | None:
    """Return when a session is deleted: with the first file of it that is missing in the archive, if any is."""
    ages: list[tuple[bool, float, int]] = []
    key: str | None = None
    for path, *_ in list_kinds(files):
        try:
            status = os.stat(path)
        except OSError:
            continue
        owner, source = sources.get(os.path.abspath(path), (None, None))
        key = key or owner
        missing = _count_missing(source, status)
        ages.append((missing is None, status.st_mtime, missing or 0))
    if not ages:
        return None
    is_archived, modified, _ = min(ages)
    return ExpiringFiles(
        path=Path(find_transcript(files)),
        deletes_at=datetime.fromtimestamp(modified, UTC) + timedelta(days=min(days, _LONGEST)),
        archived=is_archived,
        missing_bytes=sum(missing for *_, missing in ages),
        key=key,
    )


def _count_missing(source: KnownSource | None, status: os.stat_result) -> int | None:
    """Return how many bytes of a file the archive has not; None if it has all of it."""
    last = None if source is None else source.checkpoint
    if source is None or last is None:
        return status.st_size
    if last.inode not in (0, status.st_ino) or status.st_size < source.length:
        return status.st_size  # another file by the same name
    return (status.st_size - source.length) or None


def list_all_expiring(
    config_dirs: Iterable[Path],
    known: Iterable[KnownSession],
    now: datetime,
    managed: Iterable[Path] = (),
    exclusion: Exclusion = _NOTHING,
) -> list[ExpiringFiles]:
    """Return the sessions of some config dirs that are deleted soon, those first that are deleted first.

    What the person has excluded from the archive is left out.
    """
    known, managed = list(known), list(managed)
    expiring: list[ExpiringFiles] = []
    for config in config_dirs:
        if config.is_dir():
            sessions = [files for files in locate_sessions([config]).sessions if not exclusion.excludes(files)]
            expiring += list_expiring(sessions, known, now, read_retention(config, managed).days)
    return sorted(expiring, key=lambda each: (each.deletes_at, each.path))


def build_retention_report(
    config_dirs: Iterable[Path],
    known: Iterable[KnownSession],
    now: datetime,
    managed: Iterable[Path] = (),
    exclusion: Exclusion = _NOTHING,
) -> RetentionReport:
    """Look at all sessions of some config dirs, and return what is about to be deleted.

    What the person has excluded from the archive is not missed in it.
    """
    config_dirs, managed = list(config_dirs), list(managed)
    expiring = list_all_expiring(config_dirs, known, now, managed, exclusion)
    lost = [each for each in expiring if not each.archived]
    return RetentionReport(
        days=read_shortest_retention(config_dirs, managed),
        deleted_soon=len(expiring),
        not_archived=len(lost),
        missing_bytes=sum(each.missing_bytes for each in lost),
        first_at=min((each.deletes_at for each in lost), default=None),
    )
