"""Segments and outlines in SQLite, and all that is kept of one session, read through one connection.

Heads of segments are in a table of their own, so that a session of any length is found one's way in without
reading segments. The last segment of a file, which each new line changes, is kept as it was some lines ago,
with a patch beside its head: an append writes one page of heads, and a segment only when the patch is long.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import apsw
from msgspec import DecodeError, json
from msgspec.structs import astuple, replace

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, OutlineBatch
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.sqlite.archive import SqliteArchive
from turnlog.store.sqlite.connection import translate_damage
from turnlog.store.sqlite.hooks import list_deliveries
from turnlog.store.sqlite.sources import NEWEST
from turnlog.store.sqlite.values import unpack_text
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.segments import (
    SEGMENT,
    PackedSegment,
    Segment,
    SegmentHead,
    pack_patch,
    unpack_segment,
)

__all__ = ["SEGMENT_TABLES", "SegmentCache", "SourceReader", "SqliteSession", "write_outline", "write_segments"]

_HEAD = "number, lines, message, messages, call, calls, events, hooks, sightings, start, reached, problems"
"""As `SegmentHead` has it."""
SEGMENT_TABLES = """
CREATE TABLE segments (
    source     INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    lines      INTEGER NOT NULL,
    message    INTEGER NOT NULL,
    messages   INTEGER NOT NULL,
    call       INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    events     INTEGER NOT NULL,
    hooks      INTEGER NOT NULL,
    sightings  INTEGER NOT NULL,
    start      INTEGER NOT NULL,
    reached    INTEGER NOT NULL,
    problems   INTEGER NOT NULL,
    stamp      INTEGER NOT NULL,       -- by which readers tell what they unpacked: the entry of the feed
    data       INTEGER NOT NULL,       -- a row of segment_data
    patch      BLOB,                   -- what it became since then
    PRIMARY KEY (source, number)
) WITHOUT ROWID;
CREATE TABLE segment_data (
    id      INTEGER PRIMARY KEY,
    packed  BLOB NOT NULL
);
CREATE TRIGGER delete_segment_data AFTER DELETE ON segments BEGIN
    DELETE FROM segment_data WHERE id = old.data;
END;
CREATE TABLE outlines (
    session  INTEGER NOT NULL,
    kind     TEXT NOT NULL,            -- turns or agents
    number   INTEGER NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (session, kind, number)
) WITHOUT ROWID;
"""
_LONGEST_PATCH = 800
"""Bytes; a longer one would need a page of its own."""
_LONGEST_CONTEXT = 60_000
"""Characters; a longer context is left out."""
_KEPT = 256
"""How many segments stay unpacked: some 50 MB, if all of their sections were looked at."""
_LINES = (SourceKind.TRANSCRIPT, SourceKind.AGENT, SourceKind.JOURNAL)
"""The kinds of files that have segments."""


def write_segments(connection: apsw.Connection, sources: dict[str, int], batch: ChapterBatch) -> bool:
    """Replace the segments of a file that differ; return whether any does.

    Raises `StoreError` if it is no file of the session, or segments would be missing.
    """
    source = sources.get(batch.source)
    if source is None:
        raise StoreError(f"Expected segments of files of the session, found some of {batch.source}")
    connection.execute("DELETE FROM segments WHERE source = ? AND number >= ?", (source, batch.count))
    changed = bool(connection.changes())
    for segment in batch.segments:
        changed = _write_segment(connection, source, segment) or changed
    query = "SELECT count(*) FROM segments WHERE source = ?"
    _check_count(connection.execute(query, (source,)), batch.count, f"segments of {batch.source}")
    return changed


def _write_segment(connection: apsw.Connection, source: int, segment: PackedSegment) -> bool:
    head, place = astuple(segment.head), (source, segment.head.number)
    found = connection.execute(
        f"SELECT g.data, g.patch, CAST(d.packed AS BLOB), {_HEAD} FROM segments AS g "
        "JOIN segment_data AS d ON d.id = g.data WHERE source = ? AND number = ?",
        place,
    )
    known = found.fetchone()
    patch = None
    if known is None:
        connection.execute("INSERT INTO segment_data (packed) VALUES (?)", (segment.data,))
        number = connection.last_insert_rowid()
    else:
        number, former, base, *known_head = known
        if segment.head.lines < SEGMENT and segment.data != base:
            patch = _find_patch(segment.data, base)
        # The head counts too: a segment without messages is the same bytes, however many are before it.
        is_base = segment.data == base or patch is not None
        if is_base and (patch, *head) == (former, *known_head):
            return False
        if not is_base:
            connection.execute("UPDATE segment_data SET packed = ? WHERE id = ?", (segment.data, number))
    marks = ", ".join("?" * 15)
    connection.execute(
        f"REPLACE INTO segments (source, {_HEAD}, data, patch, stamp) "
        f"VALUES ({marks}, (SELECT ifnull(max(seq), 0) + 1 FROM changes))",
        (source, *head, number, patch),
    )
    return True


def _find_patch(data: bytes, base: bytes) -> bytes | None:
    """Return what makes a segment of an earlier state; None if that is long, or the earlier one is damaged."""
    try:
        patch = pack_patch(data, base)
    except DecodeError:
        return None
    return patch if len(patch) <= _LONGEST_PATCH else None


def write_outline(connection: apsw.Connection, session: int, batch: OutlineBatch) -> bool:
    """Replace the parts of a session's turns or agents that differ; return whether any does."""
    values = session, batch.kind
    connection.execute(
        "DELETE FROM outlines WHERE session = ? AND kind = ? AND number >= ?", (*values, batch.count)
    )
    changed = bool(connection.changes())
    for number, data in batch.parts:
        connection.execute(
            "INSERT INTO outlines VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET data = ?4 WHERE data <> ?4",
            (*values, number, data),
        )
        changed = bool(connection.changes()) or changed
    query = "SELECT count(*) FROM outlines WHERE session = ? AND kind = ?"
    _check_count(connection.execute(query, values), batch.count, f"parts of {batch.kind}")
    return changed


def _check_count(found: apsw.Cursor, expected: int, what: str) -> None:
    """Expect no gaps: segments and parts are found by their numbers."""
    [(count,)] = found
    if count != expected:
        raise StoreError(f"Expected {expected} {what}, there would be {count}")


SegmentKey = tuple[int, int, int]
"""Source, number and stamp."""


class SegmentCache:
    """Segments that were unpacked lately."""

    def __init__(self) -> None:
        self._segments: OrderedDict[SegmentKey, Segment] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, connection: apsw.Connection, key: SegmentKey) -> Segment:
        """Return a segment, in the transaction in which its stamp was read."""
        with self._lock:
            found = self._segments.get(key)
            if found is not None:
                self._segments.move_to_end(key)
                return found
        # A damaged cell may call itself text.
        query = """
        SELECT CAST(d.packed AS BLOB), CAST(g.patch AS BLOB) FROM segments AS g
        JOIN segment_data AS d ON d.id = g.data WHERE g.source = ? AND g.number = ?
        """
        row = connection.execute(query, key[:2]).fetchone()
        if row is None:
            raise DecodeError("The records of a segment are missing")
        found = unpack_segment(*row)
        with self._lock:
            self._segments[key] = found
            while len(self._segments) > _KEPT:
                self._segments.popitem(last=False)
        return found

    def clear(self) -> None:
        """Forget all of them: some may have been rolled back."""
        with self._lock:
            self._segments.clear()


class SourceReader:
    """Reads the segments of files whose numbers are known."""

    def __init__(self, connection: apsw.Connection, cache: SegmentCache) -> None:
        self._connection = connection
        self._cache = cache
        self._path = Path(connection.filename)
        self.sources: dict[str, int] = {}
        self._stamps: dict[str, list[int]] = {}

    def list_heads(self, source: str) -> list[SegmentHead]:
        """Return the heads of a file's segments, in order."""
        query = f"SELECT stamp, {_HEAD} FROM segments WHERE source = ? ORDER BY number"
        rows = self._run(query, (self.sources[source],))
        self._stamps[source] = [row[0] for row in rows]
        return [SegmentHead(*row[1:]) for row in rows]

    def load_segment(self, source: str, number: int) -> Segment:
        """Return a segment; raises `KeyError` for one that is not there."""
        try:
            key = self.sources[source], number, self._stamps[source][number]
        except IndexError:
            raise KeyError(number) from None
        with translate_damage(self._path):
            return self._cache.load(self._connection, key)

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return no bytes: whoever reads segments alone has no archive."""
        raise KeyError(source)

    def _run(self, query: str, values: Any) -> list[tuple[Any, ...]]:
        """Ask the database; what is wrong with it is raised here, as `StoreError`."""
        with translate_damage(self._path):
            rows: list[tuple[Any, ...]] = self._connection.execute(query, values).fetchall()
            return rows


class SqliteSession(SourceReader):
    """All that is kept of one session, within a transaction of its connection."""

    def __init__(
        self,
        connection: apsw.Connection,
        archive: SqliteArchive,
        cache: SegmentCache,
        scope: Scope,
        key: str,
        hooks: str | None,
    ) -> None:
        super().__init__(connection, cache)
        self._archive = archive
        self._scope = scope
        self._key = key
        self._hooks = hooks
        rows = self._run("SELECT id FROM sessions WHERE owner = ? AND key = ?", (scope.owner, key))
        self._session = next((int(number) for (number,) in rows), None)

    def list_chapters(self) -> list[ChapterFacts]:
        """Return its files of lines: the transcript's first, then by source.

        Of several transcripts, that one counts which was read: the others have no segments.
        """
        query = f"""
        SELECT s.id, s.source, s.kind, s.agent_id, g.generation, p.path,
            EXISTS (SELECT 1 FROM segments WHERE source = s.id)
        {NEWEST} WHERE s.session = ? AND s.kind IN ({", ".join("?" * len(_LINES))}) ORDER BY s.source
        """
        rows = self._run(query, (self._session, *map(str, _LINES)))
        mains = [(not row[6], row[1] != self._key, row[1]) for row in rows if row[2] == SourceKind.TRANSCRIPT]
        main = min(mains)[2] if mains else None
        found = []
        for number, source, kind, agent_id, generation, path, _ in rows:
            self.sources[source] = number
            found.append(
                ChapterFacts(
                    source=source,
                    generation=generation,
                    is_main=source == main,
                    is_conversation=kind != SourceKind.JOURNAL,
                    agent_id=unpack_text(agent_id),
                    path=unpack_text(path),
                )
            )
        return sorted(found, key=lambda facts: not facts.is_main)

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return bytes of a file, by offset and length."""
        return self._archive.read_spans(self._scope, source, generation, spans)

    def count_outline(self, kind: str) -> int:
        """Return how many parts there are of turns or agents."""
        query = "SELECT count(*) FROM outlines WHERE session = ? AND kind = ?"
        [(count,)] = self._run(query, (self._session, kind))
        return int(count)

    def load_outline(self, kind: str, numbers: range) -> list[bytes]:
        """Return parts of turns or agents, packed."""
        query = """
        SELECT CAST(data AS BLOB) FROM outlines WHERE session = ? AND kind = ? AND number >= ? AND number < ?
        ORDER BY number
        """
        values = self._session, kind, numbers.start, numbers.stop
        return [data for (data,) in self._run(query, values)]

    def list_hooks(self, which: DeliveryFilter) -> list[HookDelivery]:
        """Return hook events, without their payloads."""
        if self._hooks is None:
            return []
        own = replace(which, session_id=self._hooks, events_only=True, payloads=False)
        with translate_damage(self._path):
            return list_deliveries(self._connection, self._scope, own)

    def find_last_hook(self, names: Collection[str]) -> int | None:
        """Return when the last of some events came."""
        query = """
        SELECT max(received_ns) FROM hook_deliveries INDEXED BY hook_deliveries_by_session
        WHERE owner = ? AND session_id = ? AND event_name IN (SELECT value FROM json_each(?))
        """
        [(last,)] = self._run(query, (self._scope.owner, self._hooks, json.encode(sorted(names)).decode()))
        return None if last is None else int(last)
