"""Putting a control database aside, so that another one can be made in its place, and putting it back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import apsw

from turnlog.errors import BusyStoreError
from turnlog.store.places import ServerPlace, StorePlace
from turnlog.store.sqlite.connection import translate, writing

__all__ = ["check_alone", "is_there", "put_aside", "put_back"]

_ENDINGS = ("", "-wal", "-shm")
_PATIENCE_MS = 2000
# Loaded when it is asked for: the drivers of servers are optional.
_WIRE = "turnlog.store.postgres.wire"


def is_there(place: StorePlace) -> bool:
    """Tell whether there is a control database."""
    if isinstance(place, Path):
        return place.exists()
    with _connected(place) as (connection, schema):
        [(found,)] = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (schema,)).fetchall()
    return bool(found)


def check_alone(place: StorePlace) -> None:
    """Raise `BusyStoreError` if anybody has a control database open."""
    if isinstance(place, Path):
        is_alone = not place.exists() or _close_log(place)
    else:
        with _connected(place) as (connection, _):
            is_alone = import_module(_WIRE).wait_alone(connection)
    if not is_alone:
        raise BusyStoreError(f"The store of {place} is in use by another process; stop that first")


def put_aside(place: StorePlace, suffix: str) -> None:
    """Give a control database another name; raises `BusyStoreError` if anybody has it open."""
    check_alone(place)
    _rename(place, "", suffix)


def put_back(place: StorePlace, suffix: str) -> None:
    """Give a control database its name again, in the place of one that was made meanwhile."""
    if isinstance(place, Path):
        for ending in _ENDINGS:
            _name(place, "", ending).unlink(missing_ok=True)
    else:
        with _connected(place) as (connection, schema):
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    _rename(place, suffix, "")


def _close_log(place: Path) -> bool:
    """Move all into the one file, which only works if nobody else has it open; return False if somebody has."""
    try:
        with closing(apsw.Connection(os.fspath(place), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(_PATIENCE_MS)
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            with writing(connection):
                pass
    except (apsw.BusyError, apsw.LockedError):
        return False
    except apsw.Error:
        return True  # it is damaged, which may be why another one is wanted
    return True


def _rename(place: StorePlace, before: str, after: str) -> None:
    if isinstance(place, Path):
        with translate(place):
            for ending in _ENDINGS:
                if _name(place, before, ending).exists():
                    os.replace(_name(place, before, ending), _name(place, after, ending))
    else:
        with _connected(place) as (connection, schema):
            connection.execute(f"ALTER SCHEMA {schema}{before} RENAME TO {schema}{after}")


def _name(place: Path, suffix: str, ending: str) -> Path:
    """Return the name of a file: its log is beside it, under the same name."""
    return place.with_name(f"{place.stem}{suffix}{place.suffix}{ending}")


@contextmanager
def _connected(place: ServerPlace) -> Iterator[tuple[Any, str]]:
    """Lend a connection to a server, and the name of the schema there."""
    wire = import_module(_WIRE)
    failures = import_module("turnlog.store.postgres.failures")
    with failures.translate(wire.describe(place.address)), closing(wire.connect(place.address)) as connection:
        yield connection, wire.CONTROL
