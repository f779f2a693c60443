"""How a table is told to ClickHouse: on one server, or on the servers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

__all__ = [
    "FEW",
    "FEW_OR_NONE",
    "ID",
    "SETTLING",
    "SOME",
    "TEXT",
    "WHOLE",
    "Table",
    "View",
    "create_table",
    "create_view",
    "describe_table",
]

ID = "UInt128"
WHOLE = "Int64"
SOME = "Nullable(Int64)"
TEXT = "Nullable(String)"
FEW = "LowCardinality(String)"
"""Text of which there are few different ones."""
FEW_OR_NONE = "LowCardinality(Nullable(String))"

_GRANULARITY = 2048
"""How many rows are read where one is asked for, as a rule."""
SETTLING = "min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1"
"""A month in which nobody writes any more becomes a single part, of which nothing need be put together."""
_LASTING = "fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1"
"""What was inserted outlasts a loss of power at once, also where parts are merged and former ones deleted."""


class Table(Struct, frozen=True, kw_only=True):
    """A table of the MergeTree family."""

    name: str
    columns: Mapping[str, str]
    """Each with its type, and what else is said of it."""
    key: tuple[str, ...]
    """What rows are ordered by, and found by."""
    engine: str = "ReplacingMergeTree"
    version: str | None = None
    """What the engine is given: the column by which the newest of rows with one key is told, or their sign."""
    by_month: bool = False
    """Whether rows lie in partitions by the month in which their session was born (`born`)."""
    expires: bool = True
    """Whether rows have `born`, and go when what is older than some days is not to be kept."""
    indexes: tuple[str, ...] = ()
    """As they are declared."""
    granularity: int = _GRANULARITY
    """How many rows are read where one is asked for."""
    settings: str = ""
    """What else the engine is told about it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.columns)


class View(Struct, frozen=True, kw_only=True):
    """A materialised view: what is inserted into one table, seen otherwise, in another one."""

    name: str
    source: str
    target: str
    select: str


def create_table(table: Table, retention_days: int | None = None) -> str:
    """Return the statement that makes a table on one server."""
    engine = f"{table.engine}({table.version or ''})"
    return f"CREATE TABLE IF NOT EXISTS {table.name} {describe_table(table, engine, retention_days)}"


def create_view(view: View) -> str:
    """Return the statement that makes a view on one server."""
    return f"CREATE MATERIALIZED VIEW IF NOT EXISTS {view.name} TO {view.target} AS {view.select}"


def describe_table(table: Table, engine: str, retention_days: int | None = None) -> str:
    """Return what is said of a table behind its name."""
    parts = [f"    {name} {kind}" for name, kind in table.columns.items()]
    parts += [f"    INDEX {each}" for each in table.indexes]
    lines = ["(", ",\n".join(parts), f") ENGINE = {engine}"]
    if table.by_month:
        lines.append("PARTITION BY toYYYYMM(born)")
    lines.append(f"ORDER BY ({', '.join(table.key)})")
    if retention_days is not None and table.expires:
        lines.append(f"TTL born + INTERVAL {retention_days} DAY")
    more = f", {table.settings}" if table.settings else ""
    lines.append(f"SETTINGS index_granularity = {table.granularity}, {_LASTING}{more}")
    return "\n".join(lines)
