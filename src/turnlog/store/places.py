"""Where things are kept: a store in a file, small tables in one beside it or on a PostgreSQL server.

The folder of a store's file also has what belongs to the machine: tokens, hook deliveries that wait, its name.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

__all__ = ["STORE_SETTING", "ServerPlace", "StorePlace", "explain_refusal", "home_of", "is_made"]

STORE_SETTING = "TURNLOG_STORE"
"""The name in the environment for the address of a store that is not in a file."""
_FORMER = {
    "postgresql": "PostgreSQL",
    "postgres": "PostgreSQL",
    "clickhouse": "ClickHouse",
    "clickhouses": "ClickHouse",
    "chdb": "ClickHouse",
}
"""Engines that earlier versions had, by the schemes of their addresses."""


StorePlace = Path
"""The path of a store's file."""


class ServerPlace(Struct, frozen=True):
    """A database on a PostgreSQL server."""

    address: str
    """As the driver takes it; it may hold a password, and is not shown."""

    def __str__(self) -> str:
        """Return the address as it may be shown: without a password."""
        parts = urlsplit(self.address)
        user, at, host = parts.netloc.rpartition("@")
        return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


def home_of(place: StorePlace) -> Path:
    """Return the folder for what belongs to this machine."""
    return place.parent


def is_made(place: StorePlace) -> bool:
    """Tell whether there is a store."""
    return place.exists()


def explain_refusal(address: str) -> str:
    """Return why no store can be at an address, which is not repeated: it may hold a password."""
    try:
        engine = _FORMER.get(urlsplit(address).scheme)
    except ValueError:
        engine = None
    if engine is None:
        return "Expected no address: this version keeps archives in SQLite only, in the folder TURNLOG_HOME"
    wait = ", or wait for the version that has PostgreSQL again" if engine == "PostgreSQL" else ""
    return (
        f"This version keeps archives in SQLite only, not in {engine}: write the files out with the last one "
        f"that has it (`turnlog export --raw`), and `turnlog sync` them here{wait}; docs/archive.md says how"
    )
