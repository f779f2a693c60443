"""What is forgotten is gone: from every answer, from every byte of the store's files, and for good."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from turnlog.store.batch import Derived
from turnlog.store.catalogue.sqlite import Options
from turnlog.store.catalogue.sqlite_engine import SqliteEngine
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.frames import compress
from turnlog.store.interface import MaintainedStore, Maintenance, find_known, read_all
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines, make_session_row
from turnlog.testing.checks import collect_answers

NEEDLE = "zq8-needle"
KEPT = "zq8-kept"


def fill(store: MaintainedStore, session_id: str, word: str) -> str:
    """Put a session into a store that has a word in its lines, title, agent and paths, and return its key."""
    files = {
        f"{session_id}.jsonl": make_lines(4, session_id=session_id) + make_line(5, text=word * 3),
        f"{session_id}/subagents/agent-{word}.jsonl": make_lines(2, agent_id=word),
        f"{session_id}/tool-results/{word}.txt": word.encode() * 5,
    }
    batch = make_batch(files, session_id=session_id)
    assert batch.derived is not None
    session = make_session_row(session_id, title=f"About {word}", project=f"/home/{word}")
    derived = replace(batch.derived, session=session)
    store.apply([make_batch(files, session_id=session_id, derived=derived)])
    return batch.key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "turnlog.db"


@pytest.fixture
def store(path: Path) -> Iterator[MaintainedStore]:
    store = open_store(path)
    yield store
    store.close()


def search(path: Path, words: list[bytes]) -> dict[str, list[bytes]]:
    """Return which words are in which of the store's files, as bytes."""
    files = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    return {name: found for name, data in files.items() if (found := [w for w in words if w in data])}


def read_records(connection: apsw.Connection) -> set[bytes]:
    """Return all segments, turns and agents as they are kept."""
    return {
        bytes(data)
        for table, column in (("segment_data", "packed"), ("outlines", "data"))
        for (data,) in connection.execute(f"SELECT {column} FROM {table}")
    }


def test_nothing_of_a_forgotten_session_is_left_in_any_file(store: MaintainedStore, path: Path) -> None:
    key = fill(store, "one", NEEDLE)
    fill(store, "two", KEPT)
    connection = apsw.Connection(str(path))
    frames = [bytes(data) for (data,) in connection.execute("SELECT data FROM tail_frames")]
    records = read_records(connection)
    assert len(records) == 7, "two files with segments and agents, of two sessions whose turns are the same"
    assert search(path, [NEEDLE.encode()])
    forgotten = store.forget(LOCAL, [key])
    assert (forgotten.sessions, forgotten.files, forgotten.scrubbed) == (1, 3, True)
    assert forgotten.bytes > 0
    kept = find_known(store, LOCAL, make_key("two"))
    assert kept is not None
    ours = {
        compress(b"".join(read_all(store.archive, LOCAL, source.source, source.generation)))
        for source in kept.sources
    }
    gone = [frame for frame in frames if frame not in ours]
    assert len(gone) == 3
    left = read_records(connection)
    connection.close()
    assert len(left) == 4
    gone += records - left
    assert search(path, [NEEDLE.encode(), b"/one", *gone]) == {}
    assert search(path, [KEPT.encode()])


def test_what_earlier_writes_left_behind_is_gone_too(store: MaintainedStore, path: Path) -> None:
    frames: set[bytes] = set()
    for count in range(1, 6):  # frames of the tail are merged, rows are replaced
        known = find_known(store, LOCAL, make_key())
        data = make_lines(count) + make_line(9, text=NEEDLE)
        derived = Derived(session=make_session_row("session-1", title=f"{NEEDLE} {count}"))
        store.apply([make_batch({"session-1.jsonl": data}, known=known, derived=derived)])
        with closing(apsw.Connection(str(path))) as connection:
            query = "SELECT data FROM tail_frames UNION SELECT tail FROM generations WHERE tail IS NOT NULL"
            frames |= {data for (data,) in connection.execute(query)}
    assert len(frames) == 5
    store.forget(LOCAL, [make_key()])
    assert search(path, [NEEDLE.encode(), *frames]) == {}


def test_a_writer_beside_uses_no_words_that_are_gone(store: MaintainedStore, path: Path) -> None:
    key = fill(store, "one", NEEDLE)
    other = open_store(path)
    assert other.forget(LOCAL, [key]).sessions == 1
    other.close()
    fill(store, "two", NEEDLE)  # with the words of the first one, which this writer remembers
    reader = open_store(path, read_only=True)
    answers = collect_answers(reader, LOCAL)
    assert answers["open_session"]
    assert NEEDLE in {cell.agent for cell in reader.read_usage(LOCAL).list_cells()}
    assert answers == collect_answers(store, LOCAL)
    reader.close()


def test_a_reader_beside_keeps_what_it_learned(store: MaintainedStore, path: Path) -> None:
    one, two = fill(store, "one", NEEDLE), fill(store, "two", KEPT)
    reader = open_store(path, read_only=True)
    collect_answers(reader, LOCAL)
    store.forget(LOCAL, [one, two])
    fill(store, "three", "zq8-third")
    fresh = open_store(path, read_only=True)
    assert collect_answers(reader, LOCAL) == collect_answers(fresh, LOCAL)
    reader.close()
    fresh.close()


def test_while_somebody_reads_the_files_cannot_be_scrubbed_and_later_they_can(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store" / "turnlog.db"
    store = CatalogueStore(SqliteEngine(path, options=Options(busy_seconds=0.1)))
    key = fill(store, "one", NEEDLE)
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM sessions").fetchall()
    assert not store.forget(LOCAL, [key]).scrubbed
    reader.close()
    assert store.maintain(Maintenance.PURGE)
    assert search(path, [NEEDLE.encode()]) == {}
    store.close()
