"""What lists look at on ClickHouse: a view of sessions, which follows them, and can be made anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import apsw
import pytest

from clickhouse_engine import ADDRESSES, make_store, reopen
from turnlog.ingest.checks import check_archive
from turnlog.ingest.pipeline import sync
from turnlog.store.batch import DerivedRows
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.session_schema import SUMMARISED
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.identity import LOCAL
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.store.marks import MarkChange
from turnlog.store.places import ServerPlace
from turnlog.testing.builders import make_batch, make_lines
from turnlog.testing.row_builders import make_session_row
from turnlog.transcripts import locate_path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ClickHouseStore]:
    with closing(make_store(tmp_path)) as store:
        store.apply([make_batch({f"{name}.jsonl": make_lines(4)}, session_id=name) for name in ("one", "two")])
        yield store


def list_names(store: ClickHouseStore) -> list[str | None]:
    return [each.row.session_id for each in store.list_sessions(LOCAL).sessions]


def test_each_session_is_summarised_once_whatever_is_written_of_it(store: ClickHouseStore) -> None:
    [first, _] = store.list_sessions(LOCAL, order=SessionOrder.TITLE).sessions
    for stars in (True, False, True):
        store.mark(LOCAL, [first.key], MarkChange(starred=stars))
    query = "SELECT count(), countIf(starred) FROM summaries FINAL"
    assert store._engine.query(query) == [(2, 1)]
    assert store.list_sessions(LOCAL, SessionFilter(starred=True)).total == 1


def test_a_page_of_sessions_takes_two_statements(store: ClickHouseStore) -> None:
    before = store._engine.statements
    assert store.list_sessions(LOCAL, limit=1).total == 2
    assert store._engine.statements - before == 2


def test_a_lost_summary_is_told_and_made_anew(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_bytes(make_lines(4))
    with closing(make_store(tmp_path)) as store:
        sync(store, ServerPlace(ADDRESSES[tmp_path], tmp_path), locate_path(tmp_path).sessions, origin="here")
        keys = {each.key for each in store.list_sessions(LOCAL).sessions}
        lost = min(keys)
        store._engine.delete("summaries", "key = {key:String}", {"key": lost})
        assert {each.key for each in store.list_sessions(LOCAL).sessions} == keys - {lost}
        [flaw] = store.list_flaws(LOCAL)
        assert (flaw.session, flaw.follows) == (lost, True)
        mended = [each for step in check_archive(store, LOCAL, repair=True) for each in step.checked.mended]
        assert flaw.message in [each.message for each in mended]
        assert {each.key for each in store.list_sessions(LOCAL).sessions} == keys
        assert store.list_flaws(LOCAL) == []


def test_a_summary_of_no_session_is_told(store: ClickHouseStore) -> None:
    columns = "* REPLACE (session + 1 AS session)"
    store._engine.command(f"INSERT INTO summaries SELECT {columns} FROM summaries LIMIT 1")
    assert [flaw.message for flaw in store.list_flaws(LOCAL)] == ["rows belong to no session (summaries)"]


def test_a_store_that_was_made_without_them_gets_them_when_it_is_opened(
    store: ClickHouseStore, tmp_path: Path
) -> None:
    names = list_names(store)
    store.close()
    with closing(Engine(ADDRESSES[tmp_path])) as engine:
        engine.command("DROP VIEW summarised SYNC")
        engine.command("DROP TABLE summaries SYNC")
    with closing(apsw.Connection(str(tmp_path / "control.db"))) as connection:
        connection.execute("DELETE FROM migrations WHERE name = 'summarise_sessions'")
    with closing(reopen(tmp_path)) as again:
        assert list_names(again) == names
        again.apply([make_batch({"three.jsonl": make_lines(4)}, session_id="three")])
        assert set(list_names(again)) == {*names, "three"}
        assert again.list_flaws(LOCAL) == []


def test_a_store_from_before_series_gets_them_when_it_is_opened(store: ClickHouseStore, tmp_path: Path) -> None:
    names = list_names(store)
    store.close()
    former = SUMMARISED.select.replace(", e.series AS series", "")
    with closing(Engine(ADDRESSES[tmp_path])) as engine:
        engine.command(f"ALTER TABLE summarised MODIFY QUERY {former}")
        for table in ("summaries", "sessions"):
            engine.command(f"ALTER TABLE {table} DROP COLUMN series")
    with closing(apsw.Connection(str(tmp_path / "control.db"))) as connection:
        connection.execute("DELETE FROM migrations WHERE name = 'add_series'")
    with closing(reopen(tmp_path)) as again:
        assert list_names(again) == names
        for name in ("three", "four", "five"):
            rows = DerivedRows(session=make_session_row(name, series="nightly"))
            again.apply([make_batch({f"{name}.jsonl": make_lines(4)}, session_id=name, rows=rows)])
        assert again.list_sessions(LOCAL, SessionFilter(series="nightly")).total == 3
        assert again.list_sessions(LOCAL, grouped=True).rows == 3
        assert again.list_flaws(LOCAL) == []


@pytest.mark.parametrize(
    ("costs", "total"),
    [
        (("0.10", "0.2"), "0.30"),
        (("1E-7", "-2"), "-1.9999999"),
        (("1E+3", "0.5"), "1000.5"),
        (("123456789012345678901.5", "0.25"), "123456789012345678901.75"),
    ],
)
def test_what_sessions_of_a_project_cost_is_added_up_to_the_last_digit(
    store: ClickHouseStore, costs: tuple[str, str], total: str
) -> None:
    for key, cost in zip([each.key for each in store.list_sessions(LOCAL).sessions], costs, strict=True):
        renewed = "* REPLACE ({cost:String} AS cost, write + 1000 AS write)"
        statement = f"INSERT INTO sessions SELECT {renewed} FROM sessions FINAL WHERE key = {{key:String}}"
        store._engine.command(statement, {"cost": cost, "key": key})
    [project] = store.list_projects(LOCAL)
    assert project.cost is not None
    assert project.cost == Decimal(total)
    assert str(project.cost) == total
