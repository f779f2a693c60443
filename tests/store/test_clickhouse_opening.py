"""Opening a store on ClickHouse: with the control database that it was made with, and of no newer version."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from clickhouse_engine import ADDRESSES, make_address, make_store, reopen
from turnlog.errors import LostStoreError, NewerStoreError, StoreError
from turnlog.store.accounts.interface import UserRole
from turnlog.store.accounts.opening import open_accounts
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.identity import LOCAL
from turnlog.store.opening import find_holder, open_lease, open_store
from turnlog.store.places import ServerPlace
from turnlog.testing.builders import make_batch, make_lines


def open_for_reading(folder: Path) -> ClickHouseStore:
    return ClickHouseStore.open(
        ADDRESSES[folder], control=folder / "control.db", blobs=str(folder / "blobs"), read_only=True
    )


def test_what_only_reads_makes_nothing_and_writes_nothing(tmp_path: Path) -> None:
    ADDRESSES[tmp_path] = make_address()
    with pytest.raises(StoreError, match="There is no store"):
        open_for_reading(tmp_path)
    assert not (tmp_path / "control.db").exists()
    batch = make_batch({"session-1.jsonl": make_lines(4)})
    with closing(make_store(tmp_path)) as store:
        store.apply([batch])
    with closing(open_for_reading(tmp_path)) as store:
        assert len(store.list_messages(LOCAL, batch.key)) == 4
        with pytest.raises(StoreError, match="reading only"):
            store.apply([make_batch({"session-2.jsonl": make_lines(4)}, session_id="session-2")])


def test_a_server_that_is_not_there_is_told_in_a_few_words(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    place = ServerPlace(f"clickhouse://turnlog:secret@127.0.0.1:{port}/turnlog", tmp_path)
    with pytest.raises(LostStoreError) as raised:
        open_store(place)
    assert str(raised.value) == (
        f"The store clickhouse://turnlog@127.0.0.1:{port}/turnlog cannot be reached (Connection refused)"
    )


def test_a_store_is_opened_with_its_own_control_database_only(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    with pytest.raises(StoreError, match="made with another control database"):
        ClickHouseStore.open(ADDRESSES[tmp_path], control=tmp_path / "other.db", blobs=str(tmp_path / "blobs"))
    reopen(tmp_path).close()


def test_a_store_of_a_newer_version_is_refused_also_while_it_is_open(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        with closing(apsw.Connection(str(tmp_path / "control.db"))) as connection:
            connection.execute("INSERT INTO migrations (name, applied_ns) VALUES ('paint_rows', 1)")
        with pytest.raises(NewerStoreError, match="paint_rows"):
            store.apply([make_batch({"session-1.jsonl": make_lines(4)})])
    for open_again in (reopen, open_for_reading):
        with pytest.raises(NewerStoreError, match="paint_rows"):
            open_again(tmp_path)


def test_tables_that_were_half_made_are_made_all_of_them(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    (tmp_path / "control.db").unlink()
    (tmp_path / "blobs" / "about" / "store").unlink()
    with closing(Engine(ADDRESSES[tmp_path])) as engine:
        engine.command("DROP TABLE about")  # as if its process had died before the last step
    reopen(tmp_path).close()


def test_one_process_keeps_a_machine_up_to_date_and_accounts_are_beside_the_control_database(
    tmp_path: Path,
) -> None:
    place = ServerPlace(make_address(), tmp_path)
    with open_lease(place, "one") as lease, open_lease(place, "one") as other:
        assert lease.take()
        assert not other.take()
        assert find_holder(place, "one") == lease.holder
        assert find_holder(place, "two") is None
    open_store(place).close()
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
    assert {"control.db", "accounts.db"} <= {path.name for path in tmp_path.iterdir()}
