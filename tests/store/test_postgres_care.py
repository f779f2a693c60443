"""Backups, restoring, forgetting and what the database says of itself."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from postgres_server import make_database, start_server
from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.opening import find_in_backup
from turnlog.store.postgres.backup import find_holding
from turnlog.store.postgres.restoring import check_backup, restore_store
from turnlog.store.postgres.store import PostgresStore
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_line, make_lines
from turnlog.testing.contracts.base import keep

_FILES = {"session-1.jsonl": make_lines(4)}


def test_a_backup_can_be_put_back(tmp_path: Path) -> None:
    address, file = make_database(), tmp_path / "copy.dump"
    with closing(PostgresStore.open(address)) as store:
        keep(store, _FILES)
        key = keep(store, {"a.jsonl": make_lines(2)}, session_id="a").key
        store.add_deliveries(LOCAL, [_deliver("d1")])
        before = collect_answers(store, LOCAL)
        epoch = store.find_epoch()
        progress: list[tuple[int, int]] = []
        backup = store.back_up(file, on_progress=lambda done, total: progress.append((done, total)))
        assert (backup.path, backup.size) == (str(file), file.stat().st_size)
        assert file.stat().st_mode & 0o077 == 0
        assert progress[-1][0] == progress[-1][1] > 0
        assert store.list_backups() == [backup]
        keep(store, {"session-1.jsonl": make_lines(6)})
    restored = restore_store(address, file)
    assert restored.forgotten == 0
    with closing(PostgresStore.open(address)) as store:
        assert collect_answers(store, LOCAL) == before
        assert store.find_epoch() != epoch
        assert store.list_backups() == [backup]
        assert store.list_flaws(LOCAL) == []
        keep(store, {"session-1.jsonl": make_lines(8)})
        store.forget(LOCAL, [key])
    assert restored.kept is not None
    with psycopg.connect(address) as connection:
        query = f"SELECT sum(lines) FROM {restored.kept}.generations"
        assert connection.execute(query).fetchall() == [(8,)], "what was there is kept"


def test_what_was_forgotten_since_the_backup_is_forgotten_in_it(tmp_path: Path) -> None:
    address, file = make_database(), tmp_path / "copy.dump"
    with closing(PostgresStore.open(address)) as store:
        keys = [keep(store, {f"{name}.jsonl": make_lines(2)}, session_id=name).key for name in "ab"]
        store.back_up(file)
        store.forget(LOCAL, keys[:1])
    assert restore_store(address, file).forgotten == 1
    with closing(PostgresStore.open(address)) as store:
        assert [known.key for known in store.list_known(LOCAL)] == keys[1:]
        assert [each.key for each in store.list_tombstones(LOCAL)] == keys[:1]


def test_a_backup_can_be_put_into_an_empty_database(tmp_path: Path) -> None:
    file = tmp_path / "copy.dump"
    with closing(PostgresStore.open(make_database())) as store:
        keep(store, _FILES)
        before = collect_answers(store, LOCAL)
        store.back_up(file)
    server = start_server()
    address = server.address(server.create())
    assert restore_store(address, file).kept is None
    with closing(PostgresStore.open(address)) as store:
        assert collect_answers(store, LOCAL) == before


def test_nothing_is_restored_while_others_use_the_store(tmp_path: Path) -> None:
    address, file = make_database(), tmp_path / "copy.dump"
    with closing(PostgresStore.open(address)) as store:
        keep(store, _FILES)
        store.back_up(file)
        with pytest.raises(BusyStoreError, match="in use"):
            restore_store(address, file)
        assert len(list(store.list_known(LOCAL))) == 1


def test_files_that_are_no_backups_are_refused_and_the_store_stays(tmp_path: Path) -> None:
    address, good = make_database(), tmp_path / "good.dump"
    with closing(PostgresStore.open(address)) as store:
        keep(store, {"session-1.jsonl": make_line(0, text="x" * 100_000)})
        store.back_up(good)
    text, half, newer = (tmp_path / name for name in ("text", "half", "newer"))
    text.write_bytes(b"hello")
    half.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    for file in (text, half, tmp_path / "missing"):
        with pytest.raises(StoreError, match=r"not a (complete )?backup"):
            restore_store(address, file)
    other = make_database()
    with psycopg.connect(other) as connection:
        connection.execute("INSERT INTO turnlog.migrations VALUES ('fly_to_the_moon', 1)")
    database = PostgresStore.open(address)._database
    database.address = other
    with closing(PostgresStore(database)) as store:
        store.back_up(newer)
    with pytest.raises(NewerStoreError, match="fly_to_the_moon"):
        check_backup(newer)
    with closing(PostgresStore.open(address)) as store:
        assert len(list(store.list_known(LOCAL))) == 1


def test_a_backup_overwrites_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    file = tmp_path / "copy.dump"
    file.write_bytes(b"mine")
    with closing(PostgresStore.open(make_database())) as store:
        with pytest.raises(StoreError, match="already exists"):
            store.back_up(file)
        assert file.read_bytes() == b"mine"
        store.back_up(file, force=True)
        check_backup(file)
        key = keep(store, _FILES).key
        assert find_holding(file, LOCAL, [key]) == set()
        store.back_up(file, force=True)
        assert find_holding(file, LOCAL, [key, "another"]) == {key}
        [backup] = store.list_backups()
        assert find_in_backup(backup, LOCAL, [key, "another"]) == {key}
        assert find_holding(file, Scope("somebody"), [key]) == set()
        with pytest.raises(StoreError, match="cannot be written"):
            store.back_up(tmp_path / "nowhere" / "copy.dump")
        assert [path.name for path in tmp_path.iterdir()] == ["copy.dump"]


def test_programs_that_are_missing_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnlog.store.postgres.backup._DEBIAN", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with closing(PostgresStore.open(make_database())) as store:
        with pytest.raises(StoreError, match="pg_dump, which is not installed"):
            store.back_up(tmp_path / "copy.dump")
        assert list(tmp_path.iterdir()) == []


def test_nothing_of_what_is_forgotten_is_left_in_the_files_of_the_tables() -> None:
    server = start_server()
    database = server.create(server.template)
    secret, kept = b"the-very-secret-word", b"what-may-be-known"
    with closing(PostgresStore.open(server.address(database))) as store:
        for name, text in (("session-1", secret), ("session-2", kept)):
            lines = make_line(0, session_id=name, uuid=text.decode())
            key = keep(store, {f"{name}.jsonl": lines}, session_id=name).key
            key = keep(store, {f"{name}.jsonl": lines * 2}, session_id=name).key
            if text is secret:
                gone = key
        store.add_deliveries(LOCAL, [_deliver("d1", '{"message":"the-very-secret-word"}')])
        assert _find_in_files(database, secret)
        forgotten = store.forget(LOCAL, [gone])
        assert forgotten.scrubbed
    assert not _find_in_files(database, secret)
    assert _find_in_files(database, kept)


def test_tables_that_others_use_are_scrubbed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnlog.store.postgres.scrubbing._SCRUB_SECONDS", 0.001)
    address = make_database()
    with closing(PostgresStore.open(address)) as store, closing(PostgresStore.open(address)) as other:
        key = keep(store, _FILES).key
        with other._reading(LOCAL) as connection:
            connection.execute("SELECT 1 FROM lines").fetchall()
            assert not store.forget(LOCAL, [key]).scrubbed
        assert store.scrub()
        assert store._database.ask(lambda each: each.execute("SHOW lock_timeout").fetchall()) == [("2min",)]


def test_what_the_tables_take_is_measured() -> None:
    with closing(PostgresStore.open(make_database())) as store:
        before = store.measure()
        keep(store, {"session-1.jsonl": make_lines(2000)})
        assert store.measure() > before > 0


def test_rows_that_belong_to_nothing_are_flaws() -> None:
    address = make_database()
    with closing(PostgresStore.open(address)) as store:
        keep(store, _FILES)
        for spoil, message in (
            ("DELETE FROM generations", "no generation"),
            ("DELETE FROM sources", "no files"),
            ("DELETE FROM sessions", "belong to no session"),
            (
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sources_by_session'::regclass",
                "index",
            ),
        ):
            with psycopg.connect(address) as connection:
                connection.execute("SET search_path TO turnlog")
                connection.execute(spoil)
            assert any(message in flaw.message for flaw in store.list_flaws(LOCAL))


def test_spec_002s_view_tells_events_as_text() -> None:
    with closing(PostgresStore.open(make_database())) as store:
        odd = HookDelivery(
            delivery_id="d2",
            received_ns=3_000_000_000,
            payload=b"",
            session_id="a\0b",
            event_name="Stop",
            context="\ud83d",
        )
        store.add_deliveries(LOCAL, [_deliver("d1"), odd])
        query = (
            "SELECT session_id, timestamp, event_name, label, group_name, context FROM hook_events ORDER BY id"
        )
        rows = store._database.ask(lambda connection: connection.execute(query).fetchall())
        assert rows == [
            ("session-1", 2, "Notification", "Notification", "autonomous", None),
            ("a\\000b", 3, "Stop", "Stop", "autonomous", "\\355\\240\\275"),
        ]
        [event] = store.list_hook_events(LOCAL, "a\0b")
        assert (event.session_id, event.context) == ("a\0b", "\ud83d")


def _deliver(name: str, payload: str = '{"message":"hello"}') -> HookDelivery:
    return HookDelivery(
        delivery_id=name,
        received_ns=2_000_000_000,
        payload=payload.encode(),
        session_id="session-1",
        event_name="Notification",
    )


def _find_in_files(database: str, word: bytes) -> bool:
    """Tell whether the files of a database's tables have a word, once all is written to them."""
    server = start_server()
    server.execute("CHECKPOINT")
    [(number,)] = server.execute(f"SELECT oid FROM pg_database WHERE datname = '{database}'")
    files = (server.folder / "data" / "base" / str(number)).iterdir()
    return any(word in path.read_bytes() for path in files if path.is_file())
