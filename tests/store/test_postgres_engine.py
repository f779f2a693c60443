"""What is done to a store on a server as a whole: copies, restoring one, removing what was deleted."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from contracts.people import ADA, BOB, keep_of
from postgres_server import find_programs, make_archive, make_database, start_server
from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.store.account_backups import check_backup, restore_store
from turnlog.store.account_model import UserRole
from turnlog.store.accounts import open_accounts
from turnlog.store.interface import MaintainedStore, Maintenance
from turnlog.store.model import ARCHIVE_SCHEMA, LOCAL, Scope, ServerPlace, Visibility
from turnlog.store.opening import find_in_backup, measure_store, open_store
from turnlog.testing.builders import make_key, make_line, make_lines
from turnlog.testing.checks import collect_answers, keep
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery

FILES = {"session-1.jsonl": make_lines(4)}
STEP = "INSERT INTO migrations VALUES ('fly_to_the_moon', 1, {is_additive})"


@pytest.fixture
def place(tmp_path: Path) -> ServerPlace:
    return ServerPlace(make_archive(), tmp_path)


@pytest.fixture
def store(place: ServerPlace) -> Iterator[MaintainedStore]:
    with closing(open_store(place)) as opened:
        yield opened


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Where a copy is to be."""
    return tmp_path / "copy.dump"


def execute(place: ServerPlace, statement: str, schema: str = ARCHIVE_SCHEMA) -> list[tuple[object, ...]]:
    with psycopg.connect(place.address, autocommit=True, options=f"-c search_path={schema},public") as driver:
        cursor = driver.execute(statement.encode())
        return list(cursor.fetchall()) if cursor.description else []


def deliver(name: str, payload: str = '{"message":"hello"}', event_name: str = "Notification") -> HookDelivery:
    return HookDelivery(
        delivery_id=name,
        received_ns=2_000_000_000,
        payload=payload.encode(),
        session_id="session-1",
        event_name=event_name,
    )


def list_ids(store: MaintainedStore, scope: Scope) -> list[str]:
    return sorted(str(each.row.session_id) for each in store.list_sessions(scope).sessions)


# Copies, and putting one in the place of a store.


def test_a_copy_can_be_put_back(place: ServerPlace, copy: Path) -> None:
    with closing(open_store(place)) as store:
        keep(store, FILES)
        key = keep(store, {"a.jsonl": make_lines(2)}, session_id="a").key
        store.add_deliveries(LOCAL, [deliver("d1")])
        before = collect_answers(store, LOCAL)
        epoch = store.read_feed(LOCAL).epoch
        progress: list[tuple[int, int]] = []
        backup = store.back_up(copy, on_progress=lambda done, total: progress.append((done, total)))
        assert (backup.path, backup.size) == (str(copy), copy.stat().st_size)
        assert copy.stat().st_mode & 0o077 == 0
        assert progress[-1][0] == progress[-1][1] > 0
        assert store.list_backups() == [backup]
        keep(store, {"session-1.jsonl": make_lines(6)})
    restored = restore_store(place, copy)
    assert (restored.forgotten, restored.accounts) == (0, None)
    with closing(open_store(place)) as store:
        assert collect_answers(store, LOCAL) == before
        assert store.read_feed(LOCAL).epoch != epoch
        assert store.list_backups() == [backup]
        assert store.list_flaws(LOCAL) == []
        assert list_ids(store, ADA) == []
        keep(store, {"session-1.jsonl": make_lines(8)})
        store.forget(LOCAL, [key])
    assert restored.kept is not None
    kept = execute(place, "SELECT sum(lines) FROM generations", restored.kept)
    assert kept == [(8,)], "what was there is kept"


def test_what_was_forgotten_since_the_copy_is_forgotten_in_it(place: ServerPlace, copy: Path) -> None:
    with closing(open_store(place)) as store:
        keys = [keep(store, {f"{name}.jsonl": make_lines(2)}, session_id=name).key for name in "ab"]
        store.back_up(copy)
        store.forget(LOCAL, keys[:1])
    assert restore_store(place, copy).forgotten == 1
    with closing(open_store(place)) as store:
        assert [known.key for known in store.list_known(LOCAL)] == keys[1:]
        assert [each.key for each in store.list_tombstones(LOCAL)] == keys[:1]


def test_who_sees_what_is_as_it_was_said_last_whatever_a_copy_says(place: ServerPlace, copy: Path) -> None:
    with closing(open_store(place)) as store:
        keys = {person: keep_of(store, person, person) for person in ("ada", "bob")}
        store.set_rule(LOCAL, "*", Visibility.TEAM)
        store.back_up(copy)
        store.set_rule(LOCAL, "*", None)
        store.set_rule(LOCAL, "other", Visibility.TEAM)
        store.set_visibility(BOB, [keys["bob"]], Visibility.TEAM)
        for person in ("eve", "ada"):
            store.save_machine(LOCAL, "machine-of-ada", person=person, reassign=True)
    restored = restore_store(place, copy)
    with closing(open_store(place)) as store:
        assert list_ids(store, ADA) == ["ada", "bob"]
        assert restored.kept is not None
        execute(place, f"DROP SCHEMA {restored.kept} CASCADE")  # nothing rests on it any more
        assert list_ids(store, ADA) == ["ada", "bob"]
        assert list_ids(store, BOB) == ["bob"]
        assert [each.pattern for each in store.list_rules(LOCAL)] == ["other"]
        keep_of(store, "ada", "new")
        assert list_ids(store, ADA) == ["ada", "bob", "new"]
        assert store.list_flaws(LOCAL) == []


def test_a_copy_can_be_put_into_an_empty_database(store: MaintainedStore, copy: Path, tmp_path: Path) -> None:
    keep(store, FILES)
    before = collect_answers(store, LOCAL)
    store.back_up(copy)
    other = ServerPlace(make_database(), tmp_path)
    assert restore_store(other, copy).kept is None
    with closing(open_store(other)) as restored:
        assert collect_answers(restored, LOCAL) == before


def test_nothing_is_restored_while_others_use_the_store(
    store: MaintainedStore, place: ServerPlace, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.store.catalogue.postgres_engine._ALONE_SECONDS", 0.1)
    keep(store, FILES)
    store.back_up(copy)
    with pytest.raises(BusyStoreError, match="in use"):
        restore_store(place, copy)
    assert len(list(store.list_known(LOCAL))) == 1


def test_files_that_are_no_copies_are_refused_and_the_store_stays(
    place: ServerPlace, copy: Path, tmp_path: Path
) -> None:
    with closing(open_store(place)) as store:
        keep(store, {"session-1.jsonl": make_line(0, text="x" * 100_000)})
        store.back_up(copy)
    text, half = tmp_path / "text", tmp_path / "half"
    text.write_bytes(b"hello")
    half.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2])
    for file in (text, half, tmp_path / "missing"):
        with pytest.raises(StoreError, match=r"not a (complete )?backup"):
            restore_store(place, file)
    with closing(open_store(place)) as store:
        assert len(list(store.list_known(LOCAL))) == 1


def test_copies_of_a_newer_version_are_refused_unless_what_is_new_only_adds(
    place: ServerPlace, copy: Path
) -> None:
    execute(place, STEP.format(is_additive=1))
    with closing(open_store(place)) as store:
        keep(store, FILES)
        store.back_up(copy)
    check_backup(place, copy)
    assert restore_store(place, copy).kept is not None
    execute(place, "UPDATE migrations SET is_additive = 0 WHERE name = 'fly_to_the_moon'")
    with pytest.raises(NewerStoreError, match="fly_to_the_moon"):
        restore_store(place, copy)
    programs = find_programs()
    assert programs is not None
    given = ("--format=custom", f"--schema={ARCHIVE_SCHEMA}", f"--file={copy}", place.address)
    subprocess.run([programs / "pg_dump", *given], check=True)
    with pytest.raises(NewerStoreError, match=r"copy.dump was made by a newer version"):
        check_backup(ServerPlace(make_archive(), place.home), copy)


def test_a_copy_that_cannot_be_put_back_leaves_all_as_it_was(place: ServerPlace, copy: Path) -> None:
    with closing(open_store(place)) as store, closing(open_accounts(place)) as accounts:
        keep(store, FILES)
        accounts.add_user("ada", UserRole.ADMIN)
        execute(place, STEP.format(is_additive=0), "turnlog_accounts")
        store.back_up(copy)
        execute(place, "DELETE FROM migrations WHERE name = 'fly_to_the_moon'", "turnlog_accounts")
        accounts.add_user("bob", UserRole.MEMBER)
        keep(store, {"session-1.jsonl": make_lines(6)})
        before = collect_answers(store, LOCAL)
    with pytest.raises(NewerStoreError, match="fly_to_the_moon"):
        restore_store(place, copy)
    with closing(open_store(place)) as store, closing(open_accounts(place)) as accounts:
        assert collect_answers(store, LOCAL) == before
        assert [user.name for user in accounts.list_users()] == ["ada", "bob"]
        assert list_ids(store, ADA) == []
    assert len(execute(place, "SELECT 1 FROM pg_namespace WHERE nspname LIKE 'turnlog%'")) == 3


def test_a_copy_overwrites_nothing_unless_it_is_told_to(
    store: MaintainedStore, place: ServerPlace, copy: Path, tmp_path: Path
) -> None:
    copy.write_bytes(b"mine")
    with pytest.raises(StoreError, match="already exists"):
        store.back_up(copy)
    assert copy.read_bytes() == b"mine"
    backup = store.back_up(copy, force=True)
    check_backup(place, copy)
    key = keep(store, FILES).key
    assert find_in_backup(backup, LOCAL, [key]) == set()
    store.back_up(copy, force=True)
    [backup] = store.list_backups()
    assert find_in_backup(backup, LOCAL, [key, "another"]) == {key}
    assert find_in_backup(backup, Scope("somebody"), [key]) == set()
    with pytest.raises(StoreError, match="cannot be written"):
        store.back_up(tmp_path / "nowhere" / "copy.dump")
    assert [path.name for path in tmp_path.iterdir()] == ["copy.dump"]


def test_programs_that_are_missing_are_told(
    store: MaintainedStore, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.store.catalogue.postgres_engine._DEBIAN", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(StoreError, match="pg_dump, which is not installed"):
        store.back_up(copy)
    assert list(tmp_path.iterdir()) == []


# What was deleted, and what is wrong.


def find_in_files(place: ServerPlace, word: bytes) -> bool:
    """Tell whether the files of a database's tables have a word, once all is written to them."""
    server = start_server()
    server.execute("CHECKPOINT")
    [(number,)] = execute(place, "SELECT oid FROM pg_database WHERE datname = current_database()")
    files = (server.folder / "data" / "base" / str(number)).iterdir()
    return any(word in path.read_bytes() for path in files if path.is_file())


def test_nothing_of_what_is_forgotten_is_left_in_the_files_of_the_tables(
    store: MaintainedStore, place: ServerPlace
) -> None:
    secret, kept = "theverysecretword", "whatmaybeknown"
    for name, text in (("session-1", secret), ("session-2", kept)):
        lines = make_line(0, session_id=name, text=text, uuid=text)
        for count in (1, 2):
            keep(store, {f"{name}.jsonl": lines * count}, session_id=name)
    payload = '{{"message":"{}"}}'
    store.add_deliveries(LOCAL, [deliver("d1", payload.format(secret)), deliver("d2", payload.format(secret))])
    assert find_in_files(place, secret.encode())
    assert store.forget(LOCAL, [make_key()]).scrubbed
    assert not find_in_files(place, secret.encode())
    assert find_in_files(place, kept.encode())


def test_tables_that_others_use_are_purged_later(
    store: MaintainedStore, place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.store.catalogue.postgres_engine._SCRUB_SECONDS", 0.001)
    key = keep(store, FILES).key
    with closing(open_store(place)) as other:
        with other.open_session(LOCAL, key) as session:
            assert session.count_turns() == 2
            assert not store.forget(LOCAL, [key]).scrubbed
            assert not store.maintain(Maintenance.PURGE)
            assert session.count_turns() == 2
        assert store.maintain(Maintenance.PURGE)


def test_what_the_tables_take_is_measured(store: MaintainedStore, place: ServerPlace) -> None:
    before = measure_store(place)
    keep(store, {"session-1.jsonl": make_lines(2000)})
    assert measure_store(place) > before > 0


def test_rows_that_belong_to_nothing_are_flaws(store: MaintainedStore, place: ServerPlace) -> None:
    keep(store, FILES)
    for spoil, message in (
        ("DELETE FROM generations", "no generation"),
        ("DELETE FROM sources", "no files"),
        ("DELETE FROM sessions", "belong to no session"),
    ):
        execute(place, spoil)
        assert any(message in flaw.message for flaw in store.list_flaws(LOCAL))


def test_spec_002s_view_tells_events_as_text(store: MaintainedStore, place: ServerPlace) -> None:
    odd = replace(deliver("d2", event_name="Stop"), session_id="a\0b", context="\ud83d")
    store.add_deliveries(LOCAL, [deliver("d1"), odd, deliver("d3", event_name="SessionEnd")])
    query = "SELECT session_id, timestamp, event_name, label, group_name, context FROM hook_events ORDER BY id"
    assert execute(place, query) == [
        ("session-1", 2, "Notification", "Notification", "autonomous", None),
        ("a\\000b", 2, "Stop", "Stop", "autonomous", "\\355\\240\\275"),
    ]
    [event] = store.list_deliveries(LOCAL, DeliveryFilter(session_id="a\0b"))
    assert (event.session_id, event.context) == ("a\0b", "\ud83d")
