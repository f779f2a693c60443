"""An index elsewhere lags, is away, is emptied, is of another archive, forgets; and nothing wrong is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import zstandard
from msgspec.structs import replace

from clickhouse_engine import make_index, make_place
from postgres_server import make_archive
from turnlog.errors import LostStoreError, StoreError
from turnlog.store.catalogue.postgres import PostgresConnection
from turnlog.store.clickhouse import ClickHouse
from turnlog.store.interface import MaintainedStore, Maintenance
from turnlog.store.model import LOCAL, IndexPlace, Scope, ServerPlace, Viewer, Visibility
from turnlog.store.opening import check_index, measure_backlog, open_store
from turnlog.store.search.language import parse_query
from turnlog.store.usage_cells import Detail, merge_cells
from turnlog.store.usage_recount import RecountedUsage, list_differences
from turnlog.store.usage_report import Grouping, UsageQuery, build_report
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.checks import keep, search
from turnlog.transcripts.hooks import HookDelivery

_AWAY = IndexPlace("clickhouse://127.0.0.1:1/nothing")


@pytest.fixture
def place(tmp_path: Path) -> ServerPlace:
    return make_place(tmp_path)


@contextmanager
def opened(place: ServerPlace) -> Iterator[MaintainedStore]:
    with closing(open_store(place)) as store:
        yield store


def make_answer_line(number: int, message_id: str) -> bytes:
    return make_line(number, type="assistant", message_id=message_id)


def find(store: MaintainedStore, words: str, scope: Scope = LOCAL) -> list[int | None]:
    return [hit.line for hit in store.search(scope, parse_query(words), limit=100).hits]


def test_what_is_new_is_found_once_it_is_sent_and_the_page_says_what_is_missing(place: ServerPlace) -> None:
    with opened(place) as store:
        keep(store, {"session-1.jsonl": make_line(0, text="a plover")})
        page = store.search(LOCAL, parse_query("plover"))
        assert (page.hits, page.backlog) == ((), 2)  # texts and usage
        left = measure_backlog(place)
        assert left is not None
        assert (left.entries, left.oldest_ns is None) == (2, False)
        assert store.maintain(Maintenance.FILL)
        page = store.search(LOCAL, parse_query("plover"))
        assert ([hit.line for hit in page.hits], page.backlog) == ([0], 0)


def test_each_entry_is_there_once_however_often_it_is_sent(place: ServerPlace) -> None:
    with opened(place) as store:
        keep(store, {"session-1.jsonl": make_lines(40)})
        for _ in range(3):
            store.maintain(Maintenance.REFILL)
            assert store.maintain(Maintenance.FILL)
        assert place.index is not None
        [(count, different)] = ClickHouse(place.index.address).query(
            "SELECT count(), uniqExact(generation, at) FROM @texts FINAL"
        )
        assert count == different > 0
        assert len(find(store, "line")) == len(set(find(store, "line")))


def test_what_was_forgotten_is_gone_at_once_while_the_index_is_away(place: ServerPlace) -> None:
    with opened(place) as store:
        gone = keep(store, {"session-1.jsonl": make_line(0, text="a plover")}).key
        keep(store, {"session-2.jsonl": make_line(0, text="another plover")}, session_id="session-2")
        store.maintain(Maintenance.FILL)
        assert len(find(store, "plover")) == 2
    with opened(replace(place, index=_AWAY)) as store:
        assert not store.forget(LOCAL, [gone]).scrubbed
    with opened(place) as store:  # which has heard nothing of it
        assert len(find(store, "plover")) == 1
        assert store.maintain(Maintenance.PURGE)


def test_what_was_made_private_is_gone_at_once_also_where_it_is_counted(place: ServerPlace) -> None:
    mine, others = (Scope(LOCAL.owner, Viewer(person=name, team=True)) for name in ("ada", "bob"))
    with opened(place) as store:
        lines = make_line(0, text="a plover") + make_answer_line(1, "msg-1")
        key = keep(store, {"session-1.jsonl": lines}, origin="of ada").key
        store.save_machine(LOCAL, "of ada", person="ada")
        store.set_visibility(LOCAL, [key], Visibility.TEAM)
        store.maintain(Maintenance.FILL)
        assert find(store, "plover", others) == [0]
        assert sum(cell.messages for cell in store.read_usage(others).list_cells()) == 1
        store.set_visibility(LOCAL, [key], Visibility.PRIVATE)  # and the index is not told
        assert find(store, "plover", others) == []
        assert store.read_usage(others).list_cells() == []
        assert find(store, "plover", mine) == [0]
        assert sum(cell.messages for cell in store.read_usage(mine).list_cells()) == 1


@pytest.mark.parametrize(
    "detail", [Detail(), Detail(frozenset(), length=0), Detail(frozenset({"home"}), length=4)]
)
def test_sums_are_those_of_the_database_however_far_the_index_is(place: ServerPlace, detail: Detail) -> None:
    with opened(place) as store:
        for number in range(6):
            lines = b"".join(make_answer_line(at, f"msg-{number}-{at}") for at in range(4))
            shared = make_answer_line(9 + number, "msg-of-several")
            keep(store, {f"session-{number}.jsonl": lines + shared}, session_id=f"session-{number}")
            if number % 2:
                store.maintain(Maintenance.FILL)
            found = merge_cells(store.read_usage(LOCAL).list_cells(detail))
            with opened(replace(place, index=_AWAY)) as without:
                assert found == merge_cells(without.read_usage(LOCAL).list_cells(detail))
        assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []


@pytest.mark.parametrize("by", [Grouping.PROJECT, Grouping.PERSON, Grouping.MACHINE])
def test_reports_by_what_sessions_have_in_common_are_those_of_the_database(
    place: ServerPlace, by: Grouping
) -> None:
    query = UsageQuery(zone=UTC, now=datetime.now(UTC), by=by)
    with opened(place) as store:
        for number in range(6):
            name, folder = f"session-{number}", f"-p{number % 3}"
            lines, machine = {f"{name}.jsonl": make_answer_line(0, f"msg-{number}")}, f"machine {number % 2}"
            store.apply([make_batch(lines, session_id=name, origin=machine, project_folder=folder)])
            if number == 3:
                store.save_machine(LOCAL, "machine 1", person="ada")
                store.maintain(Maintenance.FILL)
        found = build_report(store.read_usage(LOCAL), query)
        assert len(found.rows) > 1
        with opened(replace(place, index=_AWAY)) as without:
            assert found == build_report(without.read_usage(LOCAL), query)
            assert found == build_report(RecountedUsage(without, LOCAL), query)


def test_while_the_index_is_away_all_but_searches_goes_on(place: ServerPlace) -> None:
    with opened(replace(place, index=_AWAY)) as store:
        keep(store, {"session-1.jsonl": make_line(0, text="a plover") + make_answer_line(1, "msg-1")})
        assert not store.maintain(Maintenance.FILL)
        store.maintain()
        with pytest.raises(LostStoreError, match=r"clickhouse://127\.0\.0\.1:1/nothing cannot be reached"):
            find(store, "plover")
        assert len(store.list_sessions(LOCAL).sessions) == 1
        assert sum(cell.messages for cell in store.read_usage(LOCAL).list_cells()) == 1
    with opened(place) as store:
        assert store.maintain(Maintenance.FILL)
        assert find(store, "plover") == [0]


def test_what_is_no_hit_takes_no_statement_of_its_own(
    place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def execute(
        connection: Any, statement: str, values: Any = (), run: Any = PostgresConnection.execute
    ) -> Any:
        asked.append(statement)
        return run(connection, statement, values)

    with opened(place) as store:
        for number in range(60):
            name = f"session-{number}"
            keep(store, {f"{name}.jsonl": make_line(0, text="plover grey")}, session_id=name)
        keep(store, {"session-x.jsonl": make_line(0, text="grey plover")}, session_id="session-x")
        store.maintain(Maintenance.FILL)
        monkeypatch.setattr(PostgresConnection, "execute", execute)
        assert len(find(store, '"grey plover"')) == 1
    assert len(asked) < 20, asked


def test_an_index_that_was_emptied_is_filled_again(place: ServerPlace) -> None:
    assert place.index is not None
    with opened(place) as store:
        keep(store, {"session-1.jsonl": make_line(0, text="a plover")})
        store.add_deliveries(LOCAL, [_make_delivery("a plover, too")])
        store.maintain(Maintenance.FILL)
        assert len(find(store, "plover")) == 2
        ClickHouse(place.index.address).drop()
        page = store.search(LOCAL, parse_query("plover"))
        assert (page.hits, page.backlog) == ((), 1)
        assert not store.maintain(Maintenance.FILL)  # which finds out
        assert store.maintain(Maintenance.FILL)
        assert len(find(store, "plover")) == 2


def test_a_team_becomes_a_fleet_while_people_go_on_working(tmp_path: Path) -> None:
    team = ServerPlace(make_archive(), tmp_path)
    with opened(team) as store:
        keep(store, {"session-1.jsonl": make_line(0, text="a plover")})
        store.add_deliveries(LOCAL, [_make_delivery("a plover, too")])
    fleet = replace(team, index=make_index())
    with opened(fleet) as store:
        assert len(find(store, "plover")) == 2  # the database has all of it still
        keep(store, {"session-2.jsonl": make_line(0, text="one more plover")}, session_id="session-2")
        assert len(find(store, "plover")) == 3
        with pytest.raises(StoreError, match="TURNLOG_INDEX"), opened(team) as former:
            find(former, "plover")
        store.maintain(Maintenance.REFILL)
        assert len(find(store, "plover")) == 3
        assert store.maintain(Maintenance.FILL)
        page = store.search(LOCAL, parse_query("plover"))
        assert (len(page.hits), page.backlog) == (3, 0)
        keep(store, {"session-3.jsonl": make_line(0, text="plover")}, session_id="session-3")
        assert len(find(store, "plover")) == 3  # from now on it is told by the index
        store.maintain(Maintenance.FILL)
        assert len(find(store, "plover")) == 4


def test_an_index_of_another_archive_is_left_alone_unless_it_is_taken_over(tmp_path: Path) -> None:
    index = make_index()
    one, two = (ServerPlace(make_archive(), tmp_path, index=index) for _ in range(2))
    with opened(one) as store:
        keep(store, {"session-1.jsonl": make_line(0, text="a plover")})
        store.maintain(Maintenance.FILL)
    with opened(two) as store:
        keep(store, {"session-2.jsonl": make_line(0, text="a plover")}, session_id="session-2")
        for work in (Maintenance.FILL, Maintenance.REFILL):
            with pytest.raises(StoreError, match="the index of another archive"):
                store.maintain(work)
        with pytest.raises(StoreError, match="the index of another archive"):
            check_index(two)
        store.maintain(Maintenance.TAKE_OVER)
        store.maintain(Maintenance.FILL)
        assert [hit.session_id for hit in search(store, "plover")] == ["session-2"]


def test_nothing_of_a_forgotten_session_is_left_in_any_file_of_the_engine(place: ServerPlace) -> None:
    secret, kept = f"plugh{uuid4().hex}", f"xyzzy{uuid4().hex}"
    assert place.index is not None
    folder = Path(place.index.address.removeprefix("chdb://").partition("?")[0])
    with opened(place) as store:
        for name, word in (("session-1", secret), ("session-2", kept)):
            keep(store, {f"{name}.jsonl": make_line(0, text=f"so {word}", session_id=name)}, session_id=name)
            told = replace(_make_delivery(word), session_id=name, delivery_id=word)
            store.add_deliveries(LOCAL, [told])
            store.maintain(Maintenance.FILL)
        assert _has(folder, secret)
        assert _has(folder, kept)
        assert store.forget(LOCAL, [make_key("session-1")]).scrubbed
        assert not _has(folder, secret)
        assert _has(folder, kept)


def _make_delivery(message: str) -> HookDelivery:
    payload = f'{{"hook_event_name":"Notification","message":"{message}"}}'.encode()
    return HookDelivery(
        delivery_id="told", received_ns=7, payload=payload, session_id="session-1", event_name="Notification"
    )


def _has(folder: Path, word: str) -> bool:
    """Tell whether a word is in any file of the engine, packed or not."""
    return any(word.encode() in data for path in folder.rglob("*") if path.is_file() for data in _unpack(path))


_CHECKSUM, _HEADER = 16, 9
_METHODS: dict[int, Callable[[bytes, int], bytes]] = {
    0x82: lambda body, size: __import__("lz4.block").block.decompress(body, uncompressed_size=size),
    0x90: lambda body, size: zstandard.ZstdDecompressor().decompress(body, max_output_size=size),
    0x02: lambda body, size: body,
}


def _unpack(path: Path) -> Iterator[bytes]:
    """Yield what a file has as it stands, and then what is in the blocks that it is made of."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # the engine clears up meanwhile
        return
    yield data
    at = 0
    while at + _CHECKSUM + _HEADER <= len(data):
        start = at + _CHECKSUM
        packed = int.from_bytes(data[start + 1 : start + 5], "little")
        size = int.from_bytes(data[start + 5 : start + 9], "little")
        if data[start] not in _METHODS or packed < _HEADER or start + packed > len(data):
            return
        yield _METHODS[data[start]](data[start + _HEADER : start + packed], size)
        at = start + packed
