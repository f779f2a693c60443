"""A store with its index in ClickHouse keeps to the contracts of all stores, by the same tests."""

from __future__ import annotations

from pathlib import Path

from clickhouse_engine import make_place, open_filled
from contracts.engine import EngineContract
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, ServerPlace
from turnlog.testing.builders import make_lines
from turnlog.testing.checks import keep

PLACES: dict[Path, ServerPlace] = {}
"""Which database a test's folder stands for."""


class TestContract(EngineContract):
    def make_store(self, tmp_path: Path) -> MaintainedStore:
        PLACES[tmp_path] = make_place(tmp_path)
        return self.reopen(tmp_path)

    def reopen(self, tmp_path: Path) -> MaintainedStore:
        store: MaintainedStore = open_filled(PLACES[tmp_path])
        return store

    def test_texts_that_differ_are_told_and_mended(self, tmp_path: Path) -> None:
        # What it is sent follows from the bytes, so other texts than these cannot be written.
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, {"session-1.jsonl": make_lines(3)})
            [source] = batch.sources
            assert store.check_texts(LOCAL, source.source, 0, source.texts) == []
            [first, *others] = source.texts
            assert store.check_texts(LOCAL, source.source, 0, others) == [
                "a text of line 1 should not be there"
            ]
            store.rewrite(LOCAL, batch.key, 1, None, texts={(source.source, 0): others})
            assert store.check_texts(LOCAL, source.source, 0, [first, *others]) == []
