"""Single connections: how they are opened, and how many rows are written through them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, cast

import psycopg
from psycopg import Connection, Cursor
from psycopg.conninfo import conninfo_to_dict

from turnlog.errors import StoreError

__all__ = [
    "ACCOUNTS",
    "SCHEMA",
    "CountedConnection",
    "configure",
    "connect",
    "copy_rows",
    "describe",
    "list_settings",
    "wait_alone",
]

SCHEMA = "turnlog"
"""All of our tables are in a schema of their own."""
ACCOUNTS = "turnlog_accounts"
"""Where `turnlog.store.accounts` has its tables: they are copied along."""
_LOCK_SECONDS = 120
"""How long to wait for another writer."""
_REACH_SECONDS = 10
"""How long to wait for an answer of the server's machine."""
_GONE_SECONDS = 2
"""How long to wait until those who have closed their connections are gone."""
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'turnlog' AND pid <> pg_backend_pid()
"""
_WRITTEN = ("INSERT", "UPDATE", "DELETE", "COPY")


class CountedConnection(Connection[tuple[Any, ...]]):
    """A connection that counts the rows that are written."""

    written = 0


class _CountingCursor(Cursor[tuple[Any, ...]]):
    """What counts them."""

    def execute(self, *given: Any, **named: Any) -> _CountingCursor:
        super().execute(*given, **named)
        self._count()
        return self

    def executemany(self, *given: Any, **named: Any) -> None:
        super().executemany(*given, **named)
        self._count()

    def _count(self) -> None:
        if (self.statusmessage or "").startswith(_WRITTEN):
            cast(CountedConnection, self.connection).written += max(self.rowcount, 0)


def connect(address: str) -> CountedConnection:
    """Open one connection, outside of any pool; raises `psycopg.Error`."""
    connection = CountedConnection.connect(address, **list_settings(address))
    try:
        configure(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def list_settings(address: str) -> dict[str, Any]:
    """Return what connections are opened with, where the address does not say it; raises `StoreError`."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.Error:  # which would repeat it, with the password
        raise StoreError(
            f"Expected the address of a database, got what is none ({describe(address)})"
        ) from None
    usual = {"connect_timeout": _REACH_SECONDS, "application_name": "turnlog"}
    return {
        "autocommit": True,
        "prepare_threshold": None,  # a plan for all months at once would not leave out the others
        "cursor_factory": _CountingCursor,
        **{name: value for name, value in usual.items() if name not in given},
    }


def configure(connection: Connection) -> None:
    """Make a new connection ready for our tables."""
    connection.execute(f"SET search_path TO {SCHEMA}, public; SET lock_timeout TO '{_LOCK_SECONDS}s'")
    connection.execute("SET jit TO off")  # compiling takes seconds for what is done in milliseconds
    # However the server is set up: what is acknowledged, here or by a server of ours, outlasts its end.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


def describe(address: str) -> str:
    """Return an address as it may be shown: without a password."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error:
        return "postgresql://…"
    host = parts.get("host") or parts.get("hostaddr") or ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


def copy_rows(
    connection: Connection, table: str, columns: dict[str, str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Write many rows at once, given the types of all columns."""
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            copy.set_types(list(columns.values()))
            for row in rows:
                copy.write_row(row)
        cast(CountedConnection, connection).written += max(cursor.rowcount, 0)


def wait_alone(connection: Connection[Any]) -> bool:
    """Tell whether nobody else is connected: a server's process outlives the connection that was closed."""
    until = time.monotonic() + _GONE_SECONDS
    while True:
        [(others,)] = connection.execute(_OTHERS).fetchall()
        if not others or time.monotonic() > until:
            return not others
        time.sleep(0.02)
