"""Segments and outlines as rows, and all that is kept of one session, read through one connection.

Heads of segments are in a table of their own, so that a session of any length is found one's way in without
reading segments. The last segment of a file, which each new line changes, is kept as it was some lines ago,
with a patch beside its head: an append writes one page of heads, and a segment only when the patch is long.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import DecodeError
from msgspec.structs import astuple, replace

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, OutlineBatch
from turnlog.store.catalogue.archive import CatalogueArchive, StoredFile
from turnlog.store.catalogue.database import MOST, Connection, Row, pack_text, same_text, unpack_text
from turnlog.store.catalogue.hooks import list_deliveries
from turnlog.store.frames import have_same
from turnlog.store.model import Scope, SourceKind
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.segments import (
    SEGMENT,
    PackedSegment,
    Segment,
    SegmentHead,
    pack_patch,
    unpack_segment,
)

_HEAD = "number, lines, message, messages, call, calls, events, hooks, sightings, start, reached, problems"
"""As `SegmentHead` has it."""
_SET = ", ".join(f"{name} = excluded.{name}" for name in (*_HEAD.split(", ")[1:], "stamp", "patch"))
_LONGEST_PATCH = 800
"""Bytes; a longer one would need a page of its own."""
_KEPT = 256
"""How many segments stay unpacked: some 50 MB, if all of their sections were looked at."""
_LINES = (SourceKind.TRANSCRIPT, SourceKind.AGENT, SourceKind.JOURNAL)
"""The kinds of files that have segments."""
# A damaged cell may call itself text.
_LOAD = """
SELECT CAST(d.packed AS @@bytes), CAST(g.patch AS @@bytes) FROM segments AS g
JOIN segment_data AS d ON d.source = g.source AND d.number = g.number WHERE g.source = ? AND g.number = ?
"""
_LOAD_SOME = """
SELECT g.source, g.number, d.packed, g.patch
FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS w(source, number)
JOIN segments AS g ON g.source = w.source AND g.number = w.number
JOIN segment_data AS d ON d.source = w.source AND d.number = w.number
"""
"""On PostgreSQL."""
_FACTS = 9
"""How many columns come before those of a head."""
_CHAPTERS = f"""
SELECT e.id, s.id, g.id, g.length, s.source, s.kind, g.generation, s.agent_id, s.path, h.stamp,
    {", ".join(f"h.{name}" for name in _HEAD.split(", "))}
FROM sessions AS e JOIN sources AS s ON s.session = e.id JOIN generations AS g ON g.id = s.newest
LEFT JOIN segments AS h ON h.source = s.id
WHERE e.owner = ? AND e.key IN @@texts(?) AND s.kind IN @@texts(?) ORDER BY s.source, h.number
"""
_SESSION = "SELECT id FROM sessions WHERE owner = ? AND key IN @@texts(?)"


def write_segments(
    connection: Connection, sources: Mapping[str, int], batch: ChapterBatch, *, is_new: bool
) -> bool:
    """Replace the segments of a file that differ; return whether any does. One that `is_new` has none yet.

    Raises `StoreError` if it is no file of the session, or segments would be missing.
    """
    source = sources.get(batch.source)
    if source is None:
        raise StoreError(f"Expected segments of files of the session, found some of {batch.source}")
    what = f"segments of {batch.source}"
    if is_new:
        _check_count(len(batch.segments), batch.count, what)
        return _replace_segments(connection, source, batch.segments, {})
    changed = delete_segments(connection, source, batch.count)
    if batch.segments:
        known = _list_replaced(connection, source, batch.segments)
        changed = _replace_segments(connection, source, batch.segments, known) or changed
    [(count,)] = connection.execute("SELECT count(*) FROM segments WHERE source = ?", (source,))
    _check_count(count, batch.count, what)
    return changed


def delete_segments(connection: Connection, source: int, first: int = 0) -> bool:
    """Delete the segments of a file from a number on; return whether there were any."""
    if not connection.change("DELETE FROM segments WHERE source = ? AND number >= ?", (source, first)):
        return False
    connection.execute("DELETE FROM segment_data WHERE source = ? AND number >= ?", (source, first))
    return True


def _list_replaced(connection: Connection, source: int, segments: Sequence[PackedSegment]) -> dict[int, Row]:
    """Return the segments that are there in the place of some: patch, data and head of each."""
    numbers = [segment.head.number for segment in segments]
    query = f"""
    SELECT g.patch, CAST(d.packed AS @@bytes), {", ".join(f"g.{name}" for name in _HEAD.split(", "))}
    FROM segments AS g JOIN segment_data AS d ON d.source = g.source AND d.number = g.number
    WHERE g.source = ? AND g.number IN @@ints(?)
    """
    return {row[2]: row for row in connection.execute(query, (source, numbers))}


def _replace_segments(
    connection: Connection, source: int, segments: Sequence[PackedSegment], known: Mapping[int, Row]
) -> bool:
    """Write the segments that differ from those that are there; return whether any does."""
    [(last,)] = connection.execute("SELECT coalesce(max(seq), 0) FROM changes")
    heads, data = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for segment in segments:
        head, patch, is_base = astuple(segment.head), None, False
        if segment.head.number in known:
            former, base, *known_head = known[segment.head.number]
            is_same = have_same(segment.data, base)
            if segment.head.lines < SEGMENT and not is_same:
                patch = _find_patch(segment.data, base)
            # The head counts too: a segment without messages is the same bytes, however many are before it.
            is_base = is_same or patch is not None
            if is_base and (patch, *head) == (former, *known_head):
                continue
        if not is_base:
            data.append((source, segment.head.number, segment.data))
        heads.append((source, *head, patch, last + 1))
    if data:
        connection.change_many(
            "INSERT INTO segment_data VALUES (?, ?, ?) "
            "ON CONFLICT (source, number) DO UPDATE SET packed = excluded.packed",
            data,
        )
    if heads:
        connection.change_many(
            f"INSERT INTO segments (source, {_HEAD}, patch, stamp) VALUES ({', '.join('?' * 15)}) "
            f"ON CONFLICT (source, number) DO UPDATE SET {_SET}",
            heads,
        )
    return bool(heads)


def _find_patch(data: bytes, base: bytes) -> bytes | None:
    """Return what makes a segment of an earlier state; None if that is long, or the earlier one is damaged."""
    try:
        patch = pack_patch(data, base)
    except DecodeError:
        return None
    return patch if len(patch) <= _LONGEST_PATCH else None


def write_outline(connection: Connection, session: int, batch: OutlineBatch, *, is_new: bool) -> bool:
    """Replace the parts of a session's turns or agents that differ; return whether any does.

    A session that `is_new` has none yet.
    """
    values, what = (session, batch.kind), f"parts of {batch.kind}"
    if is_new:
        _check_count(len(batch.parts), batch.count, what)
        if batch.parts:
            rows = [(*values, number, data) for number, data in batch.parts]
            connection.change_many("INSERT INTO outlines VALUES (?, ?, ?, ?)", rows)
        return bool(batch.parts)
    query = "DELETE FROM outlines WHERE session = ? AND kind = ? AND number >= ?"
    changed = bool(connection.change(query, (*values, batch.count)))
    for number, data in batch.parts:
        query = """
        INSERT INTO outlines VALUES (?, ?, ?, ?)
        ON CONFLICT (session, kind, number) DO UPDATE SET data = excluded.data
        WHERE outlines.data <> excluded.data
        """
        changed = bool(connection.change(query, (*values, number, data))) or changed
    [(count,)] = connection.execute("SELECT count(*) FROM outlines WHERE session = ? AND kind = ?", values)
    _check_count(count, batch.count, what)
    return changed


def _check_count(count: int, expected: int, what: str) -> None:
    """Expect no gaps: segments and parts are found by their numbers."""
    if count != expected:
        raise StoreError(f"Expected {expected} {what}, there would be {count}")


SegmentKey = tuple[int, int, int]
"""Source, number and stamp."""


def load_segment(connection: Connection, source: int, number: int) -> Segment:
    """Return a segment by its number; raises `KeyError` if there is none."""
    rows = connection.execute(_LOAD, (source, number))
    if not rows:
        raise KeyError(number)
    [(cell, patch)] = rows
    [packed] = connection.load([cell])
    if isinstance(packed, ValueError):
        raise DecodeError(str(packed))
    return unpack_segment(packed, patch)


def load_segments(
    connection: Connection, wanted: Collection[tuple[int, int]]
) -> dict[tuple[int, int], Segment]:
    """Return segments by source and number, side by side; those that are missing or damaged are left out."""
    if not wanted:
        return {}
    sources, numbers = zip(*sorted(wanted), strict=True)
    rows = connection.execute(_LOAD_SOME, ([*sources], [*numbers]))
    loaded = connection.load([cell for _, _, cell, _ in rows])
    found = {}
    for (source, number, _, patch), packed in zip(rows, loaded, strict=True):
        if not isinstance(packed, ValueError):
            with suppress(DecodeError, ValueError):
                found[source, number] = unpack_segment(packed, patch)
    return found


class SegmentCache:
    """Segments that were unpacked lately."""

    def __init__(self) -> None:
        self._segments: OrderedDict[SegmentKey, Segment] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, connection: Connection, key: SegmentKey) -> Segment:
        """Return a segment, in the transaction in which its stamp was read."""
        with self._lock:
            found = self._segments.get(key)
            if found is not None:
                self._segments.move_to_end(key)
                return found
        try:
            found = load_segment(connection, *key[:2])
        except KeyError:
            raise DecodeError("The records of a segment are missing") from None
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

    def __init__(self, connection: Connection, cache: SegmentCache) -> None:
        self._connection = connection
        self._cache = cache
        self.sources: dict[str, int] = {}
        self._stamps: dict[str, list[int]] = {}

    def list_heads(self, source: str) -> list[SegmentHead]:
        """Return the heads of a file's segments, in order."""
        query = f"SELECT stamp, {_HEAD} FROM segments WHERE source = ? ORDER BY number"
        rows = self._connection.execute(query, (self.sources[source],))
        self._stamps[source] = [row[0] for row in rows]
        return [SegmentHead(*row[1:]) for row in rows]

    def load_segment(self, source: str, number: int) -> Segment:
        """Return a segment; raises `KeyError` for one that is not there."""
        try:
            key = self.sources[source], number, self._stamps[source][number]
        except IndexError:
            raise KeyError(number) from None
        return self._cache.load(self._connection, key)

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return no bytes: whoever reads segments alone has no archive."""
        raise KeyError(source)


class CatalogueSession(SourceReader):
    """All that is kept of one session, within a transaction of its connection."""

    def __init__(
        self,
        connection: Connection,
        archive: CatalogueArchive,
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
        self._files: dict[str, StoredFile] = {}
        self._heads: dict[str, list[SegmentHead]] = {}
        # All that a window is found by, at once: each statement is a way to the server and back.
        self._rows = connection.execute(_CHAPTERS, (scope.owner, [key], [*map(str, _LINES)]))
        known = self._rows or connection.execute(_SESSION, (scope.owner, [key]))
        self._session = int(known[0][0]) if known else None

    def list_chapters(self) -> list[ChapterFacts]:
        """Return its files of lines: the transcript's first, then by source.

        Of several transcripts, that one counts which was read: the others have no segments.
        """
        files: dict[str, tuple[Any, ...]] = {}
        for row in self._rows:
            _, number, file, length, source, *facts = row[:_FACTS]
            if source not in files:
                files[source] = tuple(facts)
                self.sources[source] = number
                self._files[source] = StoredFile(file, length)
                self._stamps[source], self._heads[source] = [], []
            stamp, *head = row[_FACTS:]
            if stamp is not None:
                self._stamps[source].append(stamp)
                self._heads[source].append(SegmentHead(*head))
        mains = [
            (not self._heads[source], source != self._key, source)
            for source, (kind, *_) in files.items()
            if kind == SourceKind.TRANSCRIPT
        ]
        main = min(mains)[2] if mains else None
        found = [
            ChapterFacts(
                source=source,
                generation=generation,
                is_main=source == main,
                is_conversation=kind != SourceKind.JOURNAL,
                agent_id=unpack_text(agent_id),
                path=unpack_text(path),
            )
            for source, (kind, generation, agent_id, path) in files.items()
        ]
        return sorted(found, key=lambda facts: not facts.is_main)

    def list_heads(self, source: str) -> list[SegmentHead]:
        """Return the heads of a file's segments, in order."""
        return self._heads[source]

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return bytes of a file, by offset and length."""
        file = self._files[source]
        return self._archive.read_spans(self._connection, self._scope, source, generation, spans, file)

    def count_outline(self, kind: str) -> int:
        """Return how many parts there are of turns or agents."""
        query = "SELECT count(*) FROM outlines WHERE session = ? AND kind = ?"
        [(count,)] = self._connection.execute(query, (self._session, kind))
        return int(count)

    def load_outline(self, kind: str, numbers: range) -> list[bytes]:
        """Return parts of turns or agents, packed."""
        query = """
        SELECT CAST(data AS @@bytes) FROM outlines WHERE session = ? AND kind = ? AND number >= ? AND number < ?
        ORDER BY number
        """
        values = self._session, kind, min(numbers.start, MOST), min(numbers.stop, MOST)
        return [data for (data,) in self._connection.execute(query, values)]

    def list_hooks(self, which: DeliveryFilter) -> list[HookDelivery]:
        """Return hook events, without their payloads."""
        if self._hooks is None:
            return []
        own = replace(which, session_id=self._hooks, events_only=True, payloads=False)
        return list_deliveries(self._connection, self._scope, own)

    def find_last_hook(self, names: Collection[str]) -> int | None:
        """Return when the last of some events came."""
        if self._hooks is None:
            return None
        query = f"""
        SELECT max(received_ns) FROM hook_deliveries
        WHERE owner = :owner AND {same_text("session_id", ":session")} AND event_name IN @@blobs(:names)
        """
        values = {"owner": self._scope.owner, "session": pack_text(self._hooks)}
        [(last,)] = self._connection.execute(query, {**values, "names": list(map(pack_text, names))})
        return None if last is None else int(last)
