"""The store on PostgreSQL keeps to all contracts, by the same tests as the embedded one."""

from __future__ import annotations

from pathlib import Path

import psycopg

from contracts.engine import EngineContract
from postgres_server import make_archive
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import ARCHIVE_SCHEMA, ServerPlace
from turnlog.store.opening import open_store

PLACES: dict[Path, ServerPlace] = {}
"""Which database a test's folder stands for."""


class TestContract(EngineContract):
    def make_store(self, tmp_path: Path) -> MaintainedStore:
        PLACES[tmp_path] = ServerPlace(make_archive(), tmp_path)
        return self.reopen(tmp_path)

    def reopen(self, tmp_path: Path) -> MaintainedStore:
        return open_store(PLACES[tmp_path])

    def spoil_records(self, tmp_path: Path, key: str) -> None:
        tamper(
            tmp_path,
            "UPDATE segments SET message = 1 + message "
            "WHERE source = (SELECT id FROM sources WHERE source = %s)",
            key,
        )

    def spoil_bytes(self, tmp_path: Path, source: str) -> None:
        tamper(
            tmp_path,
            "UPDATE frames SET data = overlay(data PLACING '\\x00'::bytea FROM 21) WHERE generation = "
            "(SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source WHERE s.source = %s)",
            source,
        )


def tamper(tmp_path: Path, statement: str, value: str) -> None:
    with psycopg.connect(PLACES[tmp_path].address, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {ARCHIVE_SCHEMA}".encode())
        assert connection.execute(statement.encode(), (value,)).rowcount > 0
