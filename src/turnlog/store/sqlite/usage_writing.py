"""Keeping usage up: whatever became of sightings in a transaction, its answers are elected anew at its end.

Which messages are concerned is noted by triggers, so no way of writing sightings can forget it. Of these all
sightings are read, the answer is made of them as `transcripts.usage.election` does, and where it differs from
what is there, it is replaced, and the quarters of an hour that it was or is in are added up again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import apsw
from msgspec import Struct

from turnlog.store.sqlite.usage_election import Answer, Elector
from turnlog.store.sqlite.usage_reported import write_reported
from turnlog.store.sqlite.usage_schema import USAGE_WATCH
from turnlog.store.usage.cells import QUARTER
from turnlog.store.usage.stored import NO_SLOT
from turnlog.transcripts.usage.price_list import identify_list
from turnlog.transcripts.usage.pricing import find_table

__all__ = ["UsageKeeper", "sum_cell"]

_MOST = (1 << 63) - 1
_ALL = 0
"""Stands for all sessions."""

_STALE_SIGHTINGS = """
SELECT k.message_id, e.owner, a.person, a.shared, t.session, t.source, t.session_id, t.start, t.time, t.model,
    t.input, t.output,
    t.cache_read, t.cache_write_5m, t.cache_write_1h, t.web_searches, t.ended, t.service_tier, t.speed,
    t.inference_geo, t.agent, t.agent_id, t.skill, t.mcp_server
FROM stale_answers AS k
CROSS JOIN sightings AS t
    ON substr(t.message_id, -10) = substr(k.message_id, -10) AND t.message_id = k.message_id
CROSS JOIN sessions AS e ON e.id = t.session
LEFT JOIN access AS a ON a.session = t.session
ORDER BY k.message_id, e.owner, a.person
"""
_STALE_ANSWERS = """
SELECT a.* FROM stale_answers AS k
CROSS JOIN answers AS a ON substr(a.message_id, -10) = substr(k.message_id, -10) AND a.message_id = k.message_id
"""
_SHARED_ANSWERS = """
INSERT OR IGNORE INTO stale_answers SELECT t.message_id FROM sightings AS t WHERE t.session = ?1 AND EXISTS (
    SELECT 1 FROM sightings AS o
    WHERE substr(o.message_id, -10) = substr(t.message_id, -10) AND o.message_id = t.message_id
        AND o.session <> t.session
)
"""
_INSERT_ANSWER = "INSERT INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_CELL = "INSERT INTO usage_rollup VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GROUP = (
    "session = ? AND session_id = ? AND model = ? AND agent = ? AND skill = ? AND mcp_server = ? AND terms = ? "
    "AND audience = ?"
)

_SUMMED = (
    "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches", "cost", "saved"
)  # fmt: skip

_Place = tuple[int, int]
"""A group and a quarter of an hour."""


class _Kept(Struct, frozen=True, gc=False):
    """An answer that is there."""

    id: int
    message: str
    group: int
    time: int | None
    values: tuple[int, ...]


class UsageKeeper:
    """Keeps the tables of usage of one writing connection up."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._elector = Elector(connection)
        self._groups: dict[tuple[Any, ...], int] = {}

    def watch(self) -> None:
        """Note what has to be counted anew. Again in each transaction: a changed pragma drops what notes it."""
        query = "SELECT 1 FROM temp.sqlite_schema WHERE name = 'summary_deleted'"
        if not self._connection.execute(query).fetchall():
            self._connection.execute(USAGE_WATCH)

    def reset(self) -> None:
        """Forget what was learned: it may have been rolled back."""
        self._elector.reset()
        self._groups.clear()

    def settle(self) -> None:
        """Count anew what the transaction concerns, before its end."""
        connection = self._connection
        if connection.execute("SELECT 1 FROM stale_sessions LIMIT 1").fetchall():
            write_reported(connection)
            connection.execute("DELETE FROM stale_sessions")
        if connection.execute("SELECT 1 FROM stale_answers LIMIT 1").fetchall():
            self._settle_answers()
            connection.execute("DELETE FROM stale_answers")

    def affect(self, session: int) -> None:
        """Note that a session is somebody else's, or shared with others: what it has in common may move."""
        self._connection.execute(_SHARED_ANSWERS, (session,))

    def recount(self) -> None:
        """Throw away what is there, and count everything anew, by the price list that is installed."""
        for table in ("answers", "usage_rollup", "usage_groups", "usage_prices", "reported_costs"):
            self._connection.execute(f"DELETE FROM {table}")
        self.reset()
        self._count_versions({_ALL})
        self._connection.execute("INSERT OR IGNORE INTO stale_answers SELECT message_id FROM sightings")
        self._connection.execute("INSERT OR IGNORE INTO stale_sessions SELECT session FROM summaries")
        self.settle()

    def is_outdated(self) -> bool:
        """Tell whether the costs are by another price list than the one that is installed, or missing."""
        found = self._connection.execute("SELECT list, version FROM usage_prices").fetchone()
        if found is None:
            return bool(self._connection.execute("SELECT 1 FROM sightings LIMIT 1").fetchall())
        return bool(found[0] != identify_list() and found[1] != find_table().version)

    def _settle_answers(self) -> None:
        kept = self._list_kept()
        new: list[tuple[Any, ...]] = []
        gone: list[_Kept] = []
        concerned: set[int] = set()
        for message, answers, sessions in self._list_elected():
            before = kept.pop(message, [])
            after = [self._pack(answer) for answer in answers]
            gone += [
                each for each in before if (each.message, each.group, each.time, *each.values) not in after
            ]
            there = {(each.message, each.group, each.time, *each.values) for each in before}
            new += [cells for cells in after if cells not in there]
            if there and there != set(after):
                concerned |= sessions
        gone += [each for before in kept.values() for each in before]
        self._connection.executemany("DELETE FROM answers WHERE id = ?", ((each.id,) for each in gone))
        self._connection.executemany(_INSERT_ANSWER, new)
        self._add_up({(each.group, _slot_of(each.time)) for each in gone}, new)
        self._drop_groups({each.group for each in gone})
        self._count_versions(concerned)
        if new:
            self._record_prices()

    def _list_kept(self) -> dict[str, list[_Kept]]:
        kept: dict[str, list[_Kept]] = {}
        for number, message, group, time, *values in self._connection.execute(_STALE_ANSWERS):
            kept.setdefault(message, []).append(_Kept(number, message, group, time, tuple(values)))
        return kept

    def _list_elected(self) -> Iterator[tuple[str, list[Answer], set[int]]]:
        """Yield messages with their answers, for each person, and the sessions that they were seen in."""
        rows = self._connection.execute(_STALE_SIGHTINGS)
        for message, of_message in groupby(rows, itemgetter(0)):
            of_persons = [list(of_person) for _, of_person in groupby(of_message, itemgetter(1, 2))]
            sessions = {row[4] for seen in of_persons for row in seen}
            yield message, [answer for seen in of_persons for answer in self._elector.elect(seen)], sessions

    def _pack(self, answer: Answer) -> tuple[Any, ...]:
        group = self._groups.get(answer.group)
        if group is None:
            group = self._groups[answer.group] = self._find_group(answer.group)
        return answer.message, group, answer.time, *answer.values

    def _find_group(self, cells: tuple[Any, ...]) -> int:
        found = self._connection.execute(f"SELECT id FROM usage_groups WHERE {_GROUP}", cells).fetchone()
        if found is None:
            self._connection.execute("INSERT INTO usage_groups VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", cells)
            return self._connection.last_insert_rowid()
        return int(found[0])

    def _add_up(self, left: set[_Place], new: Iterable[tuple[Any, ...]]) -> None:
        """Add up the cells that answers have left or have come to."""
        come: dict[_Place, list[tuple[Any, ...]]] = {}
        for _, group, time, *values in new:
            come.setdefault((group, _slot_of(time)), []).append((time, *values))
        sums: list[tuple[Any, ...]] = []
        for place in {*left, *come}:
            self._connection.execute("DELETE FROM usage_rollup WHERE grp = ? AND slot = ?", place)
            # A cell that was not there has no other answers than the new ones.
            is_known = place in left or bool(self._connection.changes())
            cell = self._sum_kept(*place) if is_known else sum_cell(come[place])
            if cell[0]:
                sums.append((*place, *cell))
        self._connection.executemany(_INSERT_CELL, sums)

    def _sum_kept(self, group: int, slot: int) -> tuple[Any, ...]:
        """Add up a cell where it is: there may be thousands of answers to a quarter of an hour."""
        counts = "count(*), ifnull(sum(flags & 1), 0), ifnull(sum(flags >> 1), 0)"
        sums = ", ".join(f"ifnull(sum({name}), 0)" for name in _SUMMED)
        try:
            [row] = self._list_cell(group, slot, f"{counts}, {sums}, min(time), max(time)")
        except apsw.SQLError:  # a sum that no cell can hold
            return sum_cell(self._list_cell(group, slot, f"time, flags, {', '.join(_SUMMED)}"))
        return row

    def _list_cell(self, group: int, slot: int, columns: str) -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM answers WHERE grp = ? AND time "
        if slot == NO_SLOT:
            return self._connection.execute(query + "IS NULL", (group,)).fetchall()
        bounds = group, slot * QUARTER, (slot + 1) * QUARTER - 1
        return self._connection.execute(query + "BETWEEN ? AND ?", bounds).fetchall()

    def _drop_groups(self, groups: set[int]) -> None:
        """Delete groups that have no answers any more: their words may have to be forgotten."""
        for group in groups:
            if not self._connection.execute("SELECT 1 FROM answers WHERE grp = ? LIMIT 1", (group,)).fetchall():
                self._connection.execute("DELETE FROM usage_groups WHERE id = ?", (group,))
                self._groups.clear()

    def _count_versions(self, sessions: set[int]) -> None:
        """Note that what answers of some sessions used or cost is told otherwise from now on."""
        query = """
        INSERT OR REPLACE INTO usage_versions
        SELECT ?1, 1 + ifnull(max(version), 0) FROM usage_versions WHERE session = ?1
        """
        for session in sessions:
            self._connection.execute(query, (session,))

    def _record_prices(self) -> None:
        if not self._connection.execute("SELECT 1 FROM usage_prices").fetchall():
            table = find_table()
            cells = identify_list(), table.name, table.version, table.newest.isoformat()
            self._connection.execute("INSERT INTO usage_prices VALUES (?, ?, ?, ?)", cells)


def sum_cell(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return what answers of one cell come to; what is beyond all reason becomes the most that can be kept."""
    sums = [sum(row[at] for row in rows) for at in range(2, 10)]
    times = [row[0] for row in rows if row[0] is not None]
    return (
        len(rows),
        sum(row[1] & 1 for row in rows),
        sum(row[1] >> 1 for row in rows),
        *(max(-_MOST, min(each, _MOST)) for each in sums),
        min(times, default=None),
        max(times, default=None),
    )


def _slot_of(time: int | None) -> int:
    return NO_SLOT if time is None else time // QUARTER
