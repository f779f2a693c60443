"""Keeping usage up: whatever became of sightings in a transaction, its answers are elected anew at its end.

That happens under the feed's lock, which all writers take last: of two that write sightings of one answer, the
second sees those of the first. Of the messages that are concerned all sightings are read, the answer is made of
them as `transcripts.usage.election` does, and where it differs from what is there, it is replaced, and the
quarters of an hour that it was or is in are added up again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.store.packing import unpack_row
from turnlog.store.postgres.feed import lock_feed
from turnlog.store.postgres.usage_reported import write_reported
from turnlog.store.postgres.usage_rollup import Place, add_up, slot_of_answer
from turnlog.store.postgres.wire import copy_rows
from turnlog.store.rows import SightingRow
from turnlog.store.usage.electing import Answer, Group, Seen, elect
from turnlog.transcripts.usage.charges import Charger
from turnlog.transcripts.usage.price_list import identify_list
from turnlog.transcripts.usage.pricing import find_table

__all__ = ["is_outdated", "recount", "settle"]

_ALL = 0
"""Stands for all sessions."""
_AT_ONCE = 5000
_TABLES = ("answers", "usage_rollup", "usage_groups", "usage_prices", "reported_costs")
_SIGHTINGS = """
SELECT t.message_id, a.owner, a.person, t.session, a.shared, t.row FROM unnest(%s::bytea[]) AS k (message_id)
JOIN sightings AS t ON t.message_id = k.message_id JOIN access AS a ON a.session = t.session
ORDER BY t.message_id, a.owner, a.person
"""
_ANSWERS = """
SELECT a.id, g.session, a.message_id, a.grp, a.time, a.flags, a.input, a.output, a.cache_read,
    a.cache_write_5m, a.cache_write_1h, a.web_searches, a.cost, a.saved
FROM unnest(%s::bytea[]) AS k (message_id) JOIN answers AS a ON a.message_id = k.message_id
JOIN usage_groups AS g ON g.id = a.grp
"""
_ANSWER_COLUMNS = {
    "message_id": "bytea", "grp": "int8", "time": "int8", "flags": "int2", "input": "int8", "output": "int8",
    "cache_read": "int8", "cache_write_5m": "int8", "cache_write_1h": "int8", "web_searches": "int8",
    "cost": "numeric", "saved": "numeric",
}  # fmt: skip
_KNOWN_GROUPS = """
SELECT g.id, g.session, g.digest FROM unnest(%s::bigint[], %s::bytea[]) AS k (session, digest)
JOIN usage_groups AS g ON g.session = k.session AND g.digest = k.digest
"""
_INSERT_GROUP = """
INSERT INTO usage_groups (session, digest, audience, session_id, model, agent, skill, mcp_server, terms)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_DROP_GROUPS = """
DELETE FROM usage_groups AS g WHERE g.id = ANY(%s::bigint[])
AND NOT EXISTS (SELECT 1 FROM answers AS a WHERE a.grp = g.id)
"""
_COUNT_VERSIONS = """
INSERT INTO usage_versions AS v SELECT unnest(%s::bigint[]), 1
ON CONFLICT (session) DO UPDATE SET version = v.version + 1
"""

_Row = tuple[Any, ...]
"""Message, group, time, values."""


class _Ballot(Struct, frozen=True, gc=False):
    """What came of the sightings that one person's sessions have of a message."""

    message: bytes
    answers: list[Answer]
    sessions: set[int]
    """In which it was seen."""


class _Kept(Struct, frozen=True, gc=False):
    """An answer that is there."""

    id: int
    session: int
    row: _Row

    @property
    def place(self) -> Place:
        """Where it is counted."""
        return self.row[1], slot_of_answer(self.row[2])


def settle(
    connection: Connection,
    stale_sessions: Collection[int],
    stale_message_ids: Collection[bytes],
    moved_message_ids: Collection[bytes] = (),
) -> None:
    """Count anew what a transaction concerns, before its end; the caller has the feed's lock.

    Concerned are sessions whose summary was written or deleted, messages of which sightings were, and those of
    sessions that became another person's, or that others see from now on or no longer.
    """
    write_reported(connection, sorted(set(stale_sessions)))
    moved = frozenset(moved_message_ids)
    messages = sorted(moved.union(stale_message_ids))
    charger = Charger()
    for at in range(0, len(messages), _AT_ONCE):
        _settle(connection, messages[at : at + _AT_ONCE], moved, charger)


def recount(connection: Connection) -> None:
    """Throw away what is there, and count everything anew, by the price list that is installed."""
    lock_feed(connection)
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table}")
    _count_versions(connection, [_ALL])
    sessions = [number for (number,) in connection.execute("SELECT session FROM summaries")]
    messages = [message for (message,) in connection.execute("SELECT DISTINCT message_id FROM sightings")]
    settle(connection, sessions, messages)


def is_outdated(connection: Connection) -> bool:
    """Tell whether the costs are by another price list than the one that is installed, or missing.

    Of several programs that use one database, the one with the newest prices counts.
    """
    for known, version, newest in connection.execute("SELECT list, version, newest FROM usage_prices"):
        table = find_table()
        is_other = known != identify_list() and version != table.version
        return bool(is_other and date.fromisoformat(newest) <= table.newest)
    return connection.execute("SELECT 1 FROM sightings LIMIT 1").fetchone() is not None


def _settle(
    connection: Connection, messages: Sequence[bytes], moved: frozenset[bytes], charger: Charger
) -> None:
    kept: dict[bytes, list[_Kept]] = {}
    for number, session, *row in connection.execute(_ANSWERS, (messages,)):
        kept.setdefault(row[0], []).append(_Kept(number, session, tuple(row)))
    elected = list(_list_elected(connection, messages, charger))
    groups = _number_groups(connection, [answer.group for ballot in elected for answer in ballot.answers])
    new: list[_Row] = []
    gone: list[_Kept] = []
    concerned: set[int] = set()
    for message, of_message in groupby(elected, lambda each: each.message):
        ballots = list(of_message)
        before = kept.pop(message, [])
        after: list[_Row] = []
        is_moved = message in moved or not {each.session for each in before} <= _list_sessions(ballots)
        for ballot in ballots:
            rows = [(message, groups[answer.group], answer.time, *answer.values) for answer in ballot.answers]
            there = {each.row for each in before if each.session in ballot.sessions}
            if there != set(rows) and (there or is_moved):
                concerned |= ballot.sessions
            after += rows
        known = {each.row for each in before}
        gone += [each for each in before if each.row not in after]
        new += [row for row in after if row not in known]
    gone += [each for before in kept.values() for each in before]
    _replace(connection, gone, new)
    _count_versions(connection, sorted(concerned))


def _list_sessions(ballots: Iterable[_Ballot]) -> set[int]:
    return {session for ballot in ballots for session in ballot.sessions}


def _replace(connection: Connection, gone: Sequence[_Kept], new: Sequence[_Row]) -> None:
    if gone:
        numbers = [each.id for each in gone]
        connection.execute("DELETE FROM answers WHERE id = ANY(%s::bigint[])", (numbers,))
    if new:
        copy_rows(connection, "answers", _ANSWER_COLUMNS, iter(new))
        _record_prices(connection)
    add_up(connection, {each.place for each in gone} | {(row[1], slot_of_answer(row[2])) for row in new})
    if gone:
        groups = sorted({each.row[1] for each in gone})
        connection.execute(_DROP_GROUPS, (groups,))


def _list_elected(connection: Connection, messages: Sequence[bytes], charger: Charger) -> Iterator[_Ballot]:
    """Yield messages with their answers, for each owner and person."""
    rows = connection.execute(_SIGHTINGS, (messages,))
    for (message, _, _), group in groupby(rows, itemgetter(0, 1, 2)):
        seen = [Seen(session, shared, unpack_row(SightingRow, row)) for *_, session, shared, row in group]
        yield _Ballot(message, elect(message, seen, charger), {each.session for each in seen})


def _number_groups(connection: Connection, groups: Iterable[Group]) -> dict[Group, int]:
    wanted = {(group.session, group.digest): group for group in groups}
    if not wanted:
        return {}
    keys = [session for session, _ in wanted], [digest for _, digest in wanted]
    found = {
        wanted.pop((session, digest)): int(number)
        for number, session, digest in connection.execute(_KNOWN_GROUPS, keys).fetchall()
    }
    for group in wanted.values():
        cells = (group.session, group.digest, group.audience, *group.words)
        [(number,)] = connection.execute(_INSERT_GROUP, cells).fetchall()
        found[group] = int(number)
    return found


def _count_versions(connection: Connection, sessions: list[int]) -> None:
    """Note that what answers of some sessions used or cost is told otherwise from now on."""
    if sessions:
        connection.execute(_COUNT_VERSIONS, (sessions,))


def _record_prices(connection: Connection) -> None:
    if connection.execute("SELECT 1 FROM usage_prices").fetchone() is None:
        table = find_table()
        cells = identify_list(), table.name, table.version, table.newest.isoformat()
        connection.execute("INSERT INTO usage_prices VALUES (%s, %s, %s, %s)", cells)
