"""The store on a PostgreSQL server keeps to all contracts."""

from __future__ import annotations

from pathlib import Path

import psycopg

from postgres_server import make_database
from turnlog.store.care import CaredStore
from turnlog.store.postgres.store import PostgresStore
from turnlog.testing.store_contract import CaredStoreContract

ADDRESSES: dict[Path, str] = {}
"""Which database a test's folder stands for."""


class TestContract(CaredStoreContract):
    def make_store(self, tmp_path: Path) -> CaredStore:
        address = ADDRESSES[tmp_path] = make_database()
        return PostgresStore.open(address)

    def reopen(self, tmp_path: Path) -> CaredStore:
        return PostgresStore.open(ADDRESSES[tmp_path])

    def spoil_rows(self, tmp_path: Path, key: str) -> None:
        tamper(tmp_path, "DELETE FROM digests WHERE session = (SELECT id FROM sessions WHERE key = %s)", key)

    def spoil_bytes(self, tmp_path: Path, source: str) -> None:
        tamper(
            tmp_path,
            "UPDATE frames SET data = overlay(data PLACING '\\x00' FROM 21) "
            "WHERE generation = (SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source "
            "WHERE s.source = %s)",
            source,
        )


def tamper(tmp_path: Path, statement: str, value: str) -> None:
    with psycopg.connect(ADDRESSES[tmp_path]) as connection:
        connection.execute("SET search_path TO turnlog")
        assert connection.execute(statement, (value,)).rowcount > 0
