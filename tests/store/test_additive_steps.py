"""Steps of a newer version that older programs need not know: they go on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from turnlog.errors import NewerStoreError
from turnlog.store.identity import LOCAL
from turnlog.store.maintenance import CaredStore
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_batch, make_lines

STEP = "INSERT INTO migrations (name, applied_ns, is_additive) VALUES ('add_wonders', 1, true)"
BINDING = "UPDATE migrations SET is_additive = false WHERE name = 'add_wonders'"
EARLY = "ALTER TABLE migrations DROP COLUMN is_additive"


def change_file(path: Path, *statements: str) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        for statement in statements:
            connection.execute(statement)


def write(store: CaredStore) -> None:
    store.apply([make_batch({"session-1.jsonl": make_lines(3)})])
    assert len(list(store.list_known(LOCAL))) == 1


def test_a_file_with_a_step_that_only_adds_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    open_store(path).close()
    change_file(path, STEP, "CREATE TABLE wonders (name TEXT)")
    with closing(open_store(path)) as store:
        write(store)
    open_store(path, read_only=True).close()
    change_file(path, BINDING)
    with pytest.raises(NewerStoreError, match="add_wonders"):
        open_store(path)


def test_a_file_from_before_such_steps_is_known(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    open_store(path).close()
    change_file(path, EARLY)
    with closing(open_store(path)) as store:
        write(store)
    change_file(path, "INSERT INTO migrations VALUES ('add_wonders', 1)")
    with pytest.raises(NewerStoreError, match="add_wonders"):
        open_store(path)
