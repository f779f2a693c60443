"""A look at one session: all of its files compared with what is known, and all that is new as one batch.

Of each file the new bytes are read and cut into frames. What is derived follows from all lines; those that were
read before come from the archive, where every line is, whatever has become of its file.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.contents import ROOM
from turnlog.ingest.derivation import DERIVATION
from turnlog.ingest.hot import HotSession
from turnlog.ingest.kinds import key_of
from turnlog.ingest.looking import Looker, Report
from turnlog.ingest.seen import Seen, miss, tells_of_lines
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Archive, KnownSession
from turnlog.store.model import Scope
from turnlog.transcripts.files.session_files import SessionFiles
from turnlog.transcripts.usage.prices import Prices


class Look(Struct, frozen=True):
    """What a look gave."""

    batch: SessionBatch | None
    """None if nothing is new."""
    hot: HotSession | None = None
    """The session as it is when the batch is written, to go on from."""


def look(
    files: SessionFiles,
    known: KnownSession | None,
    archive: Archive | None,
    *,
    owner: str,
    origin: str,
    now_ns: int,
    prices: Prices | None = None,
    report: Report | None = None,
    room: int = ROOM,
) -> SessionBatch | None:
    """Return what is new of a session; None if nothing is.

    `archive` has the bytes of what is `known`; it may be None for a session that is not. Files that cannot be
    read are told to `report`, and count as they were. Lines for which there is no `room`
    are decoded again when somebody looks at them; the batch is the same. A session whose rows follow older
    rules is derived anew, whether anything is new or not.
    """
    return look_on(
        files,
        known,
        archive,
        None,
        owner=owner,
        origin=origin,
        now_ns=now_ns,
        prices=prices,
        report=report,
        room=room,
        is_last=True,
    ).batch


def look_on(
    files: SessionFiles,
    known: KnownSession | None,
    archive: Archive | None,
    hot: HotSession | None,
    *,
    owner: str,
    origin: str,
    now_ns: int,
    prices: Prices | None = None,
    report: Report | None = None,
    room: int = ROOM,
    is_last: bool = False,
) -> Look:
    """Look as `look` does, but go on from what an earlier look gave, if it is at hand (`HotSessions.take`).

    It must not be used for anything else then. A look that `is_last` gives nothing to go on from.
    """
    outdated = known is None or is_outdated(known)
    hot = None if outdated else hot
    asked = Looker(archive, Scope(owner), origin, report, room, retold=outdated, is_last=is_last, hot=hot)
    seen = asked.look_at_all(files, known)
    begun = SessionBatch(
        key=key_of(files, origin) if known is None else known.key,
        owner=owner,
        origin=origin,
        session_id=files.session_id,
        project_folder=files.project_folder,
        seen_ns=now_ns,
        sources=(),
    )
    return conclude(asked, seen, known, begun, hot, prices)


def conclude(
    asked: Looker,
    seen: list[Seen],
    known: KnownSession | None,
    begun: SessionBatch,
    hot: HotSession | None = None,
    prices: Prices | None = None,
) -> Look:
    """Return what follows from files that were looked at; `begun` says whose and which session it is."""
    outdated = known is None or is_outdated(known)
    new = [each.batch for each in seen if each.batch is not None]
    if not new and (known is None or not outdated):  # of a session without any file there is nothing to keep
        return Look(None, hot)
    derived = None
    if outdated or any(tells_of_lines(batch) for batch in new):
        derived = asked.derive(seen, begun.project_folder, prices)
    if outdated and known is not None:
        new = asked.retell(seen, known)
    revision = 0 if known is None else known.revision
    batch = replace(begun, sources=tuple(new), derived=derived, derivation=DERIVATION, base_revision=revision)
    return Look(batch, asked.keep_hot(batch.key, revision + 1))


def is_outdated(known: KnownSession) -> bool:
    """Tell whether a session's rows follow older rules than those of today."""
    return known.derivation < DERIVATION


def derive_again(
    known: KnownSession,
    archive: Archive,
    *,
    owner: str,
    origin: str,
    now_ns: int,
    prices: Prices | None = None,
    room: int = ROOM,
) -> SessionBatch:
    """Return the rows of a session as they follow from the archive alone, whatever has become of its files."""
    asked = Looker(archive, Scope(owner), origin, None, room, retold=True, is_last=True)
    seen = asked.recall(known)
    derived = asked.derive(seen, known.project_folder, prices)
    return replace(
        _begin(known, owner, origin, now_ns),
        sources=tuple(asked.retell(seen, known)),
        derived=derived,
        derivation=DERIVATION,
        base_revision=known.revision,
    )


def vanish(known: KnownSession, owner: str, origin: str, now_ns: int) -> SessionBatch:
    """Return what is new of a session whose files are all gone."""
    gone = tuple(miss(source) for source in known.sources if source.present)
    return replace(_begin(known, owner, origin, now_ns), sources=gone)


def _begin(known: KnownSession, owner: str, origin: str, now_ns: int) -> SessionBatch:
    return SessionBatch(
        key=known.key,
        owner=owner,
        origin=known.origin or origin,
        session_id=known.session_id,
        project_folder=known.project_folder,
        seen_ns=now_ns,
        sources=(),
    )
