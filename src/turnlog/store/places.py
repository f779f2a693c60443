"""Where a store is: in a file of its own, or on a database server that an address names.

Whichever it is, there is a folder on this machine for what belongs to the machine: tokens, hook deliveries that
wait, its name. For a store in a file it is the folder of that file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

STORE_SETTING = "TURNLOG_STORE"
"""The name in the environment that says on which server a store is."""

ARCHIVE_SCHEMA = "turnlog_archive"
"""Where a server has the archive."""
ACCOUNTS_SCHEMA = "turnlog_accounts"
"""Where a server has the accounts."""

_SCHEMES = "postgresql", "postgres"
_REMOVED = {"clickhouse": "ClickHouse", "clickhouses": "ClickHouse", "chdb": "ClickHouse"}
"""Engines that earlier versions had, likewise."""


class ServerPlace(Struct, frozen=True):
    """A store on a database server."""

    address: str
    """As the engine's driver takes it; it may hold a password, and is not shown."""
    home: Path
    schema: str = ARCHIVE_SCHEMA
    """Which has the tables."""

    def __str__(self) -> str:
        """Return the address as it may be shown: without a password."""
        parts = urlsplit(self.address)
        user, at, host = parts.netloc.rpartition("@")
        return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


StorePlace = Path | ServerPlace
"""A path is that of a store's own file."""


def home_of(place: StorePlace) -> Path:
    """Return the folder for what belongs to this machine."""
    return place.home if isinstance(place, ServerPlace) else place.parent


def is_made(place: StorePlace) -> bool:
    """Tell whether there is a store: a file is there or not, and a server is asked when it is opened."""
    return isinstance(place, ServerPlace) or place.exists()


def parse_address(address: str, home: Path) -> ServerPlace:
    """Return the place that an address names; raises `ValueError`, which does not repeat the address."""
    try:
        scheme = urlsplit(address).scheme
    except ValueError as error:
        raise ValueError("Expected the address of a database server, got something else") from error
    if scheme in _REMOVED:
        raise ValueError(
            f"This version keeps no archives in {_REMOVED[scheme]}: write the files out with the last one that "
            "does (`turnlog export --raw`), and `turnlog sync` them here; docs/team.md says how"
        )
    if scheme not in _SCHEMES:
        known = " or ".join(f"{name}://…" for name in _SCHEMES)
        raise ValueError(
            f"Expected an address such as {known}, got {f'one of {scheme}' if scheme else 'no address'}"
        )
    return ServerPlace(address, home)


def find_place(env: Mapping[str, str], home: Path) -> ServerPlace | None:
    """Return the place on a server that the environment names, None if it names none; raises `ValueError`."""
    address = env.get(STORE_SETTING)
    return parse_address(address, home) if address else None
