"""The store on ClickHouse keeps to all contracts, on the real engine within this process."""

from __future__ import annotations

from pathlib import Path

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
