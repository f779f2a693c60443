"""The store on ClickHouse keeps to all contracts, on the real engine within this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from clickhouse_engine import ADDRESSES, make_store, reopen
from turnlog.store.care import CaredStore
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.ids import number
from turnlog.store.identity import LOCAL
from turnlog.testing.store_contract import CaredStoreContract


class TestContract(CaredStoreContract):
    def make_store(self, tmp_path: Path) -> CaredStore:
        return make_store(tmp_path)

    def reopen(self, tmp_path: Path) -> CaredStore:
        return reopen(tmp_path)

    def spoil_rows(self, tmp_path: Path, key: str) -> None:
        engine = Engine(ADDRESSES[tmp_path])
        engine.command(
            "DELETE FROM rows WHERE session = {session:UInt128}", {"session": number(LOCAL.owner, key)}
        )
        engine.close()

    def spoil_bytes(self, tmp_path: Path, source: str) -> None:
        for path in (tmp_path / "blobs").rglob("*"):
            if path.is_file():
                data = bytearray(path.read_bytes())
                data[20] ^= 0xFF
                path.write_bytes(data)

    # These ask for very much, and each statement costs the engine some milliseconds: they are for `make soak`.

    @pytest.mark.soak
    def test_a_viewer_is_answered_as_if_there_were_nothing_else(self, tmp_path: Path) -> None:
        super().test_a_viewer_is_answered_as_if_there_were_nothing_else(tmp_path)

    @pytest.mark.soak
    def test_search_asks_for_persons_and_machines(self, tmp_path: Path) -> None:
        super().test_search_asks_for_persons_and_machines(tmp_path)

    @pytest.mark.soak
    def test_the_newest_come_first_and_pages_have_each_once(self, tmp_path: Path) -> None:
        super().test_the_newest_come_first_and_pages_have_each_once(tmp_path)

    @pytest.mark.soak
    def test_actions_come_in_pages_with_what_is_wanted(self, tmp_path: Path) -> None:
        super().test_actions_come_in_pages_with_what_is_wanted(tmp_path)

    @pytest.mark.soak
    def test_readers_see_one_state_while_a_writer_works(self, tmp_path: Path) -> None:
        super().test_readers_see_one_state_while_a_writer_works(tmp_path)

    @pytest.mark.soak
    def test_what_hooks_told_is_seen_by_whose_machine_it_was(self, tmp_path: Path) -> None:
        super().test_what_hooks_told_is_seen_by_whose_machine_it_was(tmp_path)

    @pytest.mark.soak
    def test_the_order_in_which_things_came_is_not_seen(self, tmp_path: Path) -> None:
        super().test_the_order_in_which_things_came_is_not_seen(tmp_path)

    @pytest.mark.soak
    def test_many_small_appends_come_back_as_one_file(self, tmp_path: Path) -> None:
        super().test_many_small_appends_come_back_as_one_file(tmp_path)

    @pytest.mark.soak
    def test_looks_at_a_growing_file_give_what_one_look_at_its_end_gives(self, tmp_path: Path) -> None:
        super().test_looks_at_a_growing_file_give_what_one_look_at_its_end_gives(tmp_path)

    @pytest.mark.soak
    def test_pages_put_together_hold_each_session_once(self, tmp_path: Path) -> None:
        super().test_pages_put_together_hold_each_session_once(tmp_path)

    @pytest.mark.soak
    def test_hits_are_those_of_reading_everything(self, tmp_path: Path) -> None:
        super().test_hits_are_those_of_reading_everything(tmp_path)
