"""Quarters of an hour: what the answers of one group come to in each."""

from __future__ import annotations

from collections.abc import Collection

from psycopg import Connection

from turnlog.store.usage.cells import QUARTER
from turnlog.store.usage.stored import NO_SLOT

__all__ = ["Place", "add_up", "slot_of_answer"]

Place = tuple[int, int]
"""A group and a quarter of an hour."""

_SUMMED = (
    "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches", "cost", "saved"
)  # fmt: skip
_DELETE = """
DELETE FROM usage_rollup AS r USING unnest(%s::bigint[], %s::bigint[]) AS k (grp, slot)
WHERE r.grp = k.grp AND r.slot = k.slot
"""
_INSERT = f"""
INSERT INTO usage_rollup
SELECT k.grp, k.slot, count(*), sum(a.flags & 1), sum(a.flags >> 1),
    {", ".join(f"sum(a.{name})" for name in _SUMMED)}, min(a.time), max(a.time)
FROM unnest(%s::bigint[], %s::bigint[]) AS k (grp, slot) JOIN answers AS a ON a.grp = k.grp AND {{}}
GROUP BY k.grp, k.slot
"""
_INSERT_TIMED = _INSERT.format(f"a.time BETWEEN k.slot * {QUARTER} AND k.slot * {QUARTER} + {QUARTER - 1}")
_INSERT_OTHERS = _INSERT.format("a.time IS NULL")


def slot_of_answer(time: int | None) -> int:
    """Return the quarter of an hour that an answer is counted in."""
    return NO_SLOT if time is None else time // QUARTER


def add_up(connection: Connection, places: Collection[Place]) -> None:
    """Add up what answers have left or have come to, in the transaction of the caller."""
    if not places:
        return
    timed = sorted(place for place in places if place[1] != NO_SLOT)
    others = sorted(place for place in places if place[1] == NO_SLOT)
    for some, insert in ((timed, _INSERT_TIMED), (others, _INSERT_OTHERS)):
        if some:
            keys = [group for group, _ in some], [slot for _, slot in some]
            connection.execute(_DELETE, keys)
            connection.execute(insert, keys)
