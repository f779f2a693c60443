"""Opening the control database of a store: in a file, or on a PostgreSQL server."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from turnlog.errors import OlderStoreError, StoreError
from turnlog.store.control.interface import Control
from turnlog.store.control.keeping import StoredControl
from turnlog.store.control.schema import create_control_tables
from turnlog.store.control.sqlite_control import SqliteControl
from turnlog.store.places import ServerPlace, StorePlace
from turnlog.store.portable.steps import Migration, Steps

__all__ = ["open_control"]


def open_control(place: StorePlace, steps: tuple[Migration, ...] = (), *, create: bool = True) -> Control:
    """Open a control database; raises `StoreError`, and `NewerStoreError` for one of a newer version.

    `steps` are those that make what it is beside: they are recorded here, each done by one process. What a step
    does elsewhere is done again if it did not come to that. Without `create`, the database must be there.
    """
    every = Steps("the store", (create_control_tables, *steps))
    control = _load_server(place, every) if isinstance(place, ServerPlace) else SqliteControl(place, every)
    try:
        if create:
            control.make()
        else:
            _check_made(control, every, place)
    except BaseException:
        control.close()
        raise
    return control


def _check_made(control: StoredControl, steps: Steps, place: StorePlace) -> None:
    missing = control.list_missing()
    if missing == steps.names:
        raise StoreError(f"There is no control database of a store at {place}")
    if missing:
        raise OlderStoreError(
            f"The store of {place} is of an older version; `turnlog sync` brings it up to date"
        )


def _load_server(place: ServerPlace, steps: Steps) -> StoredControl:
    if place.engine != "postgres":
        raise StoreError(f"Expected a file or a PostgreSQL database for what is in control, got {place}")
    try:
        # Loaded when it is asked for: the drivers of servers are optional.
        module = import_module("turnlog.store.control.postgres_control")
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{place} needs {error.name}, which is not installed: pip install 'turnlog[postgres]'"
        ) from error
    return cast(StoredControl, module.PostgresControl(place.address, steps))
