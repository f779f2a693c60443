"""Where a store is: in a file of its own, or on a database server that an address names.

Whichever it is, there is a folder on this machine for what belongs to the machine: tokens, hook deliveries that
wait, its name. For a store in a file it is the folder of that file.

A store on ClickHouse has its bytes elsewhere, and a control database beside it, in a file or on a PostgreSQL
server: an engine that is made for large things is bad at small ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

__all__ = [
    "PLACE_SETTINGS",
    "ServerPlace",
    "StorePlace",
    "control_of",
    "find_place",
    "home_of",
    "is_made",
    "list_settings",
    "parse_address",
]

_STORE = "TURNLOG_STORE"
_CONTROL_SETTING = "TURNLOG_CONTROL"
_BLOBS_SETTING = "TURNLOG_BLOBS"
_RETENTION = "TURNLOG_RETENTION_DAYS"
PLACE_SETTINGS = (_STORE, _CONTROL_SETTING, _BLOBS_SETTING, _RETENTION)
"""The names in the environment that say on which server a store is, and what is beside it."""

_IN_PROCESS = "chdb"
_ENGINES = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "clickhouse": "clickhouse",
    "clickhouses": "clickhouse",
    _IN_PROCESS: "clickhouse",
}
"""Which engine an address is about, by its scheme."""
_CONTROL = "control.db"
_BLOBS = "blobs"
_MOST_DAYS = 36_500


class ServerPlace(Struct, frozen=True):
    """A store on a database server."""

    address: str
    """As the engine's driver takes it; it may hold a password, and is not shown."""
    home: Path
    control: str | None = None
    """Of a store on ClickHouse: the file of its control database, or the address of one on a PostgreSQL server;
    None for a file in `home`."""
    blobs: str | None = None
    """Of a store on ClickHouse: the folder of its bytes, or an address as `s3://…`; None for one in `home`."""
    retention_days: int | None = None
    """Of a store on ClickHouse: how long sessions are kept; None for as long as it lasts."""

    @property
    def bytes_address(self) -> str:
        """Where the bytes are that are apart from the rows."""
        return self.blobs or str(self.home / _BLOBS)

    @property
    def engine(self) -> str:
        """The folder of the engine in `turnlog.store`."""
        return _ENGINES[urlsplit(self.address).scheme]

    @property
    def is_in_process(self) -> bool:
        """Whether the engine runs within the process that opens it, which no other process can do then."""
        return urlsplit(self.address).scheme == _IN_PROCESS

    def __str__(self) -> str:
        """Return the address as it may be shown: without a password."""
        parts = urlsplit(self.address)
        user, at, host = parts.netloc.rpartition("@")
        return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


StorePlace = Path | ServerPlace
"""A path is that of a store's own file."""


def control_of(place: StorePlace) -> StorePlace:
    """Return where the small things are: with the sessions, unless their engine is not made for those."""
    if not isinstance(place, ServerPlace) or place.engine != "clickhouse":
        return place
    if place.control is None:
        return place.home / _CONTROL
    return ServerPlace(place.control, place.home) if "://" in place.control else Path(place.control)


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
    if scheme not in _ENGINES:
        known = " or ".join(f"{name}://…" for name in _ENGINES)
        raise ValueError(
            f"Expected an address such as {known}, got {f'one of {scheme}' if scheme else 'no address'}"
        )
    return ServerPlace(address, home)


def find_place(env: Mapping[str, str], home: Path) -> ServerPlace | None:
    """Return the place on a server that the environment names, None if it names none; raises `ValueError`."""
    address = env.get(_STORE)
    if not address:
        return None
    place = parse_address(address, home)
    if place.engine != "clickhouse":
        return place
    return ServerPlace(
        address,
        home,
        control=_parse_control(env.get(_CONTROL_SETTING)),
        blobs=_find_path(env.get(_BLOBS_SETTING)),
        retention_days=_parse_days(env.get(_RETENTION)),
    )


def list_settings(place: StorePlace) -> dict[str, str]:
    """Return what the environment says for a place, so that `find_place` finds it."""
    if not isinstance(place, ServerPlace):
        return {}
    days = None if place.retention_days is None else str(place.retention_days)
    values = (place.address, place.control, place.blobs, days)
    return {name: value for name, value in zip(PLACE_SETTINGS, values, strict=True) if value is not None}


def _parse_control(value: str | None) -> str | None:
    path = _find_path(value)
    if path is not None and "://" in path and _ENGINES.get(urlsplit(path).scheme) != "postgres":
        raise ValueError(f"Expected a file or a PostgreSQL database in {_CONTROL_SETTING}, got another address")
    return path


def _find_path(value: str | None) -> str | None:
    """Return an address as it is, a path as it is wherever one stands."""
    if not value:
        return None
    return value if "://" in value else os.path.abspath(os.path.expanduser(value))


def _parse_days(value: str | None) -> int | None:
    if not value:
        return None
    if not value.isascii() or not value.isdecimal() or not 1 <= int(value) <= _MOST_DAYS:
        raise ValueError(f"Expected a number of days from 1 to {_MOST_DAYS} in {_RETENTION}")
    return int(value)
