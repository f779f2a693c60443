"""Steps of a newer version that older programs need not know: they go on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from turnlog.errors import NewerStoreError
from turnlog.store.catalogue.database import Connection, Steps
from turnlog.store.catalogue.sqlite import SqliteDatabase
from turnlog.store.catalogue.sqlite_engine import SQLITE_STEPS
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_batch, make_lines

BINDING = "UPDATE migrations SET is_additive = 0 WHERE name = 'add_wonders'"


def add_wonders(connection: Connection) -> None:
    connection.execute("CREATE TABLE wonders (name text)")


NEWER = Steps(SQLITE_STEPS.subject, (*SQLITE_STEPS.migrations, add_wonders), frozenset({add_wonders}))


def test_a_file_with_a_step_that_only_adds_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    with closing(SqliteDatabase(path, NEWER)) as newer:
        newer.make()
    with closing(open_store(path)) as store:
        store.apply([make_batch({"session-1.jsonl": make_lines(3)})])
        assert len(list(store.list_known(LOCAL))) == 1
    open_store(path, read_only=True).close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(BINDING)
    with pytest.raises(NewerStoreError, match="add_wonders"):
        open_store(path)


def test_a_step_that_only_adds_may_be_done_while_an_older_program_has_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    batch = make_batch({"session-1.jsonl": make_lines(3)})
    with closing(open_store(path)) as store, closing(SqliteDatabase(path, NEWER)) as newer:
        newer.make()
        store.apply([batch])
        assert [known.key for known in store.list_known(LOCAL)] == [batch.key]
        assert newer.read(lambda connection: connection.execute("SELECT * FROM wonders")) == []
