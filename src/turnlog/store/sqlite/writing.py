"""Writing batches: what follows on what is there is added, what is there already changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import apsw
from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.store.batch import Derived, SessionBatch, TextFact
from turnlog.store.identity import Scope
from turnlog.store.interface import Archive, ChangeKind
from turnlog.store.sequels import check_base, is_nothing
from turnlog.store.sqlite.forgetting import is_forgotten
from turnlog.store.sqlite.lists import write_presence, write_summary
from turnlog.store.sqlite.people import add_machine, refresh_access
from turnlog.store.sqlite.segments import write_outline, write_segments
from turnlog.store.sqlite.sources import NEWEST, SourceWriter
from turnlog.store.sqlite.texts import delete_texts, write_texts
from turnlog.store.sqlite.usage import UsageKeeper
from turnlog.store.sqlite.values import pack_text
from turnlog.transcripts.files.fingerprints import Change


class _Session(Struct, frozen=True, gc=False):
    """What is there of a session."""

    id: int
    revision: int
    names: tuple[object, object]
    """Its id and its project's folder."""
    derivation: int


def write_batch(connection: apsw.Connection, archive: Archive, usage: UsageKeeper, batch: SessionBatch) -> None:
    """Write a batch, in the transaction of the caller, with its entry in the feed.

    Of a session that was forgotten nothing is written: it may have been looked at before.
    Raises `StoreError` if it does not follow on what is there.
    """
    if is_forgotten(connection, batch.owner, batch.key):
        return
    writer = SourceWriter(connection, archive, batch.owner)
    files = [(source, writer.find(source.source)) for source in batch.sources]
    files = [(source, known) for source, known in files if writer.follows(source, known)]
    if batch.sources and not files:
        # Applied before; its derived rows may be older than those that are there by now.
        return
    session = _find_session(connection, batch)
    if session is None:
        if batch.derived is None and all(
            is_nothing(source, is_known=known is not None) for source, known in files
        ):
            return
        session = _add_session(connection, batch)
    if batch.derived is not None and batch.derived.is_partial:
        check_base(batch, session.revision)
    changed = session.revision == 0 or session.names != _names(batch)
    for source, known in files:
        changed = writer.write(session.id, source, known, batch.seen_ns) or changed
    if batch.derived is not None:
        changed = write_derived(connection, usage, session.id, batch.owner, batch.derived) or changed
    derivation = session.derivation if batch.derived is None else batch.derivation
    if changed:
        # A batch that changes nothing was applied before, whatever it is based on.
        if batch.base_revision is not None:
            check_base(batch, session.revision)
        present = _is_present(connection, session.id)
        write_presence(connection, session.id, present)
        vanished = any(source.change is Change.VANISHED for source in batch.sources)
        _finish(connection, batch, session, derivation, vanished and not present)
        if session.revision == 0:
            add_machine(connection, batch.owner, batch.origin, batch.seen_ns)
        refresh_access(connection, session.id, usage.affect)
    elif derivation != session.derivation:
        _update_session(connection, batch, session, session.revision, derivation)


def write_derived(
    connection: apsw.Connection, usage: UsageKeeper, session: int, owner: str, derived: Derived
) -> bool:
    """Replace what differs of what follows from a session's lines; return whether anything does."""
    sources = dict(connection.execute("SELECT source, id FROM sources WHERE session = ?", (session,)))
    wrote = [
        write_summary(connection, session, owner, derived.session),
        *(write_outline(connection, session, outline) for outline in derived.outline),
        *(write_segments(connection, sources, chapter) for chapter in derived.chapters),
    ]
    if any(wrote):
        usage.note(session, derived.usage, is_whole=not derived.is_partial)
        usage.report(session, derived.session.summary)
    return any(wrote)


def _names(batch: SessionBatch) -> tuple[object, object]:
    return pack_text(batch.session_id), pack_text(batch.project_folder)


def _find_session(connection: apsw.Connection, batch: SessionBatch) -> _Session | None:
    query = """
    SELECT id, revision, session_id, project_folder, derivation FROM sessions WHERE owner = ? AND key = ?
    """
    for number, revision, name, folder, derivation in connection.execute(query, (batch.owner, batch.key)):
        return _Session(number, revision, (name, folder), derivation)
    return None


def _add_session(connection: apsw.Connection, batch: SessionBatch) -> _Session:
    connection.execute(
        "INSERT INTO sessions VALUES (NULL, ?, ?, ?, ?, ?, 0, 0)",
        (batch.owner, batch.key, batch.origin, *_names(batch)),
    )
    return _Session(connection.last_insert_rowid(), 0, _names(batch), 0)


def _update_session(
    connection: apsw.Connection, batch: SessionBatch, session: _Session, revision: int, derivation: int
) -> None:
    connection.execute(
        "UPDATE sessions SET origin = ?, revision = ?, derivation = ? WHERE id = ?",
        (batch.origin, revision, derivation, session.id),
    )
    if session.names != _names(batch):
        query = "UPDATE sessions SET session_id = ?, project_folder = ? WHERE id = ?"
        connection.execute(query, (*_names(batch), session.id))


def _is_present(connection: apsw.Connection, session: int) -> bool:
    query = f"SELECT 1 {NEWEST} WHERE s.session = ? AND p.present LIMIT 1"
    return bool(connection.execute(query, (session,)).fetchall())


def _finish(
    connection: apsw.Connection, batch: SessionBatch, session: _Session, derivation: int, gone: bool
) -> None:
    """Give the session its new revision, and the feed its entry."""
    revision = session.revision + 1
    _update_session(connection, batch, session, revision, derivation)
    if session.revision == 0:
        kind = ChangeKind.SESSION_ADDED
    else:
        kind = ChangeKind.SESSION_GONE if gone else ChangeKind.SESSION_CHANGED
    connection.execute(
        "INSERT INTO changes (owner, kind, session, revision, at_ns) VALUES (?, ?, ?, ?, ?)",
        (batch.owner, str(kind), batch.key, revision, batch.seen_ns),
    )


_COUNT_LINES = """
UPDATE checkpoints SET lines = ? WHERE generation = (
    SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
    WHERE s.owner = ? AND s.source = ? ORDER BY g.generation DESC LIMIT 1
)
"""


def rewrite_session(
    connection: apsw.Connection,
    usage: UsageKeeper,
    scope: Scope,
    key: str,
    revision: int,
    derived: Derived | None,
    derivation: int,
    lines: Mapping[str, int],
    texts: Mapping[tuple[str, int], Iterable[TextFact]],
) -> int:
    """Write what follows from a session's bytes anew, in the caller's transaction; return the new revision."""
    query = """
    SELECT id, derivation FROM sessions WHERE owner = ? AND key = ? AND revision = ?
    """
    found = connection.execute(query, (scope.owner, key, revision)).fetchone()
    if found is None:
        raise StoreError(f"Expected revision {revision} of the session {key}; it has changed, or is gone")
    session, former = found
    for source, count in lines.items():
        connection.execute(_COUNT_LINES, (count, scope.owner, source))
    for (source, generation), facts in texts.items():
        _rewrite_texts(connection, scope, source, generation, facts)
    if derived is not None:
        of_session = "source IN (SELECT id FROM sources WHERE session = ?)"
        connection.execute(f"DELETE FROM segments WHERE {of_session}", (session,))
        for table in ("outlines", "summaries"):
            connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
        write_derived(connection, usage, session, scope.owner, derived)
    connection.execute(
        "UPDATE sessions SET revision = ?, derivation = ? WHERE id = ?",
        (revision + 1, former if derived is None else derivation, session),
    )
    connection.execute(
        "INSERT INTO changes (owner, kind, session, revision, at_ns) VALUES (?, ?, ?, ?, ?)",
        (scope.owner, str(ChangeKind.SESSION_CHANGED), key, revision + 1, time.time_ns()),
    )
    refresh_access(connection, session, usage.affect)
    return revision + 1


def _rewrite_texts(
    connection: apsw.Connection, scope: Scope, source: str, generation: int, facts: Iterable[TextFact]
) -> None:
    query = """
    SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
    WHERE s.owner = ? AND s.source = ? AND g.generation = ?
    """
    for (number,) in list(connection.execute(query, (scope.owner, source, generation))):
        delete_texts(connection, [number])
        write_texts(connection, number, facts)
