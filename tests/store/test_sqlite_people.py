"""What only the embedded store does for people: its tables, its connections, its backups."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from turnlog.store.identity import LOCAL, Scope, Viewer
from turnlog.store.opening import open_store, restore_store
from turnlog.store.people import Visibility, find_access
from turnlog.testing.builders import make_lines
from turnlog.testing.contracts.base import keep
from turnlog.testing.contracts.people import ADA, BOB, EVE, keep_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "turnlog.db"


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(path))) as connection:
        return connection.execute(statement).fetchall()


def test_of_every_table_it_is_decided_who_sees_what_is_in_it(path: Path) -> None:
    open_store(path).close()
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    tables = {str(name) for (name,) in execute(path, query)}
    indexes = {name for name in tables if name.startswith("cells_")}
    assert tables - indexes == {*SHADOWED} | UNSHADOWED
    assert UNSHADOWED.isdisjoint(SHADOWED)


def test_a_store_of_one_person_keeps_nothing_about_people_but_its_machine(path: Path) -> None:
    with closing(open_store(path)) as store:
        keep(store, {"session-1.jsonl": make_lines(4)})
    assert execute(path, "SELECT count(*) FROM access") == [(0,)]
    assert execute(path, "SELECT origin, person FROM machines") == [("here", None)]


def test_machines_of_an_older_store_are_known_and_nobodys(path: Path) -> None:
    connection = open_to_write(path, Options())
    migrate(connection, MIGRATIONS[: MIGRATIONS.index(separate_people)])
    connection.execute("INSERT INTO sessions VALUES (1, 'local', 'k', 'm-1', 's', 'f', 1, 0)")
    connection.execute("INSERT INTO sources VALUES (1, 'local', 'k', 1, 'transcript', NULL, NULL, NULL)")
    connection.execute("INSERT INTO source_paths VALUES (1, 1, 'a', 1, 5), (2, 1, 'b', 1, 9)")
    connection.execute(
        "INSERT INTO hook_deliveries VALUES (1, 'local', 'd', 1, 's', 'Stop', '', '', '', '', '', x'', '', '')"
    )
    connection.execute("INSERT INTO changes VALUES (1, 'local', 'hook-delivered', 's', 0, 1)")
    connection.close()
    with closing(open_store(path)) as store:
        [machine] = store.list_machines(LOCAL)
        assert (machine.origin, machine.person, machine.first_ns, machine.last_ns) == ("m-1", None, 5, 9)
        assert [each.origin for each in store.list_deliveries(LOCAL)] == [""]
        assert store.read_feed(ADA, 0).entries == ()
        assert store.list_deliveries(ADA) == []
        store.save_machine(LOCAL, "m-1", person="ada", reassign=True)
        assert find_access(store, ADA, "k") is not None


def test_one_thread_answers_many_viewers_with_few_connections(path: Path) -> None:
    with closing(open_store(path)) as store:
        keys = {f"p{number}": keep_of(store, f"p{number}", "one") for number in range(8)}
        for _ in range(2):
            for person, key in keys.items():
                scope = Scope(LOCAL.owner, Viewer(person=person, team=True))
                assert [each.key for each in store.list_sessions(scope).sessions] == [key]
        assert len(store._readers) <= 5  # one that sees everything, and a few for viewers


def test_several_threads_ask_for_several_viewers(path: Path) -> None:
    with closing(open_store(path)) as store:
        keys = {person: keep_of(store, person, "one") for person in ("ada", "bob")}
        wrong: list[str] = []

        def ask(person: str, key: str) -> None:
            scope = Scope(LOCAL.owner, Viewer(person=person, team=True))
            for _ in range(20):
                found = [each.key for each in store.list_sessions(scope).sessions]
                if found != [key]:
                    wrong.append(person)

        threads = [threading.Thread(target=ask, args=each) for each in keys.items() for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_what_was_made_private_since_a_backup_stays_so(path: Path, tmp_path: Path) -> None:
    store = open_store(path)
    one, two = keep_of(store, "ada", "one"), keep_of(store, "bob", "two")
    store.set_visibility(LOCAL, [one, two], Visibility.TEAM)
    store.set_rule(LOCAL, "*", Visibility.TEAM)
    store.back_up(tmp_path / "backup.db")
    store.set_visibility(ADA, [one], Visibility.PRIVATE)
    store.set_visibility(BOB, [two], None)
    store.set_rule(LOCAL, "*", None)
    store.set_rule(LOCAL, "nothing", Visibility.TEAM)
    store.save_machine(LOCAL, "machine-of-bob", person="eve", reassign=True)
    store.close()
    restore_store(path, tmp_path / "backup.db")
    with closing(open_store(path)) as store:
        assert store.list_sessions(BOB).sessions == ()
        assert [each.key for each in store.list_sessions(EVE).sessions] == [two]
        assert [each.pattern for each in store.list_rules(LOCAL)] == ["nothing"]
        assert store.list_flaws(LOCAL) == []


def test_what_does_not_follow_is_found_and_mended(path: Path) -> None:
    with closing(open_store(path)) as store:
        key = keep_of(store, "ada", "one")
        other = keep_of(store, "bob", "two")
        execute(path, "UPDATE access SET person = 'bob', shared = 1 WHERE person = 'ada'")
        [flaw] = store.list_flaws(LOCAL)
        assert (flaw.session, flaw.follows) == (key, True)
        store.rewrite(LOCAL, key, 1, None)
        assert store.list_flaws(LOCAL) == []
        assert [each.key for each in store.list_sessions(BOB).sessions] == [other]
