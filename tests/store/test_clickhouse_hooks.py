"""Hook deliveries on ClickHouse: each once whoever brings it, by few statements, under numbers that last."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from clickhouse_engine import make_store, reopen
from turnlog.errors import StoreError
from turnlog.store.clickhouse import hooks
from turnlog.store.clickhouse.hook_schema import number_delivery
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL


def test_what_several_bring_at_once_is_kept_once(tmp_path: Path) -> None:
    told = [_tell(number) for number in range(20)]
    with closing(make_store(tmp_path)) as one, closing(reopen(tmp_path)) as two, ThreadPoolExecutor(4) as pool:
        new = pool.map(lambda store: store.add_deliveries(LOCAL, told), (one, two, one, two))
        assert sum(new) == 20
        assert one.list_deliveries(LOCAL) == told
        assert len(one.list_changes(LOCAL)) == 20


def test_many_are_added_by_as_many_statements_as_one(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        costs = []
        for some in ([_tell(0)], [_tell(number) for number in range(1, 500)]):
            before = store._engine.statements
            store.add_deliveries(LOCAL, some)
            costs.append(store._engine.statements - before)
        assert costs[0] == costs[1] <= 3


def test_numbers_are_in_the_order_of_arrival_and_whole_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "MOST_AT_ONCE", 4)
    told = [_tell(number) for number in range(10)]
    with closing(make_store(tmp_path)) as store:
        assert store.add_deliveries(LOCAL, told) == 10
        numbers = store.number_deliveries(LOCAL, [each.delivery_id for each in told])
        assert [numbers[each.delivery_id] for each in told] == sorted(numbers.values())
    assert len(set(numbers.values())) == 10
    assert number_delivery(1 << 36, (1 << 16) - 1) < 1 << 53


def test_whoever_was_not_answered_tries_again_and_has_the_same_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(make_store(tmp_path)) as store:
        with monkeypatch.context() as broken:
            broken.setattr(store._control, "finish", _fail)
            with pytest.raises(StoreError, match="lost"):
                store.add_deliveries(LOCAL, [_tell(1)])
        numbers = store.number_deliveries(LOCAL, ["d1"])
        assert store.add_deliveries(LOCAL, [_tell(1), _tell(2)]) == 1
        assert store.number_deliveries(LOCAL, ["d1"]) == numbers
        assert store.list_deliveries(LOCAL) == [_tell(1), _tell(2)]
        assert [each.at_ns for each in store.list_changes(LOCAL)] == [1, 2]


def _fail(*_: object) -> int:
    raise StoreError("it was lost")


def _tell(number: int) -> HookDelivery:
    return HookDelivery(
        delivery_id=f"d{number}", received_ns=number, payload=b"{}", session_id="session-1", event_name="Stop"
    )
