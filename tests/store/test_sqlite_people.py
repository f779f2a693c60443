"""What only the embedded store does for people: its tables, its connections, its backups."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from contracts.people import ADA, BOB, EVE, keep_of
from turnlog.store.account_backups import restore_store
from turnlog.store.catalogue.schema import UNSEEN, ViewerTerms, list_views
from turnlog.store.model import LOCAL, Scope, Viewer, Visibility
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_lines
from turnlog.testing.checks import keep

SERVER_TEXTS = {"texts", "text_words", "text_words_gone", "text_state"}
"""The tables of search that only a server has."""


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
    viewed = {*list_views(ViewerTerms("owner", "person", "team", "key", "main.", "temp."))}
    assert tables - indexes == viewed | UNSEEN - SERVER_TEXTS
    assert UNSEEN.isdisjoint(viewed)


def test_a_store_of_one_person_keeps_nothing_about_people_but_its_machine(path: Path) -> None:
    with closing(open_store(path)) as store:
        keep(store, {"session-1.jsonl": make_lines(4)})
    said = "SELECT person, chosen, rule, is_shared FROM sessions"
    assert execute(path, said) == [(None, None, None, 0)]
    assert execute(path, "SELECT count(*) FROM rules") == [(0,)]
    assert execute(path, "SELECT origin, person FROM machines") == [(b"here", None)]


@contextmanager
def counting_connections() -> Iterator[list[apsw.Connection]]:
    """List the connections that are made."""
    made: list[apsw.Connection] = []
    apsw.connection_hooks.append(made.append)
    try:
        yield made
    finally:
        apsw.connection_hooks.remove(made.append)


def test_one_thread_answers_many_viewers_with_few_connections(path: Path) -> None:
    with closing(open_store(path)) as store, counting_connections() as made:
        keys = {f"p{number}": keep_of(store, f"p{number}", "one") for number in range(8)}
        for _ in range(2):
            for person, key in keys.items():
                scope = Scope(LOCAL.owner, Viewer(person=person, team=True))
                assert [each.key for each in store.list_sessions(scope).sessions] == [key]
        assert len(made) <= 5  # one that sees everything, and a few for viewers


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
        execute(path, "UPDATE sessions SET person = 'bob', is_shared = 1 WHERE person = 'ada'")
        [flaw] = store.list_flaws(LOCAL)
        assert (flaw.session, flaw.follows) == (key, True)
        store.rewrite(LOCAL, key, 1, None)
        assert store.list_flaws(LOCAL) == []
        assert [each.key for each in store.list_sessions(BOB).sessions] == [other]
