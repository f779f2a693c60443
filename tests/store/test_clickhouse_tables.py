"""The tables of an index are as they were looked at, also on a cluster, and the engine understands them."""

from __future__ import annotations

from pathlib import Path

import pytest

from clickhouse_engine import make_index
from turnlog.errors import LostStoreError, StoreError
from turnlog.store.clickhouse import TABLES, ClickHouse, create_cluster, create_single

COPY = Path(__file__).resolve().parent.parent / "data" / "clickhouse_cluster.sql"


def test_the_statements_for_a_cluster_are_those_of_the_copy() -> None:
    statements = create_cluster("fleet", "turnlog")
    assert ";\n\n".join(statements) + ";\n" == COPY.read_text("utf-8")


def test_each_table_of_a_cluster_is_replicated_and_has_one_that_finds_all_its_shards() -> None:
    made = "\n".join(create_cluster("fleet", "turnlog"))
    for table in TABLES:
        assert f"`turnlog`.{table.name}_local ON CLUSTER `fleet`" in made
        assert f"ENGINE = Distributed('fleet', 'turnlog', {table.name}_local, {table.shard})" in made
    assert made.count("Replicated") == len(TABLES)


@pytest.mark.parametrize("statements", [create_single("it's `one`"), create_cluster("fleet", "turnlog")])
def test_the_engine_understands_the_statements(statements: list[str]) -> None:
    engine = ClickHouse(make_index().address)
    for statement in statements:
        query = "SELECT formatQuerySingleLine({statement:String})"
        [(spelled,)] = engine.query(query, {"statement": statement})
        assert spelled.decode().startswith("CREATE ")
    with pytest.raises(StoreError, match="yntax error"):
        engine.query("SELECT formatQuerySingleLine({statement:String})", {"statement": "CREATE TABEL x"})


def test_passwords_are_in_no_message() -> None:
    engine = ClickHouse("clickhouse://ada:secret@127.0.0.1:1/turnlog?cluster=fleet")
    assert engine.name == "clickhouse://ada@127.0.0.1:1/turnlog"
    with pytest.raises(LostStoreError, match="cannot be reached") as found:
        engine.query("SELECT 1")
    assert "secret" not in str(found.value)
