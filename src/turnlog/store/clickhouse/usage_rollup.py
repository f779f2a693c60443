"""Quarters of an hour, held to what their answers come to.

What comes and goes is added up by a view. Two things it cannot do: tell the first and the last time of a cell
from which an answer went, and be there for certain, since the server does not insert into both tables at once.
So whoever counts answers looks at the cells of their sessions, and has those made anew that are not as they
should be.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.usage_schema import COUNTED, COUNTED_UP, USAGE_ROLLUP
from turnlog.store.packing import Cells, pack_text

__all__ = ["mend_cells"]

_AT_ONCE = 1000
_AMOUNTS = ("messages", "incomplete", "unpriced", *COUNTED)
_ADDED = ", ".join(f"sum({name})" for name in _AMOUNTS)
_OF_SESSIONS = "owner = {owner:String} AND session IN {sessions:Array(UInt128)}"
_COUNTED = COUNTED_UP.select.replace("FROM answers AS a", "FROM answers AS a FINAL WHERE {}")
_BROKEN = f"""
SELECT session, slot, digest FROM (
    SELECT session, slot, digest, cityHash64({_ADDED}, ifNull(min(first), 0), ifNull(max(last), 0)) AS mark
    FROM usage_rollup WHERE {_OF_SESSIONS} GROUP BY session, slot, digest
    UNION ALL
    SELECT session, slot, digest, cityHash64({", ".join(_AMOUNTS)}, ifNull(first, 0), ifNull(last, 0))
    FROM ({_COUNTED.format(_OF_SESSIONS)})
) GROUP BY session, slot, digest HAVING count() != 2 OR min(mark) != max(mark)
ORDER BY session, slot, digest
"""


def mend_cells(engine: Engine, owner: str, sessions: Iterable[int]) -> None:
    """Make those cells of an owner's sessions anew that are not what their answers come to."""
    wanted = sorted(set(sessions))
    if not wanted:
        return
    values = {"owner": pack_text(owner), "sessions": wanted}
    broken = engine.query(_BROKEN, values)
    for at in range(0, len(broken), _AT_ONCE):
        _rebuild(engine, values["owner"], broken[at : at + _AT_ONCE])


def _rebuild(engine: Engine, owner: bytes, cells: list[Cells]) -> None:
    where = f"owner = {{owner:String}} AND (session, slot, digest) IN ({', '.join(map(_spell, cells))})"
    values = {"owner": owner}
    engine.command(f"DELETE FROM usage_rollup WHERE {where}", values)
    names = ", ".join(USAGE_ROLLUP.names)
    engine.command(f"INSERT INTO usage_rollup ({names}) {_COUNTED.format(where)}", values)


def _spell(cell: Cells) -> str:
    session, slot, digest = cell
    return f"(toUInt128('{session}'), toInt64({slot}), toUInt128('{digest}'))"
