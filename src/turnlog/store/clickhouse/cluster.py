"""The statements that make all tables: on one server, or on the servers of a cluster.

On a cluster each table is in shards with replicas. What is kept of a session is on one shard, chosen by the
session's number; what views write is where they read. Under the name of a table is a `Distributed` one, so
statements are the same as on one server; the rows themselves are in the table with `_local` behind its name.
Servers tell `{shard}` and `{replica}` from their own macros.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.clickhouse.connection import LOCAL_SUFFIX, quote
from turnlog.store.clickhouse.schema import TABLES, VIEWS
from turnlog.store.clickhouse.tables import Table, View, create_table, create_view, describe_table

__all__ = ["add_column", "create_cluster", "create_single"]

_KEEPER_PATH = "/clickhouse/tables/{shard}/{database}/{table}"
_ELSEWHERE = "rand()"
"""Where rows go that belong to no session."""


def create_single(database: str, retention_days: int | None = None) -> list[str]:
    """Return the statements that make the database and its tables on one server."""
    return [
        f"CREATE DATABASE IF NOT EXISTS {quote(database)}",
        f"USE {quote(database)}",
        *(create_table(table, retention_days) for table in TABLES),
        *map(create_view, VIEWS),
    ]


def create_cluster(cluster: str, database: str = "turnlog", retention_days: int | None = None) -> list[str]:
    """Return the statements that make the database and its tables on all servers of a cluster."""
    on = f"ON CLUSTER {quote(cluster)}"
    statements = [f"CREATE DATABASE IF NOT EXISTS {quote(database)} {on}"]
    for table in TABLES:
        statements.append(_create_local(table, database, on, retention_days))
        statements.append(_create_distributed(table, cluster, database, on))
    statements += (_create_view(view, database, on) for view in VIEWS)
    return statements


def add_column(
    name: str, tables: Sequence[Table], views: Sequence[View], where: tuple[str, str] | None
) -> list[str]:
    """Return the statements that add a column to tables that are there, and then have views fill it.

    `where` is the cluster and the database; None on one server. Again does no harm.
    """
    on = "" if where is None else f" ON CLUSTER {quote(where[0])}"
    before = "" if where is None else f"{quote(where[1])}."
    statements = [
        f"ALTER TABLE {before}{table.name}{suffix}{on} ADD COLUMN IF NOT EXISTS {name} {table.columns[name]}"
        for table in tables
        for suffix in ([""] if where is None else [LOCAL_SUFFIX, ""])
    ]
    for view in views:
        select = view.select if where is None else _select_local(view, where[1])
        statements.append(f"ALTER TABLE {before}{view.name}{on} MODIFY QUERY {select}")
    return statements


def _create_local(table: Table, database: str, on: str, retention_days: int | None) -> str:
    version = f", {table.version}" if table.version else ""
    engine = f"Replicated{table.engine}('{_KEEPER_PATH}', '{{replica}}'{version})"
    name = f"{quote(database)}.{table.name}{LOCAL_SUFFIX}"
    return f"CREATE TABLE IF NOT EXISTS {name} {on} {describe_table(table, engine, retention_days)}"


def _create_distributed(table: Table, cluster: str, database: str, on: str) -> str:
    where = f"{quote(database)}.{table.name}"
    parts = (_spell(cluster), _spell(database), f"{table.name}{LOCAL_SUFFIX}", _shard(table))
    return (
        f"CREATE TABLE IF NOT EXISTS {where} {on} AS {where}{LOCAL_SUFFIX}\n"
        f"ENGINE = Distributed({', '.join(parts)})"
    )


def _shard(table: Table) -> str:
    """Return what tells the shard of a row: all that is of one session is together."""
    for column in ("session", "id"):
        if column in table.columns and "128" in table.columns[column]:
            return f"cityHash64({column})"
    return _ELSEWHERE


def _create_view(view: View, database: str, on: str) -> str:
    """Return a view from rows that a server has to rows that it has."""
    select = _select_local(view, database)
    target = f"{quote(database)}.{view.target}{LOCAL_SUFFIX}"
    return f"CREATE MATERIALIZED VIEW IF NOT EXISTS {quote(database)}.{view.name} {on} TO {target} AS {select}"


def _select_local(view: View, database: str) -> str:
    local = f"{quote(database)}.{view.source}{LOCAL_SUFFIX}"
    return view.select.replace(f"FROM {view.source}", f"FROM {local}")


def _spell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
