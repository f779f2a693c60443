"""The server of the tests, as our client sees it; what was acknowledged outlasts a kill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from clickhouse_server import ClickHouseServer
from turnlog.errors import LostStoreError, StoreError
from turnlog.store.clickhouse import USAGE, ClickHouse, MissingIndexError

ROW: tuple[object, ...] = (7, 1, "o", None, b"p", b"m", 0, *([] for _ in range(len(USAGE.columns) - 7)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ClickHouseServer]:
    server = ClickHouseServer(tmp_path / "clickhouse")
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def connected(server: ClickHouseServer) -> Iterator[ClickHouse]:
    with closing(ClickHouse(server.address)) as client:
        yield client


def test_values_come_through_as_they_are(server: ClickHouseServer) -> None:
    with connected(server) as client:
        text = 'it\'s \t \\ \n "line" `x` ünïcode 中 {b:String} % $1'
        query = "SELECT {text:String}, {odd:String}, {words:Array(String)}, length({numbers:Array(Int64)})"
        for count in (2, 900, 30_000):  # in the address, in a form, spelled out
            values = {"text": text, "odd": b"\xff'", "words": ["ü\n", ""], "numbers": [1 << 60] * count}
            assert client.query(query, values) == [(text.encode(), b"\xff'", [b"\xc3\xbc\n", b""], count)]


def test_what_was_acknowledged_outlasts_a_kill(server: ClickHouseServer) -> None:
    with connected(server) as client:
        with pytest.raises(MissingIndexError):
            client.query("SELECT 1 FROM @usage")
        client.make()
        client.insert(USAGE, [ROW])
        server.kill()
        with pytest.raises(LostStoreError):
            client.query("SELECT 1")
        server.start()
        assert client.query("SELECT session, owner FROM @usage") == [(7, b"o")]
        with pytest.raises(StoreError, match="cannot do that"):
            client.query("SELECT throwIf(1)")
