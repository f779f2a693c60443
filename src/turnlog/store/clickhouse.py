"""ClickHouse, as far as an index is kept there: statements, and the tables.

Values are bound by name, as `{name:Type}`. Text is bytes both ways; bytes that are no UTF-8 are spelled out,
since a server takes parameters as UTF-8 only. An address is `clickhouse://user@host:8123/database` (TLS:
`clickhouses://`), or `chdb:///folder?database=…` for the same engine within this process.

Tables are described once, and made on one server, or (`?cluster=NAME`) on all servers of a cluster: there each
is replicated and in shards, under a `Distributed` table with its name, so that statements are the same. All
that is of one file, or of one session, is on one shard.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError
from msgspec import Struct

from turnlog.errors import LostStoreError, StoreError

Values = Mapping[str, Any]
Row = tuple[Any, ...]
Weigh = Callable[[Any], int]
"""Tells about how many bytes a row takes."""

MONTH = 1 << 36
"""A file's number, divided by it, is that of its month (`catalogue.schema`)."""
FEW = "LowCardinality(String)"
"""Text of which there are few different ones."""
_FEW_OR_NONE = "LowCardinality(Nullable(String))"
_LASTING = (
    "fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, "
    "old_parts_lifetime = 0, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, "
    "max_cleanup_delay_period = 1"
)
"""What was inserted outlasts a loss of power at once, also where parts are merged. So nobody needs former ones,
which may have what is deleted."""
AMOUNTS = (
    "messages", "incomplete", "unpriced", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
    "web_searches", "cost", "saved",
)  # fmt: skip


class Table(Struct, frozen=True, kw_only=True):
    """A table: a later row takes the place of one with the same key."""

    name: str
    columns: Mapping[str, str]
    """Each with its type, and what else is said of it."""
    key: tuple[str, ...]
    """What rows are ordered and found by."""
    version: str | None = None
    """The column by which the later one is told."""
    partition: str = ""
    indexes: tuple[str, ...] = ()
    """As they are declared."""
    shard: str
    """What tells where in a cluster a row is."""
    settings: str = "index_granularity = 2048"

    @property
    def types(self) -> list[str]:
        """The types of the columns, without codecs."""
        return [kind.partition(" CODEC")[0] for kind in self.columns.values()]

    def describe(self, engine: str) -> str:
        """Return what is said of it behind its name."""
        parts = [f"    {name} {kind}" for name, kind in self.columns.items()]
        parts += [f"    INDEX {each}" for each in self.indexes]
        lines = ["(", ",\n".join(parts), f") ENGINE = {engine}"]
        if self.partition:
            lines.append(f"PARTITION BY {self.partition}")
        lines.append(f"ORDER BY ({', '.join(self.key)})")
        lines.append(f"SETTINGS {self.settings}, {_LASTING}")
        return "\n".join(lines)


TEXTS = Table(
    name="texts",
    key=("owner", "time", "generation", "at"),
    version="version",
    partition=f"intDiv(generation, {MONTH})",
    columns={
        "owner": FEW,
        "time": "Int64 CODEC(Delta, ZSTD)",     # microseconds since 1970, 0 if it has none
        "generation": "Int64 CODEC(Delta, ZSTD)",   # of its file, or for all hook deliveries
        "at": "Int64 CODEC(Delta, ZSTD)",       # its line (or delivery), and which passage
        "version": "UInt64 CODEC(Delta, ZSTD)",
        "block": "UInt32 CODEC(ZSTD)",
        "state": "UInt8",                       # its kind, times two, and one for an error
        "cells": "UInt32 CODEC(ZSTD)",          # how long it is
        "words": "Array(String) CODEC(ZSTD)",   # each once, in order
        "counts": "Array(UInt8) CODEC(ZSTD)",   # in how many cells each word is, up to 255; empty: in one each
    },
    indexes=(
        "by_word words TYPE text(tokenizer = 'array')",
        "by_generation generation TYPE minmax GRANULARITY 1",
    ),
    shard="cityHash64(generation)",
)  # fmt: skip
USAGE = Table(
    name="usage",
    key=("session",),
    version="version",
    columns={
        "session": "Int64",
        "version": "UInt64",
        "owner": FEW,
        "person": _FEW_OR_NONE,
        "project": _FEW_OR_NONE,
        "origin": FEW,                          # the machine that it comes from
        "is_shared": "UInt8",
        # Of each group of answers, and each quarter of an hour:
        "session_id": "Array(String) CODEC(ZSTD)",
        **dict.fromkeys(("model", "agent", "skill", "mcp_server", "terms"), f"Array({_FEW_OR_NONE})"),
        "audience": "Array(UInt8) CODEC(ZSTD)",
        "slot": "Array(Int64) CODEC(ZSTD)",
        **dict.fromkeys(AMOUNTS, "Array(Int64) CODEC(ZSTD)"),
        "first": "Array(Nullable(Int64)) CODEC(ZSTD)",
        "last": "Array(Nullable(Int64)) CODEC(ZSTD)",
    },
    shard="cityHash64(session)",
    settings="index_granularity = 1024",
)  # fmt: skip
ABOUT = Table(name="about", key=("id",), columns={"id": "UInt8", "archive": "String"}, shard="id")
"""One row: which archive it is the index of."""
TABLES = (TEXTS, USAGE, ABOUT)

LOCAL_SUFFIX = "_local"
"""What stands behind the name of a table where it is on one server of a cluster."""
_KEEPER_PATH = "/clickhouse/tables/{shard}/{database}/{table}"


def create_single(database: str) -> list[str]:
    """Return the statements that make the tables on one server."""
    name = quote(database)
    tables = (
        f"CREATE TABLE IF NOT EXISTS {name}.{table.name} "
        + table.describe(f"ReplacingMergeTree({table.version or ''})")
        for table in TABLES
    )
    return [f"CREATE DATABASE IF NOT EXISTS {name}", *tables]


def create_cluster(cluster: str, database: str) -> list[str]:
    """Return the statements that make the tables on all servers of a cluster.

    Servers tell `{shard}` and `{replica}` from their own macros.
    """
    on, name = f"ON CLUSTER {quote(cluster)}", quote(database)
    statements = [f"CREATE DATABASE IF NOT EXISTS {name} {on}"]
    for table in TABLES:
        version = f", {table.version}" if table.version else ""
        engine = f"ReplicatedReplacingMergeTree('{_KEEPER_PATH}', '{{replica}}'{version})"
        local = f"{name}.{table.name}{LOCAL_SUFFIX}"
        statements.append(f"CREATE TABLE IF NOT EXISTS {local} {on} {table.describe(engine)}")
        parts = (_spell(cluster), _spell(database), f"{table.name}{LOCAL_SUFFIX}", table.shard)
        statements.append(
            f"CREATE TABLE IF NOT EXISTS {name}.{table.name} {on} AS {local}\n"
            f"ENGINE = Distributed({', '.join(parts)})"
        )
    return statements


_IN_PROCESS = "chdb"
_SECURE = "clickhouses"
_DATABASE = "turnlog"
_AT_ONCE = 20_000
"""How many rows are sent at once, at most,"""
_BYTES = 32 << 20
"""and about how many bytes."""
_FORMATS = {"String": "bytes", "LowCardinality(String)": "bytes"}
_SETTINGS = {
    # What was inserted is seen by whoever asks next, and is on the disk.
    "async_insert": 0,
    "mutations_sync": 2,
    "alter_sync": 2,
    "fsync_metadata": 1,
    "max_partitions_per_insert_block": 0,
    # The month is in the number of a file, so rows with one key are never in two.
    "do_not_merge_across_partitions_select_final": 1,
    "output_format_native_encode_types_in_binary_format": 0,
    # It remembers what no row fulfilled, and rows come.
    "use_query_condition_cache": 0,
    # Statements may name thousands of sessions.
    "max_query_size": 64 << 20,
}
_CLUSTER_SETTINGS = {
    # What was inserted is on its shards, and on most of their replicas, and whoever asks next sees it.
    "distributed_foreground_insert": 1,
    "insert_quorum": "auto",
    "insert_quorum_parallel": 0,
    "select_sequential_consistency": 1,
    # What is sent again may have been deleted meanwhile; keys tell what is the same.
    "insert_deduplicate": 0,
    "distributed_product_mode": "global",
}
_SCRUB_SECONDS, _PAUSE = 15.0, 0.05
_PLACE = re.compile(r"\{(\w+):([^}]+)\}")
_MOST_BOUND = 1000
"""How many numbers are a parameter: a server takes those of up to 128 KiB."""

# Whoever is to be told is told by an exception.
logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())


_MISSING = re.compile(r"\bUNKNOWN_(?:DATABASE|TABLE)\b")


class MissingIndexError(LostStoreError):
    """There are no tables, or not any more: whoever fills the index makes them."""


class ClickHouse:
    """A database of a ClickHouse server, connected to on first use. Several threads may use it."""

    def __init__(self, address: str) -> None:
        self.name = describe_address(address)
        """As it may be shown: without a password."""
        self._address = address
        parts, options = urlsplit(address), parse_qs(urlsplit(address).query)
        self._is_in_process = parts.scheme == _IN_PROCESS
        named = options.get("database", [""])[0] if self._is_in_process else parts.path.strip("/")
        self._database = named or _DATABASE
        self.cluster = options.get("cluster", [None])[0]
        """What the servers call the cluster that the tables are on; None for a single server."""
        self.statements = 0
        """How many were made through it."""
        self._lock = threading.Lock()
        self._client: Client | None = None

    def make(self) -> None:
        """Make the tables that are missing."""
        for statement in (
            create_single(self._database)
            if self.cluster is None
            else create_cluster(self.cluster, self._database)
        ):
            self.command(statement)

    def drop(self) -> None:
        """Drop the whole database."""
        self.command(f"DROP DATABASE IF EXISTS {quote(self._database)}{self._on} SYNC")

    def query(self, statement: str, values: Values | None = None) -> list[Row]:
        """Return the rows of a statement, with `@table` for the tables' names."""
        spelled, bound = _bind(self._name_tables(statement), values or {})
        with self._asking() as client:
            result = client.query(spelled, parameters=bound, query_formats=_FORMATS)
            return [tuple(row) for row in result.result_rows]

    def command(self, statement: str, values: Values | None = None) -> None:
        """Do what gives no rows."""
        spelled, bound = _bind(self._name_tables(statement), values or {})
        with self._asking() as client:
            client.command(spelled, parameters=bound)

    def insert(self, table: Table, rows: Iterable[Sequence[Any]], weigh: Weigh | None = None) -> None:
        """Add rows, with cells in the order of the table's columns; `weigh` tells how many bytes one takes."""
        left = iter(rows)
        while some := list(_take(left, weigh)):
            with self._asking() as client:
                client.insert(
                    table.name,
                    some,
                    database=self._database,
                    column_names=list(table.columns),
                    column_type_names=table.types,
                )

    def delete(self, table: Table, where: str, values: Values | None = None) -> None:
        """Delete rows, so that nothing of them is left on the disk."""
        local = f"{table.name}{LOCAL_SUFFIX if self.cluster else ''}"
        self.command(f"ALTER TABLE @{local}{self._on} DELETE WHERE {where}", values)

    def scrub(self) -> bool:
        """Wait until nothing is on the disk of parts that were replaced; return False if some are in use."""
        there = "system.parts"
        if self.cluster is not None:
            there = f"clusterAllReplicas({quote(self.cluster)}, {there})"
        query = f"SELECT table, name FROM {there} WHERE database = {{database:String}} AND NOT active"
        left, deadline = None, time.monotonic() + _SCRUB_SECONDS
        while left is None or left:
            found = {*self.query(query, {"database": self._database})}
            left = found if left is None else left & found
            if time.monotonic() > deadline:
                return not left
            for table, _ in left:
                name = f"@{table.decode()}"
                for verb in ("STOP", "START"):  # then the engine looks at once for what can go
                    self.command(f"SYSTEM {verb} CLEANUP{self._on} {name}")
            time.sleep(_PAUSE if left else 0)
        return True

    def list_words(self, pattern: str, most: int) -> list[str]:
        """Return words of texts that are like a pattern, as the index itself has them."""
        local = f"{TEXTS.name}{LOCAL_SUFFIX if self.cluster else ''}"
        # Each part of the table has its own.
        listed = f"mergeTreeTextIndex({quote(self._database)}, {local}, by_word)"
        if self.cluster is not None:
            listed = f"cluster({quote(self.cluster)}, view(SELECT token FROM {listed}))"
        query = f"SELECT DISTINCT token FROM {listed} WHERE token LIKE {{pattern:String}} LIMIT {most:d}"
        return [word.decode() for (word,) in self.query(query, {"pattern": pattern})]

    def close(self) -> None:
        """Let go of it; what is asked afterwards connects again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            with suppress(ClickHouseError):
                client.close()

    @property
    def _on(self) -> str:
        return "" if self.cluster is None else f" ON CLUSTER {quote(self.cluster)}"

    def _name_tables(self, statement: str) -> str:
        return re.sub(r"@(?=\w)", f"{quote(self._database)}.".replace("\\", r"\\"), statement)

    @contextmanager
    def _asking(self) -> Iterator[Client]:
        self.statements += 1
        try:
            with self._lock:
                if self._client is None:
                    self._client = self._connect()
                client = self._client
            yield client
        except OperationalError as error:
            raise LostStoreError(f"The index {self.name} cannot be reached ({_tell(error)})") from error
        except ClickHouseError as error:
            if _MISSING.search(str(error)):
                raise MissingIndexError(f"The index {self.name} is empty") from error
            raise StoreError(f"The index {self.name} cannot do that ({_tell(error)})") from error

    def _connect(self) -> Client:
        parts = urlsplit(self._address)
        if self._is_in_process:
            return clickhouse_connect.get_client(interface="chdb", path=parts.path, settings=_SETTINGS)
        options = parse_qs(parts.query)
        options.pop("cluster", None)
        settings = {**_SETTINGS, **(_CLUSTER_SETTINGS if self.cluster else {})}
        dsn = parts._replace(path="", query=urlencode(options, doseq=True)).geturl()
        secure = parts.scheme == _SECURE
        return clickhouse_connect.get_client(
            dsn=dsn, secure=secure, settings=settings, autogenerate_session_id=False
        )


def describe_address(address: str) -> str:
    """Return an address as it may be shown: without a password."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


def quote(name: str) -> str:
    """Return a name as it stands in a statement."""
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def _spell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _take(rows: Iterator[Sequence[Any]], weigh: Weigh | None) -> Iterator[Sequence[Any]]:
    size = 0
    for row in islice(rows, _AT_ONCE):
        yield row
        size += 0 if weigh is None else weigh(row)
        if size >= _BYTES:
            return


def _tell(error: Exception) -> str:
    """Return what the system says of a connection, or the first line of what a server says."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error).strip().partition("\n")[0][:500]


def _bind(statement: str, values: Values) -> tuple[str, dict[str, Any]]:
    """Return a statement and its parameters; bytes that are no UTF-8, and many numbers, are spelled out."""
    bound: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, list) and len(value) > _MOST_BOUND and isinstance(value[0], int):
            spelled[name] = f"[{','.join(map(str, value))}]"
            continue
        try:
            bound[name] = _as_text(value)
        except UnicodeDecodeError:
            spelled[name] = _spell_odd(value)
    if spelled:
        statement = _PLACE.sub(
            lambda place: f"CAST({spelled[place[1]]}, '{place[2]}')" if place[1] in spelled else place[0],
            statement,
        )
    return statement, bound


def _as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_as_text(each) for each in value] if isinstance(value, list) else value


def _spell_odd(value: Any) -> str:
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')"
    return f"[{', '.join(_spell_odd(each) for each in value)}]"
