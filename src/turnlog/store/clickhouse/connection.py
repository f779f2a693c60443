"""Statements to a ClickHouse server, or to the same engine within this process (`chdb://`).

Values are bound by name, as `{name:Type}`. Text is bytes both ways; bytes that are no UTF-8 are spelled out,
since the server takes parameters as UTF-8 only.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from io import IOBase
from itertools import islice
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError

from turnlog.errors import LostStoreError, StoreError
from turnlog.store.clickhouse.tables import Table
from turnlog.store.packing import Cells

__all__ = [
    "LOCAL_SUFFIX",
    "Engine",
    "Values",
    "describe",
    "find_database",
    "is_in_process",
    "quote",
    "spell_text",
]

Values = Mapping[str, Any]
_IN_PROCESS = "chdb"
_SECURE = "clickhouses"
_DATABASE = "turnlog"
LOCAL_SUFFIX = "_local"
"""What stands behind the name of a table where it is on one server of a cluster."""
_AT_ONCE = 50_000
"""How many rows are sent at once."""
_RAW = "Native"
_PIECE = 1 << 20
_FORMATS = {"String": "bytes", "LowCardinality(String)": "bytes"}
_SETTINGS = {
    # What was inserted is seen by whoever asks next, and is on the disk.
    "async_insert": 0,
    "mutations_sync": 2,
    "lightweight_deletes_sync": 2,
    "fsync_metadata": 1,
    "max_partitions_per_insert_block": 0,
    # What rows are told apart by says in which month they are, so those of two months are never the same.
    "do_not_merge_across_partitions_select_final": 1,
    "join_use_nulls": 1,
    "output_format_native_encode_types_in_binary_format": 0,
    # Statements may name thousands of sessions and answers.
    "max_query_size": 64 << 20,
}
_CLUSTER_SETTINGS = {
    # What was inserted is on its shards, and on most of their replicas, and whoever asks next sees it.
    "distributed_foreground_insert": 1,
    "insert_quorum": "auto",
    "insert_quorum_parallel": 0,
    "select_sequential_consistency": 1,
    # What is inserted again is inserted, by views as well: it may have been deleted or taken back meanwhile,
    # and whoever died may have done half of it. Keys tell what is the same.
    "insert_deduplicate": 0,
    "distributed_product_mode": "global",
}
_HAS_DATABASE = "SELECT 1 FROM system.databases WHERE name = {name:String}"
_PLACE = re.compile(r"\{(\w+):([^}]+)\}")
_MOST_BOUND = 1000
"""How many numbers are a parameter: a server takes those of up to 128 KiB."""

# Whoever is to be told is told by an exception.
logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())


class Engine:
    """A database of a ClickHouse server. Several threads may use it."""

    def __init__(self, address: str, *, read_only: bool = False, database: str | None = None) -> None:
        """Take the database that the address names, or another one.

        It is made if it is missing; for reading only, that is a `StoreError`.
        """
        self.name = describe(address)
        """As it may be shown."""
        self.is_read_only = read_only
        self.cluster = _find_option(address, "cluster")
        """What the servers call the cluster that the tables are on; None for a single server."""
        self.writes = 0
        """How many rows were written through it."""
        self.statements = 0
        """How many statements were made through it."""
        self.inserts = 0
        """How many of them added rows."""
        self._lock = threading.Lock()
        self._is_closed = False
        self._address = address
        self._client = _connect(address, self.name, database or find_database(address), create=not read_only)

    def query(self, statement: str, values: Values | None = None, filters: Values | None = None) -> list[Cells]:
        """Return the rows of a statement; `filters` are conditions on tables, by their names."""
        self.statements += 1
        spelled, bound = _bind(statement, values or {})
        settings = {"additional_table_filters": _spell_filters(filters)} if filters else None
        with self._translate():
            result = self._client.query(spelled, parameters=bound, settings=settings, query_formats=_FORMATS)
            return [tuple(row) for row in result.result_rows]

    def insert(self, table: Table, rows: Iterable[Sequence[Any]]) -> int:
        """Add rows, whose cells are in the order of the table's columns; return how many there were.

        Up to 50,000 come at once or not at all.
        """
        self.check_writable()
        count, left = 0, iter(rows)
        types = [kind.partition(" CODEC")[0] for kind in table.columns.values()]
        while some := list(islice(left, _AT_ONCE)):
            self.statements += 1
            self.inserts += 1
            with self._translate():
                self._client.insert(table.name, some, column_names=table.names, column_type_names=types)
            count += len(some)
        self.writes += count
        return count

    def command(self, statement: str, values: Values | None = None) -> None:
        """Do what gives no rows."""
        self.check_writable()
        self.statements += 1
        spelled, bound = _bind(statement, values or {})
        with self._translate():
            self._client.command(spelled, parameters=bound)

    def delete(self, table: str, where: str, values: Values | None = None) -> None:
        """Delete rows: nobody sees them behind this; they are removed from the disk later (`scrub`)."""
        there = table if self.cluster is None else f"{table}{LOCAL_SUFFIX} ON CLUSTER {quote(self.cluster)}"
        self.command(f"DELETE FROM {there} WHERE {where}", values)

    def read_raw(self, statement: str) -> Generator[bytes, None, None]:
        """Yield the rows of a statement in the engine's own format; meanwhile nothing else can be asked."""
        self.statements += 1
        with self._translate(), closing(cast(IOBase, self._client.raw_stream(statement, fmt=_RAW))) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def insert_raw(self, table: str, names: Sequence[str], pieces: Iterable[bytes]) -> None:
        """Add rows of some columns, as `read_raw` gave them."""
        self.check_writable()
        self.statements += 1
        with self._translate():
            block = (piece for piece in pieces)
            self._client.raw_insert(table, column_names=names, insert_block=block, fmt=_RAW)

    def connect_again(self, database: str | None = None) -> Engine:
        """Return another connection, to the same database or another one, which is made if it is missing."""
        return Engine(self._address, read_only=self.is_read_only, database=database)

    def check_writable(self) -> None:
        """Raise `StoreError` if it is open for reading only."""
        if self.is_read_only:
            raise StoreError(f"The store {self.name} is open for reading only")

    def close(self) -> None:
        """Let go of it; again does nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        with suppress(ClickHouseError):
            self._client.close()

    @contextmanager
    def _translate(self) -> Iterator[None]:
        if self._is_closed:
            raise StoreError(f"The store {self.name} is closed")
        try:
            yield
        except OperationalError as error:
            raise LostStoreError(f"The store {self.name} cannot be reached ({_tell(error)})") from error
        except ClickHouseError as error:
            raise StoreError(f"The store {self.name} cannot do that ({_tell(error)})") from error


def describe(address: str) -> str:
    """Return an address as it may be shown: without a password."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


def is_in_process(address: str) -> bool:
    """Tell whether an address is about the engine within this process."""
    return urlsplit(address).scheme == _IN_PROCESS


def spell_text(text: str | bytes) -> str:
    """Return text as it stands in a statement, whatever characters it has."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return f"unhex('{data.hex()}')"


def _find_option(address: str, name: str) -> str | None:
    """Return what an address says behind its question mark."""
    return next(iter(parse_qs(urlsplit(address).query).get(name, ())), None)


def find_database(address: str) -> str:
    """Return the database that an address names."""
    named = _find_option(address, "database") if is_in_process(address) else urlsplit(address).path.strip("/")
    return named or _DATABASE


def _connect(address: str, name: str, database: str, *, create: bool) -> Client:
    """Return a client whose database there is."""
    is_ours = is_in_process(address)
    try:
        client = _connect_in_process(address) if is_ours else _connect_server(address)
        if create:
            cluster = _find_option(address, "cluster")
            on = "" if cluster is None else f" ON CLUSTER {quote(cluster)}"
            client.command(f"CREATE DATABASE IF NOT EXISTS {quote(database)}{on}")
        elif not client.query(_HAS_DATABASE, {"name": database}).result_rows:
            client.close()
            raise StoreError(f"There is no store at {name}")
        if is_ours:
            client.command(f"USE {quote(database)}")
        else:
            client.database = database
    except ClickHouseError as error:
        raise LostStoreError(f"The store {name} cannot be reached ({_tell(error)})") from error
    return client


def _connect_in_process(address: str) -> Client:
    return clickhouse_connect.get_client(interface="chdb", path=urlsplit(address).path, settings=_SETTINGS)


def _connect_server(address: str) -> Client:
    parts = urlsplit(address)
    options = parse_qs(parts.query)
    cluster = options.pop("cluster", [])
    settings = {**_SETTINGS, **(_CLUSTER_SETTINGS if cluster else {})}
    dsn = parts._replace(path="", query=urlencode(options, doseq=True)).geturl()
    secure = parts.scheme == _SECURE
    return clickhouse_connect.get_client(
        dsn=dsn, secure=secure, settings=settings, autogenerate_session_id=False
    )


def quote(name: str) -> str:
    """Return a name as it stands in a statement."""
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def _tell(error: Exception) -> str:
    """Return what the system says of a connection, or the first line of what a server says."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error).strip().partition("\n")[0][:500]


def _spell_filters(filters: Values) -> str:
    """Return conditions by table, as the setting has them."""
    pairs = (f"'{name}': '{_escape(condition)}'" for name, condition in filters.items())
    return f"{{{', '.join(pairs)}}}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _bind(statement: str, values: Values) -> tuple[str, dict[str, Any]]:
    """Return a statement and its parameters; bytes that are no UTF-8, and many numbers, are spelled out."""
    bound: dict[str, Any] = {}
    odd: dict[str, str] = {}
    many: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, list | tuple) and len(value) > _MOST_BOUND and isinstance(value[0], int):
            many[name] = f"[{','.join(map(str, value))}]"
            continue
        try:
            bound[name] = _as_text(value)
        except UnicodeDecodeError:
            odd[name] = _spell_odd(value)
    if odd:
        statement = _PLACE.sub(lambda place: odd.get(place[1], place[0]), statement)
    if many:
        statement = _PLACE.sub(
            lambda place: f"CAST('{many[place[1]]}', '{place[2]}')" if place[1] in many else place[0], statement
        )
    return statement, bound


def _as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_text(each) for each in value]
    return value


def _spell_odd(value: Any) -> str:
    if isinstance(value, bytes):
        return spell_text(value)
    return f"[{', '.join(_spell_odd(each) for each in value)}]"
