"""Which blobs there are, what refers to them, and moving bytes there, on PostgreSQL.

A name is written down before its blob is, and the database itself counts, by triggers, how many frames and
segments refer to it. A transaction that would refer to a name that is not there, or is about to be deleted,
fails, and its writer begins again with new blobs. So nobody relies on a blob that is gone, whatever dies when.

What nothing refers to any more is deleted after a while, for the sake of those who are still reading; what a
session that is forgotten referred to last, in the transaction that forgets it. Both only mark names: then the
blobs are deleted, then the names. Whoever is killed in between leaves marks, from which the next one goes on.
Names are never used twice, so deleting can neither come too late nor meet what others write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, Derived, SessionBatch
from turnlog.store.blobs import BlobReader
from turnlog.store.catalogue.database import Connection, Database, Row
from turnlog.store.catalogue.postgres import GoneBlobError
from turnlog.store.frames import SHORTEST, make_name, stem_of
from turnlog.store.interface import Flaw
from turnlog.store.model import BlobPlace
from turnlog.transcripts.segments import SEGMENT

T = TypeVar("T")

_TRIES = 5
"""How often blobs are written for a transaction that others delete them from under."""
_SOME = 64
"""How many blobs are moved at once."""
_MANY = 1000
"""How many are deleted at once: as many as a request can name."""
_HOUR_NS = 3600 * 10**9
_MOST_NS = 1 << 60
_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"
_TABLES = f"""
CREATE TABLE blobs (
    name    bytea PRIMARY KEY,
    size    bigint NOT NULL,
    refs    bigint,                           -- none until it is referred to; -1 for one that is to be deleted
    at_ns   bigint NOT NULL,                  -- since when it is as it is
    source  bigint                            -- the file that referred to it last
);
CREATE INDEX blobs_unused ON blobs (at_ns) WHERE coalesce(refs, 0) <= 0;
CREATE FUNCTION refer_to_blob(wanted bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE blobs SET refs = coalesce(refs, 0) + 1 WHERE name = wanted AND coalesce(refs, 0) >= 0;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'the blob is gone: ' || encode(wanted, 'escape');
    END IF;
END
$$;
CREATE FUNCTION let_go_of_blob(former bytea, file bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE blobs SET refs = refs - 1, at_ns = {_NOW}, source = file WHERE name = former
$$;
CREATE FUNCTION is_blob(cell bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(cell) < {SHORTEST}
        AND (substr(cell, 1, 7) = 'frames/'::bytea OR substr(cell, 1, 9) = 'segments/'::bytea)
$$;
CREATE FUNCTION count_frame() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND is_blob(OLD.data) THEN
        PERFORM let_go_of_blob(OLD.data, (SELECT source FROM generations WHERE id = OLD.generation));
    END IF;
    IF TG_OP <> 'DELETE' AND is_blob(NEW.data) THEN
        PERFORM refer_to_blob(NEW.data);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION count_segment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND is_blob(OLD.packed) THEN
        PERFORM let_go_of_blob(OLD.packed, OLD.source);
    END IF;
    IF TG_OP <> 'DELETE' AND is_blob(NEW.packed) THEN
        PERFORM refer_to_blob(NEW.packed);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION forget_blobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE blobs SET refs = -1 WHERE refs = 0 AND source = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_frame AFTER INSERT OR UPDATE OF data OR DELETE ON frames
    FOR EACH ROW EXECUTE FUNCTION count_frame();
CREATE TRIGGER count_segment AFTER INSERT OR UPDATE OF packed OR DELETE ON segment_data
    FOR EACH ROW EXECUTE FUNCTION count_segment();
CREATE TRIGGER forget_blobs AFTER DELETE ON sources FOR EACH ROW EXECUTE FUNCTION forget_blobs();
"""
_FIND = """
SELECT w.value, b.name FROM @@blobs(?) AS w CROSS JOIN LATERAL (
    SELECT name FROM blobs WHERE name > w.value AND name < w.value || '\\xff'::bytea AND refs > 0
    ORDER BY name LIMIT 1
) AS b
"""
_FRAMES = f"""
SELECT generation, start, data FROM frames AS f
WHERE (generation, start) > (:file, :number) AND octet_length(data) >= {SHORTEST} {{where}}
ORDER BY generation, start LIMIT {_SOME}
"""
_OF_SOURCES = """AND generation IN (
    SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source WHERE s.source IN @@texts(:sources)
)"""
_SEGMENTS = f"""
SELECT d.source, d.number, d.packed FROM segment_data AS d
JOIN segments AS g ON g.source = d.source AND g.number = d.number
WHERE (d.source, d.number) > (:file, :number) AND octet_length(d.packed) >= {SHORTEST} AND g.lines = {SEGMENT}
ORDER BY d.source, d.number LIMIT {_SOME}
"""
_MOVES = {
    "frames": "UPDATE frames SET data = ? WHERE generation = ? AND start = ? AND data = ?",
    "segments": "UPDATE segment_data SET packed = ? WHERE source = ? AND number = ? AND packed = ?",
}
_MISCOUNTED = """
SELECT coalesce(b.name, r.name), coalesce(b.refs, 0), coalesce(r.refs, 0) FROM blobs AS b FULL JOIN (
    SELECT name, count(*) AS refs FROM (
        SELECT data AS name FROM frames WHERE is_blob(data)
        UNION ALL SELECT packed FROM segment_data WHERE is_blob(packed)
    ) AS cells GROUP BY name
) AS r ON r.name = b.name
WHERE greatest(coalesce(b.refs, 0), 0) <> coalesce(r.refs, 0) ORDER BY 1 LIMIT 20
"""


def create_blob_tables(connection: Connection) -> None:
    """Make the table of blobs, and let the database count what refers to them."""
    connection.execute(_TABLES)


class BlobKeeper:
    """Writes blobs, lets batches refer to them, and deletes those that are no longer needed."""

    def __init__(self, place: BlobPlace, reader: BlobReader, database: Database) -> None:
        self._grace_ns = min(round(place.grace_hours * _HOUR_NS), _MOST_NS)
        self._reader = reader
        self._database = database

    def store(self, batches: Sequence[SessionBatch], write: Callable[[Sequence[SessionBatch]], T]) -> T:
        """Write the sealed frames and full segments of batches as blobs, and then what refers to them."""
        found = {
            frame.data: "frames"
            for batch in batches
            for source in batch.sources
            for frame in source.frames
            if frame.start + frame.length <= source.sealed
        }
        for batch in batches:
            found |= _list_full(batch.derived)
        return self._put(found, lambda names: write([_refer(batch, names) for batch in batches]))

    def store_anew(self, derived: Derived | None, write: Callable[[Derived | None], T]) -> T:
        """Do the same with what follows from a session's lines; what there is of it may be damaged."""
        return self._put(_list_full(derived), lambda names: write(_refer_derived(derived, names)), is_new=True)

    def move(self, between: Callable[[], object]) -> None:
        """Move all frames and segments from the tables that could be in blobs."""
        self._move("frames", _FRAMES.format(where=""), {}, between)
        self._move("segments", _SEGMENTS, {}, between)

    def move_some(self, sources: Sequence[str], *, is_new: bool = False) -> None:
        """Move the frames of some files; those that cannot be moved just now stay where they are.

        Where they are new, there is a damaged blob of the same bytes.
        """
        if sources:
            with suppress(StoreError):
                where, values = _FRAMES.format(where=_OF_SOURCES), {"sources": [*sources]}
                self._move("frames", where, values, lambda: None, is_new=is_new)

    def collect(self) -> None:
        """Delete what nothing has referred to for a while."""
        self._change(
            f"UPDATE blobs SET refs = -1 WHERE coalesce(refs, 0) = 0 AND at_ns <= {_NOW} - ?::bigint",
            self._grace_ns,
        )
        self.sweep()

    def sweep(self) -> None:
        """Delete what is marked."""
        query = f"SELECT name FROM blobs WHERE coalesce(refs, 0) = -1 LIMIT {_MANY}"
        while names := [name for (name,) in self._ask(query)]:
            self._reader.blobs.delete([name.decode() for name in names])
            self._change("DELETE FROM blobs WHERE refs = -1 AND name IN @@blobs(?)", names)

    def measure(self) -> int:
        """Return how many bytes blobs take, those included that are to be deleted."""
        [(size,)] = self._ask("SELECT coalesce(sum(size), 0)::bigint FROM blobs")
        return int(size)

    def check(self) -> None:
        """Raise `StoreError` if blobs cannot be read."""
        with suppress(KeyError):
            self._reader.blobs.get("frames/none")

    def list_flaws(self) -> Iterator[Flaw]:
        """Yield where the table of blobs disagrees with what refers to them."""
        for name, known, found in self._ask(_MISCOUNTED):
            yield Flaw(None, f"{found} rows refer to the blob {name.decode()}, {known} are counted")

    def _put(
        self, found: Mapping[bytes, str], write: Callable[[Mapping[bytes, bytes]], T], *, is_new: bool = False
    ) -> T:
        """Have bytes in blobs, by their kinds, and write their names; with `is_new`, none that others have."""
        stems = {data: stem_of(kind, data) for data, kind in found.items() if len(data) >= SHORTEST}
        if not stems:
            return write({})
        for left in reversed(range(_TRIES)):
            known: dict[bytes, bytes] = {} if is_new else dict(self._ask(_FIND, [*stems.values()]))
            names = {data: known.get(stem) or make_name(stem) for data, stem in stems.items()}
            new = {name: data for data, name in names.items() if stems[data] not in known}
            try:
                self._write_blobs(new)
                return write(names)
            except GoneBlobError:
                if not left:
                    raise
            finally:
                self._drop([*new])
        raise AssertionError("unreachable")

    def _write_blobs(self, new: Mapping[bytes, bytes]) -> None:
        if new:
            query = f"INSERT INTO blobs (name, size, at_ns) VALUES (?, ?, {_NOW}) ON CONFLICT DO NOTHING"
            rows = [(name, len(data)) for name, data in new.items()]
            self._database.write(lambda connection: connection.change_many(query, rows), is_repeatable=True)
            self._reader.do_all(lambda name: self._reader.blobs.put(name.decode(), new[name]), new)

    def _drop(self, names: Sequence[bytes]) -> None:
        """Delete those of our own that nothing refers to: it was there already, or was refused."""
        if not names:
            return
        with suppress(StoreError):  # then they are collected later
            if self._change("UPDATE blobs SET refs = -1 WHERE refs IS NULL AND name IN @@blobs(?)", [*names]):
                self.sweep()
            # Whoever took longer than the grace period may have written a blob whose name was collected before.
            known = {name for (name,) in self._ask("SELECT name FROM blobs WHERE name IN @@blobs(?)", [*names])}
            if gone := [name.decode() for name in names if name not in known]:
                self._reader.blobs.delete(gone)

    def _move(
        self,
        kind: str,
        query: str,
        values: Mapping[str, object],
        between: Callable[[], object],
        *,
        is_new: bool = False,
    ) -> None:
        rows: list[Row] = [(-1, -1)]
        while rows := self._ask(query, **values, file=rows[-1][0], number=rows[-1][1]):
            update = partial(self._replace, kind, rows)
            self._put({data: kind for *_, data in rows}, update, is_new=is_new)
            between()

    def _replace(self, kind: str, rows: Sequence[Row], names: Mapping[bytes, bytes]) -> None:
        moved = [(names[data], *place, data) for *place, data in rows]
        self._database.write(lambda connection: connection.change_many(_MOVES[kind], moved), is_repeatable=True)

    def _ask(self, query: str, *values: object, **named: object) -> list[Row]:
        return self._database.read(lambda connection: connection.execute(query, named or values))

    def _change(self, query: str, *values: object) -> int:
        """Change something that may be changed again, and return how many rows it is."""
        return self._database.write(lambda connection: connection.change(query, values), is_repeatable=True)


def _list_full(derived: Derived | None) -> dict[bytes, str]:
    """Return the segments that are full: the last one of a file, which grows on, stays in the database."""
    chapters = () if derived is None else derived.chapters
    segments = (segment for chapter in chapters for segment in chapter.segments)
    return {segment.data: "segments" for segment in segments if segment.head.lines == SEGMENT}


def _refer(batch: SessionBatch, names: Mapping[bytes, bytes]) -> SessionBatch:
    if not names:
        return batch
    sources = tuple(
        replace(
            source,
            frames=tuple(
                replace(frame, data=names.get(frame.data, frame.data))
                if frame.start + frame.length <= source.sealed
                else frame
                for frame in source.frames
            ),
        )
        for source in batch.sources
    )
    return replace(batch, sources=sources, derived=_refer_derived(batch.derived, names))


def _refer_derived(derived: Derived | None, names: Mapping[bytes, bytes]) -> Derived | None:
    if derived is None or not names:
        return derived
    return replace(derived, chapters=tuple(_refer_chapter(chapter, names) for chapter in derived.chapters))


def _refer_chapter(chapter: ChapterBatch, names: Mapping[bytes, bytes]) -> ChapterBatch:
    segments = tuple(
        replace(segment, data=names.get(segment.data, segment.data))
        if segment.head.lines == SEGMENT
        else segment
        for segment in chapter.segments
    )
    return replace(chapter, segments=segments)
