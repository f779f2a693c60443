"""How long things are kept: the engine drops rows by itself when their day has passed.

Until it comes to that, nobody sees them (`reading`). Blobs go by months (`blob_upkeep`), and what people said
about sessions that are dropped goes when the store is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from turnlog.store.clickhouse.connection import LOCAL_SUFFIX, Engine, quote
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.schema import TABLES
from turnlog.store.control.interface import Control
from turnlog.store.packing import unpack_text
from turnlog.store.portable.database import Execute

__all__ = ["drop_expired_marks", "is_past", "keep_for"]

_TOLD = """
SELECT name, engine_full FROM system.tables
WHERE database = currentDatabase() AND name IN {names:Array(String)}
"""
_THERE = "SELECT DISTINCT id FROM sessions WHERE id IN {ids:Array(UInt128)}"
_SOME = 5000


def keep_for(engine: Engine, days: int | None) -> list[str]:
    """Have the engine drop what is older than some days, or nothing; return the tables that this is new to.

    What is older now is dropped in the background.
    """
    suffix = "" if engine.cluster is None else LOCAL_SUFFIX
    everywhere = "" if engine.cluster is None else f" ON CLUSTER {quote(engine.cluster)}"
    names = [f"{table.name}{suffix}" for table in TABLES if table.expires]
    told = {unpack_text(name): unpack_text(said) for name, said in engine.query(_TOLD, {"names": names})}
    changed = [name for name in names if name in told and not _is_told(told, name, days)]
    for name in changed:
        what = "REMOVE TTL" if days is None else f"MODIFY TTL born + INTERVAL {days} DAY"
        engine.command(f"ALTER TABLE {name}{everywhere} {what} SETTINGS mutations_sync = 0")
    return changed


def is_past(born: date, days: int | None) -> bool:
    """Tell whether what was first written on a day is too old."""
    return days is not None and born + timedelta(days=days) <= datetime.now(UTC).date()


def drop_expired_marks(engine: Engine, control: Control) -> int:
    """Forget what people said about sessions that were dropped; return of how many."""
    marked = control.read(lambda execute: execute("SELECT DISTINCT owner, session FROM @marks"))
    by_number = {number(owner, key): (owner, key) for owner, key in marked}
    numbers, there = sorted(by_number), set[int]()
    for at in range(0, len(numbers), _SOME):
        there.update(id for (id,) in engine.query(_THERE, {"ids": numbers[at : at + _SOME]}))
    gone = [named for id, named in by_number.items() if id not in there]

    def drop(execute: Execute) -> None:
        for owner, key in gone:
            execute("DELETE FROM @marks WHERE owner = ? AND session = ?", (owner, key))

    if gone:
        control.write(drop, is_repeatable=True)
    return len(gone)


def _is_told(told: Mapping[str, str], name: str, days: int | None) -> bool:
    if days is None:
        return " TTL " not in told[name]
    return f" TTL born + toIntervalDay({days}) " in f"{told[name]} "
