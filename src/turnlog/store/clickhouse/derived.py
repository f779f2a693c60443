"""Writing derived rows: only those that differ from what is there.

Each row has a digest, by which it is compared. A row that is new or another one is staged under the session's
next revision; in the place of one that is gone stands a row that says so. Of a kind whose rows are not all
named, only the digests of those that are named are asked for, and of what stands behind them.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import date
from itertools import pairwise
from typing import Any

from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.ids import NOWHERE, number
from turnlog.store.clickhouse.kinds import (
    AGENTS,
    CALLS,
    KINDS,
    MESSAGES,
    NOTHING,
    PLACEMENTS,
    SIGHTINGS,
    TURNS,
    WHOLE_SESSION,
    Kind,
    digest_packed,
)
from turnlog.store.clickhouse.schema import ROWS
from turnlog.store.clickhouse.staging import Staging
from turnlog.store.packing import pack_row
from turnlog.store.rows import DerivedRow

__all__ = [
    "Part",
    "Present",
    "RowPlace",
    "list_all_present",
    "list_parts",
    "list_present",
    "remove_parts",
    "write_part",
]

_MOST_NAMED = 1000
"""How many single rows are asked for by their indexes."""
_PARTS_AT_ONCE = 200
_ALL = (None, None, None, None)
_PRESENT = """
SELECT session, kind, source, groupArray(idx), groupArray(digest), groupArrayIf(answer, kind = {sightings})
FROM (
    SELECT session, kind, source, idx, gone, digest, answer FROM rows WHERE {where}
    ORDER BY session, kind, source, idx, revision DESC, write DESC LIMIT 1 BY session, kind, source, idx
) WHERE NOT gone GROUP BY session, kind, source
"""
_Key = tuple[int, int, int]
"""Session, kind, source."""


class RowPlace(Struct, frozen=True, gc=False):
    """Whose rows are written."""

    owner: str
    session: int
    born: date
    revision: int
    """The one that rows which differ are of."""


class Present:
    """What is there of a kind in a chapter: the digests of some rows, and of sightings the answers."""

    def __init__(
        self, indexes: Sequence[int] = (), digests: Sequence[int] = (), answers: Sequence[int] = ()
    ) -> None:
        """Take columns in the order of indexes."""
        self._digests: array[int] | None = array("Q", digests)
        self._answers = answers
        self._is_all = not indexes or indexes[-1] == len(indexes) - 1
        self._at = {} if self._is_all else {index: at for at, index in enumerate(indexes)}
        self.end = indexes[-1] + 1 if indexes else 0
        """Behind the last row."""

    def find_digest(self, index: int) -> int | None:
        """Return by what a row is compared."""
        at = self._find(index)
        return None if at is None or self._digests is None else self._digests[at]

    def find_answer(self, index: int) -> int | None:
        """Return the answer that a sighting is of."""
        at = self._find(index)
        return None if at is None or not self._answers else self._answers[at]

    def without_digests(self) -> Present:
        """Return the same, as if no row were as it should be."""
        other = copy(self)
        other._digests = None
        return other

    def _find(self, index: int) -> int | None:
        if self._is_all:
            return index if index < self.end else None
        return self._at.get(index)


class Part(Struct, frozen=True, kw_only=True):
    """Rows of one kind that a batch has of a chapter, or of a whole session."""

    kind: Kind[Any]
    source: int
    rows: Sequence[DerivedRow]
    size: int
    """How many there are from now on, whether or not all of them are here."""
    first: int = 0
    """From which on what is there has to be known."""
    named: tuple[int, ...] = ()
    """Which others have to be."""
    required: int | None = None
    """Which has to be there: with it, all before it are."""

    def ask(self, session: int) -> str:
        """Return the condition for the rows that have to be known."""
        where = (
            f"session = toUInt128('{session}') AND kind = {self.kind.number} "
            f"AND source = toUInt128('{self.source}')"
        )
        if self.named:
            return f"({where} AND (idx >= {self.first} OR idx IN ({', '.join(map(str, self.named))})))"
        return f"({where} AND idx >= {self.first})"


def list_parts(owner: str, derived: DerivedRows, own: Container[int]) -> list[Part]:
    """Return what a batch has, by kinds; raises `StoreError` for a chapter that is not the session's."""
    turns, agents = derived.sizes or (None, None)
    parts = [
        _make_part(TURNS, WHOLE_SESSION, derived.turns, turns),
        _make_part(AGENTS, WHOLE_SESSION, derived.agents, agents),
    ]
    for chapter in derived.chapters:
        parts += _list_chapter(number(owner, chapter.source), chapter, own)
    return parts


def list_present(engine: Engine, asked: Iterable[tuple[int, Part]]) -> dict[_Key, Present]:
    """Return what is there of the kinds that parts of sessions are of."""
    conditions = [part.ask(session) for session, part in asked]
    found: dict[_Key, Present] = {}
    for at in range(0, len(conditions), _PARTS_AT_ONCE):
        found |= _list_present(engine, " OR ".join(conditions[at : at + _PARTS_AT_ONCE]))
    return found


def list_all_present(engine: Engine, session: int) -> dict[_Key, Present]:
    """Return what is there of all kinds in all chapters of a session."""
    return _list_present(engine, f"session = toUInt128('{session}')")


def write_part(staging: Staging, place: RowPlace, part: Part, present: Present) -> tuple[bool, set[int]]:
    """Stage what differs; return whether anything does, and the answers whose sightings came or went."""
    if part.required is not None and present.find_digest(part.required) is None:
        raise StoreError(f"Expected {part.size} rows without gaps ({part.kind.name}), some are missing")
    answers: set[int] = set()
    count = staging.add(ROWS, _list_other(place, part, present, answers))
    count += staging.add(ROWS, _list_gone(place, part, present, answers))
    return bool(count), answers


def remove_parts(staging: Staging, place: RowPlace, present: Mapping[_Key, Present]) -> set[int]:
    """Stage that what is there is gone; return the answers of which sightings went."""
    answers: set[int] = set()
    by_number = {kind.number: kind for kind in KINDS}
    for (_, kind, source), found in present.items():
        empty = Part(kind=by_number[kind], source=source, rows=(), size=0)
        answers |= write_part(staging, place, empty, found)[1]
    return answers


def _list_other(place: RowPlace, part: Part, present: Present, answers: set[int]) -> Iterator[list[Any]]:
    """Yield the rows that are new or others than those that are there, and note the answers concerned."""
    before = place.session, part.kind.number, part.source
    pick, is_sighting = part.kind.pick, part.kind is SIGHTINGS
    for row in part.rows:
        if row.index >= part.size:
            continue
        packed = pack_row(row)
        digest = digest_packed(packed)
        if present.find_digest(row.index) == digest:
            continue
        cells = pick(row, place.owner)
        if is_sighting:
            answers.add(cells[-1])
            former = present.find_answer(row.index)
            if former is not None:
                answers.add(former)
        yield [*before, row.index, place.revision, 0, place.born, False, digest, packed, *cells]


def _list_gone(place: RowPlace, part: Part, present: Present, answers: set[int]) -> Iterator[list[Any]]:
    """Yield what stands for rows that are gone, and note the answers concerned."""
    before = place.session, part.kind.number, part.source
    for index in range(part.size, present.end):
        former = present.find_answer(index)
        if former is not None:
            answers.add(former)
        cells = *NOTHING[:-1], former or NOWHERE
        yield [*before, index, place.revision, 0, place.born, True, 0, b"", *cells]


def _list_present(engine: Engine, where: str) -> dict[_Key, Present]:
    rows = engine.query(_PRESENT.format(sightings=SIGHTINGS.number, where=where))
    return {(session, kind, source): _build_present(*columns) for session, kind, source, *columns in rows}


def _build_present(indexes: Sequence[int], digests: Sequence[int], answers: Sequence[int]) -> Present:
    if all(one < two for one, two in pairwise(indexes)):
        return Present(indexes, digests, answers)
    order = sorted(range(len(indexes)), key=indexes.__getitem__)
    return Present(*([column[at] for at in order] if column else () for column in (indexes, digests, answers)))


def _list_chapter(source: int, rows: ChapterRows, own: Container[int]) -> list[Part]:
    if source not in own:
        raise StoreError(f"Expected rows of files of the session, found some of {rows.source}")
    messages, calls, placements, sightings = rows.sizes or _ALL
    return [
        _make_part(MESSAGES, source, rows.messages, messages),
        _make_part(CALLS, source, rows.calls, calls),
        _make_part(PLACEMENTS, source, rows.placements, placements),
        _make_part(SIGHTINGS, source, rows.sightings, sightings),
    ]


def _make_part(kind: Kind[Any], source: int, rows: Sequence[DerivedRow], size: int | None) -> Part:
    if size is None:
        return Part(kind=kind, source=source, rows=rows, size=len(rows))
    # Those at the end that are named without a gap: the one before them tells whether any is missing.
    named: list[int] = []
    start = end = size
    for row in rows:
        if row.index >= size:
            break
        if row.index != end:
            named += range(start, end)
            start = row.index
        end = row.index + 1
    if end < size:
        named += range(start, end)
        start = size
    first = max(start - 1, 0)
    if len(named) > _MOST_NAMED:
        first, named = named[0], []
    required = start - 1 if start else None
    return Part(
        kind=kind, source=source, rows=rows, size=size, first=first, named=tuple(named), required=required
    )
