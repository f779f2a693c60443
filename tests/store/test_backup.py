"""Copies of a store: whole, checked, remembered; and put in its place again."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.store.account_backups import restore_store
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import find_in_backup, open_store
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.checks import collect_answers


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "home" / "turnlog.db"


@pytest.fixture
def store(place: Path) -> Iterator[MaintainedStore]:
    store = open_store(place)
    add(store, "one")
    yield store
    store.close()


def add(store: MaintainedStore, name: str, count: int = 3) -> str:
    store.apply([make_batch({f"{name}.jsonl": make_lines(count)}, session_id=name)])
    return make_key(name)


def test_a_backup_answers_as_the_store_does(store: MaintainedStore, tmp_path: Path) -> None:
    target = tmp_path / "backups" / "one.db"
    target.parent.mkdir()
    told: list[tuple[int, int]] = []
    backup = store.back_up(target, on_progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["one.db"]
    copy = open_store(target, read_only=True)
    assert collect_answers(copy, LOCAL) == collect_answers(store, LOCAL)
    copy.close()
    assert store.list_backups() == [backup]
    assert backup.size == target.stat().st_size


def test_a_backup_overwrites_nothing_unless_told_to(
    store: MaintainedStore, place: Path, tmp_path: Path
) -> None:
    target = tmp_path / "one.db"
    target.write_bytes(b"mine")
    with pytest.raises(StoreError, match="already exists"):
        store.back_up(target)
    assert target.read_bytes() == b"mine"
    with pytest.raises(StoreError, match="the store itself"):
        store.back_up(place, force=True)
    store.back_up(target, force=True)
    store.back_up(target, force=True)
    assert len(store.list_backups()) == 1
    with pytest.raises(StoreError, match="cannot be used"):
        store.back_up(tmp_path / "missing" / "one.db")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_backup_is_one_state_while_a_writer_works(
    store: MaintainedStore, place: Path, tmp_path: Path
) -> None:
    for number in range(30):
        add(store, f"before-{number}", 40)
    done = threading.Event()

    def write() -> None:
        other = open_store(place)
        number = 0
        while not done.is_set():
            add(other, f"during-{number}")
            number += 1
        other.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            store.back_up(tmp_path / f"{number}.db")
    finally:
        done.set()
        writer.join()
    for number in range(3):
        copy = open_store(tmp_path / f"{number}.db", read_only=True)
        sessions = list(copy.list_known(LOCAL))
        assert copy.read_feed(LOCAL).last == len(sessions) >= 31
        assert copy.list_flaws(LOCAL) == []
        copy.close()


def test_a_damaged_store_is_not_backed_up(tmp_path: Path) -> None:
    place = tmp_path / "damaged.db"
    store = open_store(place)
    for number in range(20):
        add(store, f"s{number}", 30)
    store.close()
    connection = apsw.Connection(str(place))
    [(place_of_page,)] = connection.execute(
        "SELECT (rootpage - 1) * page_size FROM sqlite_schema, pragma_page_size WHERE name = 'segments'"
    ).fetchall()
    connection.close()
    assert isinstance(place_of_page, int)
    with place.open("r+b") as file:
        file.seek(place_of_page)
        file.write(bytes(64))
    store = open_store(place)
    with pytest.raises(StoreError):
        store.back_up(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    assert store.list_flaws(LOCAL)
    store.close()


def test_a_backup_that_has_a_session_is_told_from_one_that_has_not(
    store: MaintainedStore, tmp_path: Path
) -> None:
    first = store.back_up(tmp_path / "first.db")
    key = add(store, "two")
    second = store.back_up(tmp_path / "second.db")
    assert find_in_backup(first, LOCAL, [key]) == set()
    assert find_in_backup(second, LOCAL, [key, "nobody"]) == {key}
    Path(second.path).unlink()
    assert find_in_backup(second, LOCAL, [key]) is None
    assert [backup.size is None for backup in store.list_backups()] == [False, True]


def test_a_backup_takes_the_place_of_the_store_which_is_kept(
    store: MaintainedStore, place: Path, tmp_path: Path
) -> None:
    store.back_up(tmp_path / "first.db")
    before = collect_answers(store, LOCAL)
    add(store, "two")
    later, epoch = collect_answers(store, LOCAL), store.read_feed(LOCAL).epoch
    store.close()
    restored = restore_store(place, tmp_path / "first.db")
    assert restored.kept is not None
    assert restored.forgotten == 0
    now, kept = open_store(place), open_store(Path(restored.kept), read_only=True)
    assert collect_answers(now, LOCAL) == before
    assert collect_answers(kept, LOCAL) == later
    assert now.read_feed(LOCAL).epoch != epoch == kept.read_feed(LOCAL).epoch
    assert {backup.path for backup in now.list_backups()} == {restored.kept, str(tmp_path / "first.db")}
    add(now, "three")
    now.close()
    kept.close()
    assert place.stat().st_mode & 0o777 == 0o600


def test_what_was_forgotten_does_not_come_back_with_a_backup(
    store: MaintainedStore, place: Path, tmp_path: Path
) -> None:
    key = add(store, "two")
    store.back_up(tmp_path / "first.db")
    store.forget(LOCAL, [key])
    store.close()
    assert restore_store(place, tmp_path / "first.db").forgotten == 1
    now = open_store(place)
    assert [known.key for known in now.list_known(LOCAL)] == [make_key("one")]
    assert [each.key for each in now.list_tombstones(LOCAL)] == [key]
    now.close()


def test_a_backup_can_be_put_where_no_store_is(store: MaintainedStore, tmp_path: Path) -> None:
    store.back_up(tmp_path / "first.db")
    place = tmp_path / "new" / "turnlog.db"
    assert restore_store(place, tmp_path / "first.db").kept is None
    now = open_store(place)
    assert collect_answers(now, LOCAL) == collect_answers(store, LOCAL)
    now.close()


def test_a_damaged_store_is_replaced_and_kept(store: MaintainedStore, place: Path, tmp_path: Path) -> None:
    store.back_up(tmp_path / "first.db")
    store.close()
    place.write_bytes(b"no database at all" * 1000)
    restored = restore_store(place, tmp_path / "first.db")
    assert restored.kept is not None
    assert Path(restored.kept).read_bytes().startswith(b"no database")
    open_store(place).close()


def test_what_is_no_backup_is_refused_and_nothing_is_changed(
    store: MaintainedStore, place: Path, tmp_path: Path
) -> None:
    before = collect_answers(store, LOCAL)
    store.close()
    text, empty, other = tmp_path / "text", tmp_path / "empty", tmp_path / "other.db"
    text.write_text("hello")
    empty.touch()
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    newer = tmp_path / "newer.db"
    shutil.copy(place, newer)
    connection = apsw.Connection(str(newer))
    connection.execute("INSERT INTO migrations (name, applied_ns) VALUES ('add_wonders', 1)")
    connection.close()
    for wrong, kind in (
        (text, StoreError),
        (empty, StoreError),
        (other, StoreError),
        (tmp_path / "missing", StoreError),
        (place, StoreError),
        (newer, NewerStoreError),
    ):
        with pytest.raises(kind):
            restore_store(place, wrong)
    assert [path.name for path in place.parent.iterdir()] == ["turnlog.db"]
    again = open_store(place)
    assert collect_answers(again, LOCAL) == before
    again.close()


def test_a_store_that_is_in_use_is_not_replaced(store: MaintainedStore, place: Path, tmp_path: Path) -> None:
    store.back_up(tmp_path / "first.db")
    with pytest.raises(BusyStoreError, match="in use by another process"):
        restore_store(place, tmp_path / "first.db")
    add(store, "two")
    assert len(list(store.list_known(LOCAL))) == 2
