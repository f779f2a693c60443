"""Keeping usage up: whatever a write did to sightings, its answers are elected anew when it is published.

All sightings of the messages concerned are read, as they are published. The answers are made of them as
`transcripts.usage.election` does, for each person. Where they differ from what is there, what is there is taken
back and what should be is added, by one insert, from which the quarters of an hour follow. So doing it again
changes nothing. Whoever settles has the locks of the persons concerned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from itertools import groupby
from typing import Any

from msgspec import Struct

from turnlog.store.clickhouse.connection import Engine, Values
from turnlog.store.clickhouse.usage_prices import keep_prices
from turnlog.store.clickhouse.usage_rollup import mend_cells
from turnlog.store.clickhouse.usage_schema import ANSWERS, USAGE_TABLES
from turnlog.store.clickhouse.usage_versions import count_versions
from turnlog.store.control.interface import Control
from turnlog.store.packing import pack_text, unpack_row, unpack_text
from turnlog.store.rows import SightingRow
from turnlog.store.usage.cells import slot_of
from turnlog.store.usage.electing import Answer, Seen, elect
from turnlog.store.usage.stored import NO_SLOT
from turnlog.transcripts.usage.charges import Charger

__all__ = ["list_owners", "recount_owner", "settle_answers"]

_AT_ONCE = 5000
_MARK = 8
"""How many bytes tell whether two rows of an answer are the same."""
_SEEN = """
SELECT session, source, idx FROM sightings WHERE answer IN {answers:Array(UInt128)}
"""
_SIGHTINGS = f"""
WITH places AS ({_SEEN})
SELECT answer, person, session, shared, born, row FROM (
    SELECT t.answer AS answer, e.person AS person, t.session AS session, e.shared AS shared, e.born AS born,
        t.row AS row, t.gone AS gone
    FROM rows AS t JOIN (
        SELECT id, revision, person, shared, born FROM sessions FINAL
        WHERE owner = {{owner:String}} AND id IN (SELECT session FROM places)
    ) AS e ON e.id = t.session
    WHERE t.session IN (SELECT session FROM places) AND t.kind = 6
        AND (t.session, t.source, t.idx) IN (SELECT session, source, idx FROM places)
        AND t.revision <= e.revision
    ORDER BY t.session, t.source, t.idx, t.revision DESC, t.write DESC
    LIMIT 1 BY t.session, t.source, t.idx
) WHERE NOT gone AND answer IN {{answers:Array(UInt128)}}
ORDER BY answer, person, session
"""
_KEPT = f"""
SELECT {", ".join(ANSWERS.names)} FROM answers FINAL
WHERE owner = {{owner:String}} AND session IN (SELECT session FROM ({_SEEN}))
    AND answer IN {{answers:Array(UInt128)}}
"""
_SESSIONS = f"""
SELECT DISTINCT id FROM sessions WHERE owner = {{owner:String}} AND id IN (SELECT session FROM ({_SEEN}))
"""
_NEXT = """
SELECT DISTINCT answer FROM sightings WHERE answer >= {next:UInt128}
    AND session IN (SELECT id FROM sessions WHERE owner = {owner:String})
ORDER BY answer LIMIT {count:UInt32}
"""
_SESSION, _ANSWER, _SIGN = map(ANSWERS.names.index, ("session", "answer", "sign"))
_KEY = len(ANSWERS.key)
"""How many cells tell a row from all others."""

_Row = tuple[Any, ...]
"""Of `answers`."""


class _Ballot(Struct, frozen=True, gc=False):
    """What came of the sightings that one person's sessions have of a message."""

    answer: int
    rows: list[_Row]
    sessions: set[int]
    """In which it was seen."""


def settle_answers(
    engine: Engine, control: Control, owner: str, stale: Collection[int], moved: Collection[int]
) -> None:
    """Count anew what a write concerns, whose sessions are published.

    Concerned are answers of which sightings came or went, and those of sessions that became another person's,
    or that others see from now on or no longer.
    """
    answers = sorted({*stale, *moved})
    charger = Charger()
    for at in range(0, len(answers), _AT_ONCE):
        concerned = _settle(engine, owner, answers[at : at + _AT_ONCE], frozenset(moved), charger)
        count_versions(control, concerned)
    if answers:
        keep_prices(control)


def list_owners(engine: Engine) -> list[str]:
    """Return who has sessions."""
    return [
        unpack_text(owner) for (owner,) in engine.query("SELECT DISTINCT owner FROM sessions ORDER BY owner")
    ]


def recount_owner(engine: Engine, owner: str) -> None:
    """Throw away what is there of an owner, and count it anew; nobody else may write meanwhile."""
    for table in USAGE_TABLES:
        engine.command(f"DELETE FROM {table.name} WHERE owner = {{owner:String}}", {"owner": pack_text(owner)})
    charger, after = Charger(), -1
    values = {"owner": pack_text(owner), "count": _AT_ONCE}
    while rows := engine.query(_NEXT, {**values, "next": after + 1}):
        answers = [answer for (answer,) in rows]
        _settle(engine, owner, answers, frozenset(), charger)
        after = answers[-1]


def _settle(
    engine: Engine, owner: str, answers: Sequence[int], moved: frozenset[int], charger: Charger
) -> list[int]:
    """Count some answers anew; return the sessions of whose answers something else is told from now on."""
    values = {"owner": pack_text(owner), "answers": answers}
    kept: dict[int, list[_Row]] = {}
    for row in engine.query(_KEPT, values):
        kept.setdefault(row[_ANSWER], []).append(row)
    changed: list[_Row] = []
    concerned: set[int] = set()
    for answer, of_answer in groupby(_list_elected(engine, owner, values, charger), lambda each: each.answer):
        ballots = list(of_answer)
        before = kept.pop(answer, [])
        is_moved = answer in moved or not {row[_SESSION] for row in before} <= _list_sessions(ballots)
        for ballot in ballots:
            there = {row[:_KEY] for row in before if row[_SESSION] in ballot.sessions}
            if there != {row[:_KEY] for row in ballot.rows} and (there or is_moved):
                concerned |= ballot.sessions
        changed += _list_changed(before, [row for ballot in ballots for row in ballot.rows])
    changed += (_take_back(row) for rows in kept.values() for row in rows)
    engine.insert(ANSWERS, changed)
    sessions = {session for (session,) in engine.query(_SESSIONS, values)}
    mend_cells(engine, owner, sessions | {row[_SESSION] for row in changed})
    return sorted(concerned)


def _list_changed(before: Sequence[_Row], after: Sequence[_Row]) -> Iterator[_Row]:
    """Yield what takes rows back that do not hold any more, and adds those that do from now on."""
    there, wanted = {row[:_KEY] for row in before}, {row[:_KEY] for row in after}
    yield from (_take_back(row) for row in before if row[:_KEY] not in wanted)
    yield from (row for row in after if row[:_KEY] not in there)


def _take_back(row: _Row) -> _Row:
    return (*row[:_SIGN], -1, *row[_SIGN + 1 :])


def _list_sessions(ballots: Iterable[_Ballot]) -> set[int]:
    return {session for ballot in ballots for session in ballot.sessions}


def _list_elected(engine: Engine, owner: str, values: Values, charger: Charger) -> Iterator[_Ballot]:
    """Yield answers as they should be, for each person."""
    rows = engine.query(_SIGHTINGS, values)
    for (answer, _), group in groupby(rows, lambda row: row[:2]):
        seen, born = list[Seen](), dict[int, date]()
        for _, _, session, shared, day, row in group:
            seen.append(Seen(session, shared, unpack_row(SightingRow, row)))
            born[session] = day
        message = pack_text(seen[0].row.message_id)
        elected = elect(message, seen, charger)
        yield _Ballot(answer, [_build_row(owner, answer, each, born) for each in elected], set(born))


def _build_row(owner: str, answer: int, elected: Answer, born: Mapping[int, date]) -> _Row:
    group, slot = elected.group, slot_of(elected.time)
    told = elected.message, *group.words, group.audience, elected.time, *elected.values
    mark = blake2b(repr(told).encode(), digest_size=_MARK).digest()
    digest = int.from_bytes(group.digest, "big") >> 1 << 1  # the last bit says whether it has a price
    return (
        pack_text(owner),
        group.session,
        NO_SLOT if slot is None else slot,
        digest | elected.values[0] >> 1,
        answer,
        int.from_bytes(mark, "big"),
        1,
        born[group.session],
        *told,
    )
