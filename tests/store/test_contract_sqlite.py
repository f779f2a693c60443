"""The embedded store keeps to all contracts."""

from __future__ import annotations

from pathlib import Path

import apsw

from contracts.engine import EngineContract
from turnlog.store.interface import MaintainedStore
from turnlog.store.opening import open_store


class TestContract(EngineContract):
    def make_store(self, tmp_path: Path) -> MaintainedStore:
        return open_store(tmp_path / "turnlog.db")

    def reopen(self, tmp_path: Path) -> MaintainedStore:
        return open_store(tmp_path / "turnlog.db")

    def spoil_records(self, tmp_path: Path, key: str) -> None:
        tamper(
            tmp_path,
            "UPDATE segments SET message = 1 + message WHERE source = ("
            "SELECT id FROM sources WHERE source = ?)",
            (key,),
        )

    def spoil_bytes(self, tmp_path: Path, source: str) -> None:
        tamper(
            tmp_path,
            "UPDATE frames SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB) "
            "WHERE generation = (SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source "
            "WHERE s.source = ?)",
            (source,),
        )


def tamper(tmp_path: Path, statement: str, values: tuple[str, ...]) -> None:
    connection = apsw.Connection(str(tmp_path / "turnlog.db"))
    connection.execute(statement, values)
    assert connection.changes() > 0
    connection.close()
