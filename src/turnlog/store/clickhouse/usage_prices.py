"""Which price list the costs are by; in the control database."""

from __future__ import annotations

from datetime import date

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.control.interface import Control
from turnlog.store.portable.database import Execute
from turnlog.transcripts.usage.price_list import PriceTable, identify_list
from turnlog.transcripts.usage.pricing import find_table

__all__ = ["find_prices", "is_outdated", "keep_prices", "note_recount", "note_recounted"]

_Cells = tuple[str, str, str, str]
_NONE: _Cells = ("", "", "", date.min.isoformat())
"""Stands for a price list while everything is counted anew; any other is newer."""


def keep_prices(control: Control) -> None:
    """Note by which prices the first costs are."""
    if not control.read(lambda execute: execute("SELECT 1 FROM @prices")):
        note_recounted(control)


def note_recount(control: Control) -> None:
    """Note that costs are by no price list, until `note_recounted`: whoever dies meanwhile leaves that said."""
    _write(control, _NONE)


def note_recounted(control: Control) -> None:
    """Note that all costs are by the price list that is installed."""
    table = find_table()
    _write(control, (identify_list(), table.name, table.version, table.newest.isoformat()))


def find_prices(control: Control) -> PriceTable | None:
    """Return by which prices the costs are; None if there are none yet."""
    query = "SELECT name, version, newest FROM @prices WHERE list <> ''"
    for name, version, newest in control.read(lambda execute: execute(query)):
        return PriceTable(name, version, date.fromisoformat(newest))
    return None


def is_outdated(engine: Engine, control: Control) -> bool:
    """Tell whether the costs are by another price list than the one that is installed, or missing.

    Of several programs that use one store, the one with the newest prices counts.
    """
    found = control.read(lambda execute: execute("SELECT list, version, newest FROM @prices"))
    for known, version, newest in found:
        table = find_table()
        is_other = known != identify_list() and version != table.version
        return bool(is_other and date.fromisoformat(newest) <= table.newest)
    return bool(engine.query("SELECT 1 FROM sightings LIMIT 1"))


def _write(control: Control, cells: _Cells) -> None:
    def write(execute: Execute) -> None:
        execute("DELETE FROM @prices")
        execute("INSERT INTO @prices (list, name, version, newest) VALUES (?, ?, ?, ?)", cells)

    control.write(write)
