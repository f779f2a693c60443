"""The tables on a cluster are as they were looked at, and the engine understands the statements.

    turnlog schema --cluster fleet --retention-days 400 > tests/data/clickhouse_cluster.sql

writes the copy anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from clickhouse_engine import make_address
from turnlog.cli.schema import command
from turnlog.store.clickhouse.cluster import add_column, create_cluster, create_single
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.schema import TABLES, VIEWS
from turnlog.store.clickhouse.session_schema import SESSIONS, SUMMARIES, SUMMARISED

COPY = Path(__file__).resolve().parent.parent / "data" / "clickhouse_cluster.sql"


def test_the_statements_for_a_cluster_are_those_of_the_copy() -> None:
    printed = CliRunner().invoke(command, ["--cluster", "fleet", "--retention-days", "400"])

    assert printed.output == COPY.read_text(encoding="utf-8")


def test_each_table_is_replicated_and_has_one_that_finds_all_its_shards() -> None:
    made = "\n".join(create_cluster("fleet"))

    for table in TABLES:
        assert f"{table.name}_local ON CLUSTER `fleet`" in made
        assert f"ENGINE = Distributed('fleet', 'turnlog', {table.name}_local" in made
    assert made.count("Replicated") == len(TABLES)
    for view in VIEWS:
        assert f"`turnlog`.{view.name} ON CLUSTER `fleet` TO `turnlog`.{view.target}_local" in made


@pytest.mark.parametrize(
    "statements",
    [
        create_cluster("fleet", retention_days=400),
        create_single("one", 30),
        add_column("series", [SESSIONS, SUMMARIES], [SUMMARISED], ("fleet", "turnlog")),
    ],
)
def test_the_engine_understands_the_statements(statements: list[str]) -> None:
    engine = Engine(make_address())
    try:
        for statement in statements:
            assert engine.query(f"EXPLAIN AST {statement}")
    finally:
        engine.close()
