"""Proposing texts, newest first, as far as they are needed.

First the newest texts are looked at, a few hundred: a common word fills a page from these. If it does not, the
index lists the texts that have the words, and the newest of these come first. So how much is read does not
depend on what PostgreSQL guesses about how common a word is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from psycopg import ClientCursor, Connection

from turnlog.store.packing import Cells
from turnlog.store.postgres.search_conditions import Conditions
from turnlog.store.search.asking import Counts
from turnlog.store.search.hits import TextKey
from turnlog.store.search.text_rows import Text

__all__ = ["Count", "Proposal", "Walk"]

_FIRST = 256
"""How many texts are looked at first."""
_LARGEST = 16_000
_RARE = 50
"""If fewer than one in so many may be a hit, the index is asked for the others."""
_LISTED = 500
"""How many texts it lists first at least; four times as many each time, since each time it has to find all."""
_COLUMNS = "t.time, t.id, t.generation, t.number, t.ordinal, t.block, t.state, t.cells"
_WORDS = ", t.words, t.counts"
_MINE = "t.owner = %(owner)s AND (t.time, t.id) < (%(time)s, %(id)s)"
_WALK = f"""
WITH t AS MATERIALIZED (
    SELECT {_COLUMNS}{{needed}} FROM texts AS t WHERE {_MINE} AND {{times}}
    ORDER BY t.time DESC, t.id DESC LIMIT %(size)s
)
SELECT {_COLUMNS}{{columns}}, NULL FROM t WHERE {{where}}
UNION ALL (
    SELECT {_COLUMNS}{{columns}}, (SELECT count(*) FROM t) FROM t ORDER BY t.time, t.id LIMIT 1
)
"""
"""The last row tells where the stretch ends, and how many texts it has."""
_LIST = f"""
SELECT {_COLUMNS}{{columns}} FROM texts AS t
WHERE t.owner + 0 = %(owner)s AND (t.time + 0, t.id) < (%(time)s, %(id)s) AND {{times}} AND {{where}}
ORDER BY t.time + 0 DESC, t.id DESC LIMIT %(size)s
"""
"""As it is written, the index by time is of no use: nobody is to look for rare words text by text."""
_BY_TIME = "SET LOCAL enable_sort TO off; {} ; SET LOCAL enable_sort TO on"
"""Nor is anybody to sort all texts to find the newest, as a server that has not counted them may like to do."""
_NEWEST = (1 << 62, 1 << 62)
_Place = tuple[int, int]


class Proposal(Struct, frozen=True, gc=False):
    """A text that may match."""

    key: TextKey
    generation: int
    text: Text
    cells: int
    counts: Counts = ()
    """In how many of its cells each term may be; known only where texts are ranked."""


Count = Callable[[list[int], bytes | None, int], Counts]
"""Counts terms, given the words of a text, in how many cells each is, and how many cells there are."""


class Walk:
    """One query's way through the texts of one owner."""

    def __init__(
        self,
        connection: Connection,
        owner: int,
        conditions: Conditions,
        wanted: int,
        count: Count | None = None,
    ) -> None:
        """Begin with nothing looked at; about so many texts are `wanted`."""
        self._connection = connection
        self._owner = owner
        self._conditions = conditions
        self._listed = max(_LISTED, min(wanted, _LARGEST))
        self._count = count
        self._columns = "" if count is None else _WORDS
        self._needed = _WORDS if count is not None else ", t.words" if conditions.uses_index else ""
        self._where = f"{conditions.words} AND {conditions.others}"

    def propose(self, before: TextKey | None) -> Iterator[Proposal]:
        """Yield texts that may match and come behind `before`, in order."""
        place: _Place | None = _NEWEST if before is None else before[:2]
        if not self._conditions.is_narrow:
            size = _FIRST
            while place is not None:
                found, place = self._look(place, size)
                yield from found
                if self._conditions.uses_index and (self._conditions.is_wide or len(found) * _RARE < size):
                    break
                size = min(4 * size, _LARGEST)
        size = self._listed
        while place is not None:
            found = self._list(place, size)
            yield from found
            place = found[-1].key[:2] if len(found) == size else None
            size *= 4

    def explain(self, *, is_listed: bool) -> tuple[str, dict[str, Any]]:
        """Return a statement of either sort, and its values, as it is made first."""
        size = self._listed if is_listed else _FIRST
        return self._build(_LIST if is_listed else _WALK), self._fill(_NEWEST, size)

    def _look(self, place: _Place, size: int) -> tuple[list[Proposal], _Place | None]:
        """Look at some texts behind a place; return those that may match, and where the others begin."""
        found: list[Proposal] = []
        following: _Place | None = None
        # The values are put in here, so that all statements take one way to the server.
        with ClientCursor(self._connection) as cursor:
            cursor.execute(_BY_TIME.format(self._build(_WALK)), self._fill(place, size))
            cursor.nextset()
            for *row, seen in cursor:
                if seen is None:
                    found.append(self._unpack(tuple(row)))
                elif seen == size:
                    following = row[0], row[1]
        return sorted(found, key=lambda proposal: proposal.key, reverse=True), following

    def _list(self, place: _Place, size: int) -> list[Proposal]:
        """Return the newest texts behind a place that may match."""
        rows = self._connection.execute(self._build(_LIST), self._fill(place, size))
        return [self._unpack(row) for row in rows]

    def _build(self, query: str) -> str:
        return query.format(
            columns=self._columns, needed=self._needed, times=self._conditions.times, where=self._where
        )

    def _fill(self, place: _Place, size: int) -> dict[str, Any]:
        time, number = place
        return {**self._conditions.values, "owner": self._owner, "time": time, "id": number, "size": size}

    def _unpack(self, row: Cells) -> Proposal:
        time, id, generation, number, ordinal, block, state, cells, *words = row
        text = Text(number, ordinal, block, state >> 1, bool(state & 1), time)
        counts = () if self._count is None else self._count(words[0], words[1], cells)
        return Proposal((time, id, 0), generation, text, cells, counts)
