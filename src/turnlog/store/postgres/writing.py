"""Writing batches: what follows on what is there is added, what is there already changes nothing.

The row of a session is locked first, so writers of one session come one behind the other, and those of others
don't wait. What a batch is based on is then compared with what is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from psycopg import Connection

from turnlog.store.batch import SessionBatch
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import pack_text
from turnlog.store.postgres.archive import PostgresArchive
from turnlog.store.postgres.derived import RowPlace, write_derived
from turnlog.store.postgres.ledger import Ledger
from turnlog.store.postgres.lists import write_presence
from turnlog.store.postgres.partitions import choose_month, require_month
from turnlog.store.postgres.sources import SourceWriter, StoredSource
from turnlog.store.postgres.tombstones import is_forgotten
from turnlog.store.sequels import check_base, follows, is_nothing
from turnlog.transcripts.files.fingerprints import Change

__all__ = ["write_batches"]

_FIND = """
SELECT id, month, revision, session_id, project_folder, derivation FROM sessions
WHERE owner = %s AND key = %s FOR UPDATE
"""
_ADD = """
INSERT INTO sessions (owner, key, origin, session_id, project_folder, month, revision, derivation)
VALUES (%s, %s, %s, %s, %s, %s, 0, 0) RETURNING id
"""
_CHANGE = """
UPDATE sessions SET origin = %s, session_id = %s, project_folder = %s, revision = %s, derivation = %s
WHERE id = %s
"""
_KNOWN = "SELECT owner, key FROM sessions WHERE (owner, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"


class _Session(Struct, frozen=True, gc=False):
    """What is there of a session."""

    id: int
    month: int
    revision: int
    session_id: bytes
    project_folder: bytes
    derivation: int


def write_batches(connection: Connection, archive: PostgresArchive, batches: Sequence[SessionBatch]) -> int:
    """Write batches, in the transaction of the caller, with their entries in the feed; return its last number.

    Of a session that was forgotten nothing is written: it may have been looked at before.
    Raises `StoreError` if one does not follow on what is there.
    """
    if len(batches) > 1:
        _require_months(connection, batches)
    ledger = Ledger()
    for batch in batches:
        _write(connection, archive, batch, ledger)
    ledger.close(connection)
    [(seq,)] = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchall()
    return int(seq)


def _require_months(connection: Connection, batches: Sequence[SessionBatch]) -> None:
    """Raise `MissingMonthError` for what new sessions need, before anything is written in vain."""
    names = [batch.owner for batch in batches], [batch.key for batch in batches]
    known = set(connection.execute(_KNOWN, names).fetchall())
    for month in {_choose_month(batch) for batch in batches if (batch.owner, batch.key) not in known}:
        require_month(connection, month)


def _write(connection: Connection, archive: PostgresArchive, batch: SessionBatch, ledger: Ledger) -> None:
    # Once the row is locked, whoever forgets the session has done so, or comes later.
    session = _find_session(connection, batch)
    if is_forgotten(connection, batch.owner, batch.key):
        return
    writer = SourceWriter(connection, batch.owner, ledger)
    known = writer.find([source.source for source in batch.sources])

    def read(scope: Scope, at: Place, length: int) -> bytes:
        return archive.read_through(connection, scope, at, length)

    named = [
        source
        for source in batch.sources
        if follows(source, Scope(batch.owner), _end(known.get(source.source)), read)
    ]
    if batch.sources and not named:
        # Applied before; its derived rows may be older than those that are there by now.
        return
    if session is None:
        if batch.derived is None and all(
            is_nothing(source, is_known=source.source in known) for source in named
        ):
            return
        session = _add_session(connection, batch)
    if batch.derived is not None and batch.derived.is_partial:
        check_base(batch, session.revision)
    changed = session.revision == 0 or (session.session_id, session.project_folder) != _names(batch)
    for source in named:
        there = known.get(source.source)
        changed = writer.write(session.id, session.month, source, there, batch.seen_ns) or changed
    changed = _write_rows(connection, batch, session, ledger) or changed
    _finish(connection, batch, session, ledger, changed=changed)


def _write_rows(connection: Connection, batch: SessionBatch, session: _Session, ledger: Ledger) -> bool:
    if batch.derived is None:
        return False
    found = connection.execute("SELECT source, id FROM sources WHERE session = %s", (session.id,)).fetchall()
    place = RowPlace(batch.owner, session.id, session.month, session.revision + 1, dict(found))
    return write_derived(connection, place, batch.derived, ledger)


def _finish(
    connection: Connection, batch: SessionBatch, session: _Session, ledger: Ledger, *, changed: bool
) -> None:
    """Give a session that changed its new revision, and the feed its entry."""
    derivation = session.derivation if batch.derived is None else batch.derivation
    if not changed:
        if derivation != session.derivation:
            _change_session(connection, batch, session, session.revision, derivation)
        return
    # A batch that changes nothing was applied before, whatever it is based on.
    if batch.base_revision is not None:
        check_base(batch, session.revision)
    present = _is_present(connection, session.id)
    write_presence(connection, session.id, present)
    revision = session.revision + 1
    _change_session(connection, batch, session, revision, derivation)
    if session.revision == 0:
        kind = ChangeKind.SESSION_ADDED
    else:
        vanished = any(source.change is Change.VANISHED for source in batch.sources)
        kind = ChangeKind.SESSION_GONE if vanished and not present else ChangeKind.SESSION_CHANGED
    ledger.note_written(batch.owner, session.id, batch.seen_ns)
    ledger.note_change(batch.owner, kind, batch.key, revision, batch.seen_ns)


def _end(known: StoredSource | None) -> tuple[int, int] | None:
    return None if known is None else known.ends


def _names(batch: SessionBatch) -> tuple[bytes, bytes]:
    return pack_text(batch.session_id), pack_text(batch.project_folder)


def _find_session(connection: Connection, batch: SessionBatch) -> _Session | None:
    for row in connection.execute(_FIND, (batch.owner, batch.key)).fetchall():
        return _Session(*row)
    return None


def _add_session(connection: Connection, batch: SessionBatch) -> _Session:
    month = _choose_month(batch)
    require_month(connection, month)
    names = _names(batch)
    cells = batch.owner, batch.key, pack_text(batch.origin), *names, month
    [(number,)] = connection.execute(_ADD, cells).fetchall()
    return _Session(number, month, 0, *names, 0)


def _change_session(
    connection: Connection, batch: SessionBatch, session: _Session, revision: int, derivation: int
) -> None:
    cells = pack_text(batch.origin), *_names(batch), revision, derivation, session.id
    connection.execute(_CHANGE, cells)


def _is_present(connection: Connection, session: int) -> bool:
    query = "SELECT EXISTS (SELECT 1 FROM sources WHERE session = %s AND present)"
    [(found,)] = connection.execute(query, (session,)).fetchall()
    return bool(found)


def _choose_month(batch: SessionBatch) -> int:
    times = (line.time for source in batch.sources for line in source.lines if line.time is not None)
    return choose_month(next(times, None), batch.seen_ns // 1000)
