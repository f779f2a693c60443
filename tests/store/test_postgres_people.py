"""Views for those who do not see everything, and servers of the version before on the same tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from postgres_server import make_database
from turnlog.errors import OlderStoreError
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL, Scope, Viewer
from turnlog.store.people import Visibility
from turnlog.store.postgres.migrations import MIGRATIONS
from turnlog.store.postgres.restoring import restore_store
from turnlog.store.postgres.seen import SEEN
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.search.hits import SearchOrder
from turnlog.store.search.parsing import parse_query
from turnlog.testing.builders import make_line, make_lines
from turnlog.testing.contracts.base import keep

ADA, BOB = (Scope(LOCAL.owner, Viewer(person=name, team=True)) for name in ("ada", "bob"))
_BEFORE = """
SELECT count(*) FROM turnlog.sessions; SET search_path TO turnlog;
INSERT INTO sessions (owner, key, origin, session_id, project_folder, month, revision, derivation)
VALUES ('local', 'old', 'ada', 'old', '', 202601, 1, 0);
INSERT INTO tombstones VALUES ('local', 'gone', 'session-key', 'gone', 1);
INSERT INTO changes (owner, kind, session, revision, at_ns) VALUES ('local', 'session-added', 'old', 1, 1);
INSERT INTO hook_deliveries (id, owner, delivery_id, received_ns, session_id, event_name, payload)
VALUES (999, 'local', 'old', 1767312000000000000, 'old', 'Stop', '{}');
INSERT INTO marks (owner, session, operation, at_ns, tags, starred, archived)
SELECT 'local', id, 99, 1, '{}', true, false FROM sessions WHERE key = 'old';
INSERT INTO usage_groups (session, digest, session_id, terms)
SELECT id, 'digest', 'old', '' FROM sessions WHERE key = 'old'
"""
"""How servers wrote that knew nothing of people."""


@pytest.fixture
def address() -> str:
    return make_database()


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    """A store with a session of Ada's and one of Bob's, each with what a hook told."""
    with closing(PostgresStore.open(address)) as store:
        for person in ("ada", "bob"):
            store.note_machine(LOCAL, person, person=person, host="", user="", at_ns=1)
            keep(store, {f"{person}.jsonl": make_lines(4)}, session_id=person, origin=person)
            store.add_deliveries(
                LOCAL,
                [
                    HookDelivery(
                        delivery_id=f"{person}-{number}",
                        received_ns=(1_767_312_000 + number) * 10**9,
                        payload=b'{"prompt": "gamma"}',
                        session_id=person,
                        event_name="UserPromptSubmit",
                        origin=person,
                    )
                    for number in range(3)
                ],
            )
        yield store


def list_ids(store: PostgresStore, scope: Scope) -> list[str]:
    return sorted(str(each.row.session_id) for each in store.list_sessions(scope).sessions)


def test_who_does_not_say_who_looks_sees_nothing(store: PostgresStore, address: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute(f"SET search_path TO {SEEN}, turnlog, public")
        tables = connection.execute("SELECT viewname FROM pg_views WHERE schemaname = %s", (SEEN,)).fetchall()
        full = {name for (name,) in tables if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall()}
    assert len(tables) > 20
    assert full == {"texts"}, "of what hooks told, which is known by numbers alone"


def test_who_looked_is_forgotten_with_the_transaction(store: PostgresStore) -> None:
    for scope, ids in ((ADA, ["ada"]), (LOCAL, ["ada", "bob"]), (BOB, ["bob"]), (LOCAL, ["ada", "bob"])):
        assert list_ids(store, scope) == ids
    with store._database.asking() as connection:
        assert connection.execute("SELECT current_setting('turnlog.person', true)").fetchall() == [("",)]
        assert connection.execute("SHOW search_path").fetchall() == [("turnlog, public",)]


@pytest.mark.parametrize("name", ["it's", "a; DROP TABLE sessions", "zero\0", "half\ud800", ""])
def test_any_name_may_look(store: PostgresStore, name: str) -> None:
    assert list_ids(store, Scope(LOCAL.owner, Viewer(person=name, session=name))) == []
    assert list_ids(store, ADA) == ["ada"]


@pytest.mark.parametrize("order", SearchOrder)
def test_what_hooks_told_others_is_not_found(store: PostgresStore, order: SearchOrder) -> None:
    found = {scope: store.search(scope, parse_query("gamma"), order=order).hits for scope in (LOCAL, ADA, BOB)}
    assert {scope: sorted({hit.session_id for hit in hits}) for scope, hits in found.items()} == {
        LOCAL: ["ada", "bob"],
        ADA: ["ada"],
        BOB: ["bob"],
    }
    assert store.number_deliveries(ADA, ["ada-1", "bob-1"]).keys() == {"ada-1"}


def test_servers_of_the_version_before_go_on(store: PostgresStore, address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(_BEFORE.encode())
    access = store.find_access(LOCAL, "old")
    assert access is not None
    assert (access.person, access.visibility) == ("ada", Visibility.PRIVATE)
    assert store.find_access(BOB, "old") is None
    assert store.find_known(LOCAL, "old") is store.find_known(ADA, "old") is None, "it has no files"
    assert [each.session for each in store.list_changes(ADA)][-1] == "old"
    assert [each.session_id for each in store.list_deliveries(LOCAL, "old")] == ["old"]
    assert [each.key for each in store.list_tombstones(LOCAL)] == ["gone"]
    assert store.list_tombstones(ADA) == []
    assert store.set_visibility(ADA, ["old"], Visibility.TEAM) != []
    assert store.find_access(BOB, "old") is not None


def test_a_database_of_the_version_before_is_brought_up_to_date(store: PostgresStore, address: str) -> None:
    """All of its sessions are nobody's, on machines that are known."""
    store.close()
    added = [step.__name__ for step in MIGRATIONS if step.__name__ not in _OLD_STEPS]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(_GO_BACK.encode())
        connection.execute("DELETE FROM turnlog.migrations WHERE name = ANY(%s)", (added,))
    with pytest.raises(OlderStoreError):
        PostgresStore.open(address, read_only=True)
    with closing(PostgresStore.open(address)) as store:
        assert [(each.origin, each.person, each.sessions) for each in store.list_machines(LOCAL)] == [
            ("ada", None, 1),
            ("bob", None, 1),
        ]
        assert all(0 < each.first_ns <= each.last_ns for each in store.list_machines(LOCAL))
        assert list_ids(store, ADA) == []
        assert store.assign_machine(LOCAL, "ada", "ada") == 1
        assert list_ids(store, ADA) == ["ada"]


_OLD_STEPS = (
    "create_tables",
    "create_list_tables",
    "create_usage_tables",
    "create_search_tables",
    "create_lease_table",
)
_GO_BACK = f"""
DROP SCHEMA {SEEN} CASCADE; SET search_path TO turnlog; DROP TRIGGER add_access ON sessions;
DROP FUNCTION add_access; DROP TABLE access, rules, machines; ALTER TABLE hook_deliveries DROP COLUMN origin;
ALTER TABLE changes DROP COLUMN person, DROP COLUMN former, DROP COLUMN shared, DROP COLUMN origin;
ALTER TABLE tombstones DROP COLUMN person, DROP COLUMN origin; ALTER TABLE marks DROP COLUMN author;
ALTER TABLE usage_groups DROP COLUMN audience; ALTER TABLE summaries DROP COLUMN series
"""


def test_views_follow_their_tables(store: PostgresStore, address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ALTER TABLE turnlog.sessions ADD COLUMN mood text")
        with pytest.raises(OlderStoreError):
            PostgresStore.open(address, read_only=True)
        with closing(PostgresStore.open(address)) as other:
            assert list_ids(other, ADA) == ["ada"]
        connection.execute(f"SELECT mood FROM {SEEN}.sessions")
        PostgresStore.open(address, read_only=True).close()


def test_who_sees_what_is_as_it_was_said_last(store: PostgresStore, address: str, tmp_path: Path) -> None:
    """Whatever a backup says that is put in the place of the store."""
    [stored] = store.list_sessions(BOB).sessions
    store.set_rule(LOCAL, "*", Visibility.TEAM)
    store.back_up(tmp_path / "copy")
    store.set_rule(LOCAL, "*", None)
    store.set_rule(LOCAL, "other", Visibility.TEAM)
    store.set_visibility(BOB, [stored.key], Visibility.TEAM)
    store.assign_machine(LOCAL, "ada", "eve")
    store.assign_machine(LOCAL, "ada", "ada")
    store.close()
    restored = restore_store(address, tmp_path / "copy")
    with closing(PostgresStore.open(address)) as store:
        assert list_ids(store, ADA) == ["ada", "bob"]
        with psycopg.connect(address, autocommit=True) as connection:  # nothing rests on it any more
            connection.execute(f"DROP SCHEMA {restored.kept} CASCADE".encode())
        assert list_ids(store, ADA) == ["ada", "bob"]
        assert list_ids(store, BOB) == ["bob"]
        assert [each.pattern for each in store.list_rules(LOCAL)] == ["other"]
        keep(store, {"ada.jsonl": make_lines(6)}, session_id="ada", origin="ada")
        assert store.list_flaws(LOCAL) == []


def test_what_is_told_of_answers_changes_with_whose_sessions_are_whose(store: PostgresStore) -> None:
    """A copy that becomes another's, or is forgotten, no longer counts for the one that is left."""
    names = ("carl", "copy")
    for person in names:
        store.note_machine(LOCAL, person, person="carl", host="", user="", at_ns=1)
    line = make_line(1, type="assistant", session_id="x", message_id="answer")
    keys = [keep(store, {f"{name}.jsonl": line}, session_id=name, origin=name).key for name in names]
    for machine, person in (("copy", "dora"), ("copy", "carl"), ("carl", "dora"), ("carl", "carl")):
        told = {key: _tell_answers(store, key) for key in keys}
        assert store.assign_machine(LOCAL, machine, person) == 1
        for key, (version, answers) in told.items():
            now = _tell_answers(store, key)
            assert now[0] != version or now[1] == answers
    first = next(key for key in keys if _tell_answers(store, key)[1])
    [other] = {*keys} - {first}
    version, answers = _tell_answers(store, other)
    store.forget(LOCAL, [first])
    assert answers == []
    assert _tell_answers(store, other)[0] != version


def _tell_answers(store: PostgresStore, key: str) -> tuple[int, list[str]]:
    answers = store.read_usage(LOCAL).list_answers()
    return store.find_usage_version(LOCAL, key), [each.message for each in answers if each.cell.home.key == key]
