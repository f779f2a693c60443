"""Usage on PostgreSQL: what the embedded store says of the same sessions, whatever came first."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal

import msgspec
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from postgres_server import make_database
from turnlog.ingest.repair import check_usage
from turnlog.store.batch import DerivedRows
from turnlog.store.identity import LOCAL
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.sqlite.store import SqliteStore
from turnlog.store.usage.recounting import RecountedUsage, list_differences
from turnlog.testing.builders import make_batch, make_key
from turnlog.testing.row_builders import make_session_row
from usage_compared import Stores, compare_orders, compare_steps
from usage_sightings import SESSIONS, Files, files, make_sighting, say, steps


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A store on PostgreSQL, and an embedded one."""
    path = tmp_path_factory.mktemp("usage") / "turnlog.db"
    with closing(PostgresStore.open(make_database())) as store, closing(SqliteStore.open(path)) as other:
        yield store, other


@pytest.fixture
def address() -> str:
    return make_database()


@settings(max_examples=12)
@given(steps)
def test_whatever_happens_both_stores_tell_the_same(
    stores: Stores, steps: Sequence[tuple[str, str, Files | None]]
) -> None:
    compare_steps(stores, steps)


@settings(max_examples=8)
@given(st.fixed_dictionaries(dict.fromkeys(SESSIONS, files)), st.permutations(SESSIONS))
def test_the_order_of_syncing_makes_no_difference(
    stores: Stores, said: dict[str, Files], order: Sequence[str]
) -> None:
    compare_orders(stores[0], said, order)


def test_writers_at_the_same_time_count_each_answer_once(address: str) -> None:
    names = [f"s{number}" for number in range(8)]

    def write(name: str) -> None:
        rows = [make_sighting(f"m{number}", session_id=name, time=number) for number in range(40)]
        with closing(PostgresStore.open(address)) as store:
            say(store, "local", name, {".jsonl": rows}, 1)

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(PostgresStore.open(address)) as store:
        usage = store.read_usage(LOCAL)
        assert len(usage.list_answers()) == 40
        assert list_differences(usage, RecountedUsage(store, LOCAL)) == []
        assert {cell.home.key for cell in usage.list_cells()} == {min(make_key(name) for name in names)}


def test_an_answer_that_loses_its_owner_gets_another(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        say(store, "local", "a", {".jsonl": [make_sighting("m", session_id="a", time=5)]}, 1)
        say(store, "local", "b", {".jsonl": [make_sighting("m", session_id="b", time=7)]}, 1)
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.session, cell.home.project, cell.messages) == ("a", "/work/a", 1)
        store.forget(LOCAL, [make_key("a")])
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.session, cell.home.project, cell.messages) == ("b", "/work/b", 1)
        assert (
            ask(address, "SELECT count(*) FROM usage_groups WHERE session NOT IN (SELECT id FROM sessions)")
            == 0
        )


def test_another_session_changes_what_is_told_of_an_answer(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        for name, answer, output in (("a", "m", 1), ("b", "other", 1), ("c", "m", 5)):
            first = [store.find_usage_version(LOCAL, make_key(each)) for each in "ab"]
            say(store, "local", name, {".jsonl": [make_sighting(answer, session_id=name, output=output)]}, 1)
        then = [store.find_usage_version(LOCAL, make_key(each)) for each in "ab"]
        assert (then[0] > first[0], then[1]) == (True, first[1])
        assert [each.output for each in store.find_answers(LOCAL, ["m"])] == [5]
        store.recount()
        last = [store.find_usage_version(LOCAL, make_key(each)) for each in "ab"]
        assert (last[0] > then[0], last[1] > then[1]) == (True, True)


def test_sums_of_any_size_are_exact(address: str) -> None:
    most = (1 << 63) - 1
    with closing(PostgresStore.open(address)) as store:
        rows = [make_sighting(name, input=most, output=most) for name in ("m", "n")]
        say(store, "local", "a", {".jsonl": rows}, 1)
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.messages, cell.input, cell.output) == (2, 2 * most, 2 * most)
        assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []


def test_what_the_program_itself_says_is_kept(address: str) -> None:
    summary = {"id": "a", "reported_cost": "1.25", "cost": "1.50", "counts": {"types": {"cost-state": 2}}}
    row = replace(make_session_row("a"), summary=msgspec.json.encode(summary))
    with closing(PostgresStore.open(address)) as store:
        store.apply([make_batch({"a.jsonl": b"{}\n"}, session_id="a", rows=DerivedRows(session=row))])
        [reported] = store.read_usage(LOCAL).list_reported()
        assert (reported.session, reported.source) == ("a", "cost-state")
        assert (reported.cost_usd, reported.computed_usd) == (Decimal("1.25"), Decimal("1.5"))
        store.forget(LOCAL, [make_key("a")])
        assert store.read_usage(LOCAL).list_reported() == []


def test_another_price_list_prices_everything_anew_unless_it_is_newer(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        say(store, "local", "a", {".jsonl": [make_sighting("m")]}, 1)
        [right] = store.read_usage(LOCAL).list_cells()
    change(address, "UPDATE answers SET cost = 1; UPDATE usage_rollup SET cost = 1")
    change(address, "UPDATE usage_prices SET list = 'newer', version = '9.9.9', newest = '2999-01-01'")
    with closing(PostgresStore.open(address)) as store:
        assert store.read_usage(LOCAL).list_cells() == [replace(right, cost=1)]
    change(address, "UPDATE usage_prices SET list = 'older', version = '0.0.1', newest = '2020-01-01'")
    with closing(PostgresStore.open(address)) as store:
        assert store.read_usage(LOCAL).list_cells() == [right]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE answers SET output = output + 1", "the usage of m is missing or wrong"),
        ("DELETE FROM answers", "the usage of m is missing or wrong"),
        ("UPDATE usage_rollup SET cost = cost + 1", "totals per quarter of an hour do not match their answers"),
    ],
)
def test_what_was_altered_is_found_named_and_mended(address: str, damage: str, told: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        say(store, "local", "a", {".jsonl": [make_sighting("m")]}, 1)
        assert check_usage(store, LOCAL).left == ()
        change(address, damage)
        assert told in [each.message for each in check_usage(store, LOCAL).left]
        assert check_usage(store, LOCAL, repair=True).left == ()
        assert check_usage(store, LOCAL).left == ()


def change(address: str, statement: str) -> None:
    with psycopg.connect(address, autocommit=True, options="-c search_path=turnlog") as connection:
        connection.execute(statement)


def ask(address: str, query: str) -> object:
    with psycopg.connect(address, autocommit=True, options="-c search_path=turnlog") as connection:
        [(value,)] = connection.execute(query)
        return value
