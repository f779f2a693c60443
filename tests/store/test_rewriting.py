"""Facts and rows of a session are written anew, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.errors import StoreError
from turnlog.store.frames import FRAME_SIZE
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.sqlite import SqliteStore
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_line, make_lines

FILE = "session-1.jsonl"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "turnlog.db")
    store.apply([make_batch({FILE: make_lines(6)})])
    store.apply([make_batch({"session-2.jsonl": make_lines(3)}, session_id="session-2")])
    yield store
    store.close()


def test_what_is_written_again_is_the_same_under_a_new_revision(store: SqliteStore) -> None:
    batch = make_batch({FILE: make_lines(6)})
    before = collect_answers(store, LOCAL)
    [source] = batch.sources
    assert batch.derived is not None
    revision = store.rewrite(LOCAL, batch.key, 1, {(source.source, 0): source.lines}, batch.derived)
    after = collect_answers(store, LOCAL)
    same = {"find_known", "list_known", "find_sessions", "list_sessions", "list_changes", "find_last_change"}
    assert {name: found for name, found in after.items() if name not in same} == {
        name: found for name, found in before.items() if name not in same
    }
    known = store.find_known(LOCAL, batch.key)
    assert known is not None
    assert (revision, known.revision, known.sources[0].lines) == (2, 2, 6)
    last = store.list_changes(LOCAL)[-1]
    assert (last.kind, last.session, last.revision) == (ChangeKind.SESSION_CHANGED, batch.key, 2)


def test_a_session_goes_on_after_it_was_rewritten(store: SqliteStore) -> None:
    batch = make_batch({FILE: make_lines(6)})
    assert batch.derived is not None
    store.rewrite(LOCAL, batch.key, 1, {}, batch.derived)
    known = store.find_known(LOCAL, batch.key)
    store.apply([make_batch({FILE: make_lines(8)}, known=known)])
    assert len(store.list_lines(LOCAL, batch.key, 0)) == 8


def test_another_revision_is_refused_and_nothing_is_written(store: SqliteStore) -> None:
    batch = make_batch({FILE: make_lines(6)})
    before = collect_answers(store, LOCAL)
    for scope, key, revision in (
        (LOCAL, batch.key, 2),
        (LOCAL, "nobody", 1),
        (Scope("guest"), batch.key, 1),
    ):
        with pytest.raises(StoreError, match="has changed, or is gone"):
            store.rewrite(scope, key, revision, {}, None)
    with pytest.raises(StoreError, match="no generation 4"):
        store.rewrite(LOCAL, batch.key, 1, {(batch.key, 0): (), (batch.key, 4): ()}, None)
    assert collect_answers(store, LOCAL) == before


def test_bytes_are_mended_only_by_the_very_same(tmp_path: Path) -> None:
    path = tmp_path / "mended.db"
    data = make_line(text="x" * FRAME_SIZE) + make_line(1)
    store = SqliteStore.open(path)
    batch = make_batch({FILE: data})
    store.apply([batch])
    with store._writing() as connection:
        connection.execute(
            "UPDATE frames SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB)"
        )
        assert connection.changes() > 0
    assert store.mend(LOCAL, batch.key, 0, lambda start, length: None) == 0
    assert store.mend(LOCAL, batch.key, 0, lambda start, length: b"y" * length) == 0
    assert store.mend(Scope("guest"), batch.key, 0, lambda start, length: data[start : start + length]) == 0
    assert store.mend(LOCAL, batch.key, 0, lambda start, length: data[start : start + length]) > 0
    assert store.mend(LOCAL, batch.key, 0, lambda start, length: data[start : start + length]) == 0
    assert b"".join(store.archive.read_all(LOCAL, batch.key, 0)) == data
    store.close()
