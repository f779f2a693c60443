"""Usage on ClickHouse: what the embedded store says of the same sessions, whatever came first."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC
from decimal import Decimal
from pathlib import Path

import apsw
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clickhouse_engine import ADDRESSES, make_store, reopen
from turnlog.ingest.repair import check_usage
from turnlog.store.batch import DerivedRows
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.identity import LOCAL
from turnlog.store.people import Visibility
from turnlog.store.sqlite.store import SqliteStore
from turnlog.store.usage.building import build_report
from turnlog.store.usage.grouping import UsageQuery
from turnlog.store.usage.recounting import RecountedUsage, list_differences
from turnlog.store.usage.report import Grouping
from turnlog.store.usage.source import SummingSource, UsageSource
from turnlog.testing.builders import make_batch, make_key, make_line
from turnlog.testing.contracts.base import keep
from turnlog.testing.contracts.people import ADA, BOB, EVE
from turnlog.testing.row_builders import make_session_row
from usage_compared import NOW, Stores, compare_orders, compare_steps, report
from usage_sightings import SESSIONS, Files, files, make_sighting, say, steps

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A store on ClickHouse, and an embedded one."""
    folder = tmp_path_factory.mktemp("usage")
    with closing(make_store(folder)) as store, closing(SqliteStore.open(folder / "turnlog.db")) as other:
        yield store, other


@settings(max_examples=max(settings().max_examples // 100, 1))
@given(steps)
def test_whatever_happens_both_stores_tell_the_same(
    stores: Stores, steps: Sequence[tuple[str, str, Files | None]]
) -> None:
    compare_steps(stores, steps)


@settings(max_examples=max(settings().max_examples // 200, 1))
@given(st.fixed_dictionaries(dict.fromkeys(SESSIONS, files)), st.permutations(SESSIONS))
def test_the_order_of_syncing_makes_no_difference(
    stores: Stores, said: dict[str, Files], order: Sequence[str]
) -> None:
    compare_orders(stores[0], said, order)


def test_an_answer_that_loses_its_owner_gets_another(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        say(store, "local", "a", {".jsonl": [make_sighting("m", session_id="a", time=5)]}, 1)
        say(store, "local", "b", {".jsonl": [make_sighting("m", session_id="b", time=7)]}, 1)
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.session, cell.home.project, cell.messages) == ("a", "/work/a", 1)
        store.forget(LOCAL, [make_key("a")])
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.session, cell.home.project, cell.messages) == ("b", "/work/b", 1)


def test_another_session_changes_what_is_told_of_an_answer(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        for name, answer, output in (("a", "m", 1), ("b", "other", 1), ("c", "m", 5)):
            first = [store.find_usage_version(LOCAL, make_key(each)) for each in "ab"]
            say(store, "local", name, {".jsonl": [make_sighting(answer, session_id=name, output=output)]}, 1)
        then = [store.find_usage_version(LOCAL, make_key(each)) for each in "ab"]
        assert (then[0] > first[0], then[1]) == (True, first[1])
        assert [each.output for each in store.find_answers(LOCAL, ["m"])] == [5]
        store.recount()
        last = [store.find_usage_version(LOCAL, make_key(each)) for each in "ab"]
        assert (last[0] > then[0], last[1] > then[1]) == (True, True)


def test_a_quarter_of_an_hour_from_which_answers_went_has_the_times_of_the_others(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        rows = [make_sighting(name, time=time) for name, time in (("m", 3), ("n", 5), ("o", 9))]
        say(store, "local", "a", {".jsonl": rows}, 1)
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.first, cell.last, cell.messages) == (3, 9, 3)
        say(store, "local", "a", {".jsonl": rows[1:2]}, 2)
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.first, cell.last, cell.messages) == (5, 5, 1)


def test_sums_of_any_size_are_exact(tmp_path: Path) -> None:
    most = (1 << 63) - 1
    with closing(make_store(tmp_path)) as store:
        rows = [make_sighting(name, input=most, output=most) for name in ("m", "n")]
        say(store, "local", "a", {".jsonl": rows}, 1)
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.messages, cell.input, cell.output) == (2, 2 * most, 2 * most)
        assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []


def test_what_the_program_itself_says_is_kept(tmp_path: Path) -> None:
    summary = {"id": "a", "reported_cost": "1.25", "cost": "1.50", "counts": {"types": {"cost-state": 2}}}
    row = replace(make_session_row("a"), summary=msgspec.json.encode(summary))
    with closing(make_store(tmp_path)) as store:
        store.apply([make_batch({"a.jsonl": b"{}\n"}, session_id="a", rows=DerivedRows(session=row))])
        [reported] = store.read_usage(LOCAL).list_reported()
        assert (reported.session, reported.source) == ("a", "cost-state")
        assert (reported.cost_usd, reported.computed_usd) == (Decimal("1.25"), Decimal("1.5"))
        store.forget(LOCAL, [make_key("a")])
        assert store.read_usage(LOCAL).list_reported() == []


def test_another_price_list_prices_everything_anew_unless_it_is_newer(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        say(store, "local", "a", {".jsonl": [make_sighting("m")]}, 1)
        [right] = store.read_usage(LOCAL).list_cells()
    for column in ("answers", "usage_rollup"):
        change(tmp_path, f"ALTER TABLE {column} UPDATE cost = 1 WHERE true")
    note_prices(tmp_path, "newer", "9.9.9", "2999-01-01")
    with closing(reopen(tmp_path)) as store:
        assert store.read_usage(LOCAL).list_cells() == [replace(right, cost=1)]
    note_prices(tmp_path, "older", "0.0.1", "2020-01-01")
    with closing(reopen(tmp_path)) as store:
        assert store.read_usage(LOCAL).list_cells() == [right]
        prices = store.read_usage(LOCAL).find_prices()
        assert prices is not None
        assert prices.version != "0.0.1"


def test_writers_at_the_same_time_count_each_answer_once(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(4)]
    make_store(tmp_path).close()

    def write(name: str) -> None:
        rows = [make_sighting(f"m{number}", session_id=name, time=number) for number in range(10)]
        with closing(reopen(tmp_path)) as store:
            say(store, "local", name, {".jsonl": rows}, 1)

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(reopen(tmp_path)) as store:
        usage = store.read_usage(LOCAL)
        assert len(usage.list_answers()) == 10
        assert list_differences(usage, RecountedUsage(store, LOCAL)) == []
        assert {cell.home.key for cell in usage.list_cells()} == {min(make_key(name) for name in names)}


class Unsummed:
    """Usage whose reports are made of each quarter of an hour."""

    def __init__(self, usage: UsageSource) -> None:
        self.list_cells = usage.list_cells
        self.list_answers = usage.list_answers
        self.list_calls = usage.list_calls
        self.list_reported = usage.list_reported
        self.find_prices = usage.find_prices
        self.count_files = usage.count_files


def test_sums_have_only_what_the_viewer_may_see(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        for person, name in (("ada", "one"), ("ada", "two"), ("bob", "three")):
            store.note_machine(LOCAL, person, person=person, host="", user="", at_ns=1)
            lines = b"".join(
                make_line(at, type="assistant", session_id=name, message_id=message)
                for at, message in enumerate(("shared-answer", f"answer-of-{name}"))
            )
            keep(store, {f"{name}.jsonl": lines}, session_id=name, origin=person)
        store.set_visibility(LOCAL, [make_key("two", origin="ada")], Visibility.TEAM)
        counts = {}
        for scope in (LOCAL, ADA, BOB, EVE):
            usage = store.read_usage(scope)
            assert isinstance(usage, SummingSource)
            assert list_differences(usage, RecountedUsage(store, scope)) == []
            for by in (Grouping.DAILY, Grouping.SESSION, Grouping.PERSON, Grouping.TOOL):
                query = UsageQuery(zone=UTC, now=NOW, by=by, project="/")
                assert build_report(usage, query) == build_report(Unsummed(usage), query)
            counts[scope] = report(store, scope, Grouping.PERSON).total.messages
        assert counts == {LOCAL: 5, ADA: 3, BOB: 4, EVE: 2}


def test_what_the_view_missed_is_made_up_for_with_the_next_write(tmp_path: Path) -> None:
    """As when a server dies between the two inserts of one."""
    with closing(make_store(tmp_path)) as store:
        rows = [make_sighting(name, time=time) for name, time in (("m", 3), ("n", 5))]
        say(store, "local", "a", {".jsonl": rows}, 1)
        change(tmp_path, "DELETE FROM usage_rollup WHERE true")
        assert store.read_usage(LOCAL).list_cells() == []
        say(store, "local", "a", {".jsonl": [*rows, make_sighting("o", time=9)]}, 2)
        [cell] = store.read_usage(LOCAL).list_cells()
        assert (cell.first, cell.last, cell.messages) == (3, 9, 3)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM answers WHERE true", "the usage of m is missing or wrong"),
        (
            "ALTER TABLE usage_rollup UPDATE cost = cost + 1 WHERE true",
            "totals per quarter of an hour do not match their answers",
        ),
    ],
)
def test_what_was_altered_is_found_named_and_mended(tmp_path: Path, damage: str, told: str) -> None:
    with closing(make_store(tmp_path)) as store:
        say(store, "local", "a", {".jsonl": [make_sighting("m")]}, 1)
        assert check_usage(store, LOCAL).left == ()
        change(tmp_path, damage)
        assert told in [each.message for each in check_usage(store, LOCAL).left]
        assert check_usage(store, LOCAL, repair=True).left == ()


def change(folder: Path, statement: str) -> None:
    with closing(Engine(ADDRESSES[folder])) as engine:
        engine.command(statement)


def note_prices(folder: Path, *cells: str) -> None:
    with closing(apsw.Connection(str(folder / "control.db"))) as connection:
        connection.execute("UPDATE prices SET list = ?, version = ?, newest = ?", cells)
