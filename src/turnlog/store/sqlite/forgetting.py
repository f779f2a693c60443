"""Forgetting: a session is deleted for good, and a tombstone keeps it from coming back.

Deleting rows leaves their content in the file and in its write-ahead log. So pages are overwritten as rows go
(`secure_delete`), and `rewrite_file` then writes the file anew: what was deleted earlier, while frames were
merged, is still in it. A tombstone has the session's key, which is a digest, and its id, but nothing that was
said.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.maintenance import Forgotten, Tombstone
from turnlog.store.search.text_rows import HOOKS
from turnlog.store.sqlite.people import list_own
from turnlog.store.sqlite.texts import delete_some_texts, delete_texts, purge_index
from turnlog.store.sqlite.usage import UsageKeeper
from turnlog.store.sqlite.values import pack_text, unpack_text

_KEY, _ID = "session-key", "session-id"
_SMALL_FILE = 64 << 20

_OF_GENERATION = ("frames", "tail_frames", "checkpoints")
_GENERATIONS = "SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source WHERE s.session = ?"
_OF_SOURCE = ("segments", "generations", "source_paths")
_SOURCES = "SELECT id FROM sources WHERE session = ?"
_OF_SESSION = (
    "sources", "outlines", "summaries", "marks", "absent_sessions", "usage_versions", "reported_costs", "access"
)  # fmt: skip

_WORDS = ("session_id", "model", "agent", "skill", "mcp_server")
"""The columns of groups of answers that refer to words."""


def is_forgotten(connection: apsw.Connection, owner: str, key: str) -> bool:
    """Tell whether a session was forgotten."""
    return _has_tombstone(connection, owner, _KEY, key)


def list_tombstones(connection: apsw.Connection, scope: Scope) -> list[Tombstone]:
    """Return what was forgotten, by time; also of a file that an older version made."""
    columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('tombstones')")}
    kept = ("k.person", "k.origin") if "person" in columns else ("NULL", "''")
    query = f"""
    SELECT k.session, i.value, k.at_ns, {", ".join(kept)} FROM tombstones AS k
    LEFT JOIN tombstones AS i ON i.owner = k.owner AND i.session = k.session AND i.kind = '{_ID}'
    WHERE k.owner = ? AND k.kind = '{_KEY}' ORDER BY k.at_ns, k.session
    """
    rows = connection.execute(query, (scope.owner,))
    return [
        Tombstone(key, unpack_text(session_id), at_ns, person, unpack_text(origin))
        for key, session_id, at_ns, person, origin in rows
    ]


def bury(connection: apsw.Connection, scope: Scope, tombstone: Tombstone) -> None:
    """Add a tombstone, in the transaction of the caller."""
    origin = pack_text(tombstone.origin)
    for kind, value in ((_KEY, tombstone.key), (_ID, pack_text(tombstone.session_id))):
        if value is not None:
            connection.execute(
                "INSERT OR IGNORE INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?)",
                (scope.owner, tombstone.key, kind, value, tombstone.at_ns, tombstone.person, origin),
            )


def delete_tombstones(connection: apsw.Connection, scope: Scope, keys: Iterable[str]) -> int:
    """Let sessions come back; return how many were forgotten."""
    lifted = 0
    where, values = ("true", ()) if scope.viewer is None else ("person = ?", (scope.viewer.person,))
    for key in keys:
        query = f"DELETE FROM tombstones WHERE owner = ? AND session = ? AND {where}"
        connection.execute(query, (scope.owner, key, *values))
        lifted += connection.changes() > 0
    return lifted


def forget_sessions(
    connection: apsw.Connection, scope: Scope, keys: Sequence[str], usage: UsageKeeper
) -> Forgotten:
    """Delete sessions and all that only they needed, in the transaction of the caller."""
    at_ns = time.time_ns()
    found = _list_found(connection, scope, keys)
    for each in found:
        usage.note(each.number, (), is_whole=True)
    done = [_forget(connection, scope, each, at_ns) for each in found]
    if done:
        usage.settle()
        _delete_words(connection)
        purge_index(connection)
    return _add_up(done)


def count_forgotten(connection: apsw.Connection, scope: Scope, keys: Sequence[str]) -> Forgotten:
    """Return what `forget_sessions` would delete."""
    return _add_up([_weigh(connection, scope, found) for found in _list_found(connection, scope, keys)])


def rewrite_file(connection: apsw.Connection) -> bool:
    """Write the file anew, so that it has nothing but rows that are there, and empty the log.

    Returns False if that cannot be done now, since another process is in the middle of reading or writing.
    """
    before = connection.pragma("temp_store")
    # The copy would not fit into memory.
    connection.execute("PRAGMA temp_store=FILE")
    try:
        connection.execute("VACUUM")
        [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.BusyError:
        return False
    finally:
        connection.execute(f"PRAGMA temp_store={before}")
    return not busy


def pack_pages(connection: apsw.Connection, *, is_new: bool) -> None:
    """Write a file anew of which much is free, or whose pages are not full, as those of what is new.

    Only a small file is worth it: there that is a thirtieth. If anybody is in the way, it stays as it is.
    """
    pages, size = connection.pragma("page_count"), connection.pragma("page_size")
    if pages * size <= _SMALL_FILE and (is_new or connection.pragma("freelist_count") > pages // 16):
        rewrite_file(connection)


class _Found(NamedTuple):
    """A session that is there."""

    number: int
    key: str
    session_id: str | bytes
    revision: int
    origin: str | bytes
    person: str | None
    shared: int | None


class _Weight(NamedTuple):
    """What a session takes with it."""

    files: int
    bytes: int
    deliveries: int


def _list_found(connection: apsw.Connection, scope: Scope, keys: Iterable[str]) -> list[_Found]:
    own, values = list_own(scope)
    query = f"""
    SELECT e.id, e.key, e.session_id, e.revision, e.origin, a.person, a.shared FROM sessions AS e
    LEFT JOIN access AS a ON a.session = e.id WHERE e.owner = ? AND e.key = ? AND {own}
    """
    asked = (connection.execute(query, (scope.owner, key, *values)).fetchone() for key in dict.fromkeys(keys))
    return [_Found(*row) for row in asked if row is not None]


def _weigh(connection: apsw.Connection, scope: Scope, found: _Found) -> _Weight:
    counted = connection.execute(
        f"SELECT count(DISTINCT g.source), ifnull(sum(c.length), 0) FROM generations AS g "
        f"JOIN checkpoints AS c ON c.generation = g.id WHERE g.source IN ({_SOURCES})",
        (found.number,),
    )
    [(files, size)] = [(int(files), int(size)) for files, size in counted]
    ids = _list_own_ids(connection, scope, found)
    return _Weight(files, size, sum(len(_list_deliveries(connection, scope, found, name)) for name in ids))


def _add_up(weights: Sequence[_Weight]) -> Forgotten:
    return Forgotten(
        sessions=len(weights),
        files=sum(each.files for each in weights),
        bytes=sum(each.bytes for each in weights),
        deliveries=sum(each.deliveries for each in weights),
    )


def _forget(connection: apsw.Connection, scope: Scope, found: _Found, at_ns: int) -> _Weight:
    session, key, session_id, revision, origin, person, shared = found
    weight = _weigh(connection, scope, found)
    ids = _list_own_ids(connection, scope, found)
    for name in ids:
        _delete_deliveries(connection, _list_deliveries(connection, scope, found, name))
    delete_texts(connection, [number for (number,) in connection.execute(_GENERATIONS, (session,))])
    for table in _OF_GENERATION:
        connection.execute(f"DELETE FROM {table} WHERE generation IN ({_GENERATIONS})", (session,))
    for table in _OF_SOURCE:
        connection.execute(f"DELETE FROM {table} WHERE source IN ({_SOURCES})", (session,))
    for table in _OF_SESSION:
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    connection.execute("DELETE FROM sessions WHERE id = ?", (session,))
    known = unpack_text(session_id) if session_id in ids else None
    bury(connection, scope, Tombstone(key, known, at_ns, person, unpack_text(origin)))
    connection.execute(
        "INSERT INTO changes (owner, kind, session, revision, at_ns, person, shared) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (scope.owner, str(ChangeKind.SESSION_FORGOTTEN), key, revision + 1, at_ns, person, bool(shared)),
    )
    return weight


def _has_tombstone(connection: apsw.Connection, owner: str, kind: str, value: str) -> bool:
    query = "SELECT 1 FROM tombstones WHERE owner = ? AND kind = ? AND value = ? LIMIT 1"
    return bool(connection.execute(query, (owner, kind, value)).fetchall())


def _list_own_ids(connection: apsw.Connection, scope: Scope, found: _Found) -> set[str | bytes]:
    """Return the ids of a session that no other session of its person has, which may be a copy of it."""
    query = f"""
    SELECT session_id FROM (
        SELECT session_id FROM sessions WHERE id = ?1 UNION SELECT session_id FROM summaries WHERE session = ?1
    ) AS own WHERE session_id IS NOT NULL AND NOT {_has_another("AND a.person IS ?3")}
    """
    return {name for (name,) in connection.execute(query, (found.number, scope.owner, found.person))}


def _has_another(whose: str = "") -> str:
    """Return the condition that another session than the one with the number ?1 has the id `own.session_id`."""
    parts = (
        f"""EXISTS (
            SELECT 1 FROM {table} AS e LEFT JOIN access AS a ON a.session = e.{number}
            WHERE e.owner = ?2 AND e.session_id = own.session_id AND e.{number} <> ?1 {whose}
        )"""
        for table, number in (("sessions", "id"), ("summaries", "session"))
    )
    return f"({' OR '.join(parts)})"


def _list_deliveries(
    connection: apsw.Connection, scope: Scope, found: _Found, session_id: str | bytes
) -> list[int]:
    """Return what hooks of a person's machines told of an id; what nobody's did, if nobody else has it."""
    query = f"""
    SELECT d.id FROM (SELECT ?4 AS session_id) AS own JOIN hook_deliveries AS d
    ON d.owner = ?2 AND d.session_id = own.session_id
    LEFT JOIN machines AS m ON m.owner = d.owner AND m.origin = d.origin
    WHERE m.person IS ?3 OR (d.origin = '' AND m.person IS NULL AND NOT {_has_another()})
    """
    values = found.number, scope.owner, found.person, session_id
    return [number for (number,) in connection.execute(query, values)]


def _delete_deliveries(connection: apsw.Connection, numbers: Sequence[int]) -> None:
    delete_some_texts(connection, HOOKS, numbers)
    connection.executemany("DELETE FROM hook_deliveries WHERE id = ?", ((number,) for number in numbers))


def _delete_words(connection: apsw.Connection) -> None:
    """Delete words that no row refers to any more: names of agents and skills are among them."""
    used = " UNION ".join(f"SELECT {column} FROM usage_groups" for column in _WORDS)
    connection.execute(f"DELETE FROM words WHERE id NOT IN ({used})")
