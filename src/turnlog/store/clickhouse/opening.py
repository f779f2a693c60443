"""Opening a store's tables together with the control database that they belong to.

The steps that make the tables are recorded in the control database, so that each is done once, and tables of a
newer version are refused whenever something is to be written. ClickHouse cannot do all of a step or nothing; so
each one may be done again.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.errors import StoreError
from turnlog.store.clickhouse.cluster import add_column, create_cluster
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.schema import ABOUT, TABLES, VIEWS
from turnlog.store.clickhouse.session_schema import SESSIONS, SUMMARIES, SUMMARISED, fill_summaries
from turnlog.store.clickhouse.tables import Table, View, create_table, create_view
from turnlog.store.control.interface import Control
from turnlog.store.control.opening import open_control
from turnlog.store.control.schema import create_control_tables
from turnlog.store.packing import unpack_text
from turnlog.store.places import StorePlace
from turnlog.store.portable.database import Execute

__all__ = ["STEPS", "ForeignControlError", "adopt_tables", "open_beside"]

_STORE = b"store"
_FIND = "SELECT value FROM about FINAL WHERE name = {name:String}"


class ForeignControlError(StoreError):
    """A control database is that of other tables."""


class _Tables:
    """The steps that lead to the tables of today."""

    def __init__(self, engine: Engine, retention_days: int | None) -> None:
        self._engine = engine
        self._retention_days = retention_days

    def create_clickhouse_tables(self, execute: Execute) -> None:
        """Make all tables and views."""
        self._create(TABLES, VIEWS)

    def summarise_sessions(self, execute: Execute) -> None:
        """Add what lists look at, for the sessions that are there."""
        self._add_column("series", [SESSIONS], [])  # which a summary has as well
        self._create([SUMMARIES], [SUMMARISED])
        self._engine.command(fill_summaries())

    def add_series(self, execute: Execute) -> None:
        """Let sessions say which series they are of; a sync fills it."""
        self._add_column("series", [SESSIONS, SUMMARIES], [SUMMARISED])

    def _add_column(self, name: str, tables: Sequence[Table], views: Sequence[View]) -> None:
        cluster = self._engine.cluster
        where = None if cluster is None else (cluster, self._find_database())
        for statement in add_column(name, tables, views, where):
            self._engine.command(statement)

    def _find_database(self) -> str:
        [(database,)] = self._engine.query("SELECT currentDatabase()")
        return str(unpack_text(database))

    def _create(self, tables: Sequence[Table], views: Sequence[View]) -> None:
        engine, days = self._engine, self._retention_days
        if engine.cluster is None:
            statements = [*(create_table(table, days) for table in tables), *map(create_view, views)]
        else:
            # All of them: what is there stays as it is.
            statements = create_cluster(engine.cluster, self._find_database(), days)
        for statement in statements:
            engine.command(statement)


_STEPS = (
    _Tables.create_clickhouse_tables.__name__,
    _Tables.summarise_sessions.__name__,
    _Tables.add_series.__name__,
)
STEPS = (create_control_tables.__name__, *_STEPS)
"""The names of all steps, as they are recorded."""


def open_beside(engine: Engine, place: StorePlace, retention_days: int | None = None) -> Control:
    """Open the control database of an engine's tables, which are made if they are missing and may be written.

    Raises `NewerStoreError` for those of a newer version, and `StoreError` for a control database that belongs
    to other tables.
    """
    tables = _Tables(engine, retention_days)
    steps = tuple(getattr(tables, name) for name in _STEPS)
    control = open_control(place, steps, create=not engine.is_read_only)
    try:
        _check_beside(engine, control, place)
    except BaseException:
        control.close()
        raise
    return control


def adopt_tables(engine: Engine, control: Control) -> None:
    """Say that the tables in an engine belong to a control database, whatever was said before."""
    engine.insert(ABOUT, [(_STORE, control.find_store().encode())])


def _check_beside(engine: Engine, control: Control, place: StorePlace) -> None:
    found = {bytes(value) for (value,) in engine.query(_FIND, {"name": _STORE})}
    if found - {control.find_store().encode()}:
        raise ForeignControlError(
            f"The store {engine.name} was made with another control database than {place}"
        )
    if not found and not engine.is_read_only:
        adopt_tables(engine, control)
