"""Usage: what can be asked about it, and keeping it up.

Whatever a transaction changes, the answers that it concerns are elected anew at its end. What files say about
answers is in their segments. An answer that stands in one session alone, as nearly all do, is told by that
session's batch; `shared_answers` has those that stand in several, and what the other sessions say is read from
their segments. Where the answer differs from what is there, it is replaced, and the quarters of an hour that it
was or is in are added up again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct, json
from msgspec.structs import astuple

from turnlog.instants import to_microseconds
from turnlog.store.frames import decompress
from turnlog.store.identity import Scope
from turnlog.store.sqlite.connection import reading, translate
from turnlog.store.sqlite.segments import SegmentCache
from turnlog.store.sqlite.values import Numbers, pack_text, unpack_text
from turnlog.store.usage.cells import QUARTER, Home, UsageCell, join_terms
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.reported import read_reported
from turnlog.store.usage.source import AnswerUse
from turnlog.store.usage.stored import NO_SLOT, UsageGroup, build_answer, build_stored_cell, choose_reported
from turnlog.store.usage.tools import AnswerCell, CallUse, build_call_use
from turnlog.transcripts.records import SightingRecord
from turnlog.transcripts.usage.charges import Charger
from turnlog.transcripts.usage.election import SightingFold
from turnlog.transcripts.usage.price_list import PriceTable, identify_list
from turnlog.transcripts.usage.pricing import find_table
from turnlog.transcripts.usage.tokens import Terms, Tokens

_GROUPS = """
SELECT g.id, e.key, e.origin, x.person, t.project, t.title, w.word, m.word, a.word, k.word, c.word, g.terms
FROM usage_groups AS g JOIN sessions AS e ON e.id = g.session
LEFT JOIN summaries AS t ON t.session = g.session
LEFT JOIN access AS x ON x.session = g.session
LEFT JOIN words AS w ON w.id = g.session_id
LEFT JOIN words AS m ON m.id = g.model
LEFT JOIN words AS a ON a.id = g.agent
LEFT JOIN words AS k ON k.id = g.skill
LEFT JOIN words AS c ON c.id = g.mcp_server
WHERE e.owner = ? AND g.audience <> 2
"""
_CELLS = """
SELECT grp, slot, messages, incomplete, unpriced, input, output, cache_read, cache_write_5m, cache_write_1h,
    web_searches, cost, saved, first, last
FROM usage_rollup
"""
_ANSWERS = """
SELECT grp, message_id, time, flags, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches,
    cost, saved
FROM answers
"""
_CALLS = """
SELECT s.source, x.person, g.source, g.number, g.stamp FROM sources AS s
JOIN segments AS g ON g.source = s.id LEFT JOIN access AS x ON x.session = s.session
WHERE s.owner = ? AND g.calls > 0 ORDER BY s.source, g.number
"""
IS_NEW = "id > ifnull((SELECT id FROM answers NOT INDEXED WHERE is_new = 0 ORDER BY id DESC LIMIT 1), 0)"
"""Which answers are not in the index by messages yet: those behind all others, which is where it is looked."""
ANSWERS_OF = f"""
SELECT a.id FROM json_each(?1) AS m CROSS JOIN answers AS a
ON substr(a.message_id, -10) = substr(m.value, -10) AND a.message_id = m.value AND a.is_new = 0
UNION ALL SELECT id FROM answers WHERE {IS_NEW} AND message_id IN (SELECT value FROM json_each(?1))
"""
"""The answers of some messages."""
_REPORTED = """
SELECT r.session_id, r.kind, r.cost, r.computed FROM reported_costs AS r JOIN sessions AS e ON e.id = r.session
WHERE e.owner = ?
"""
_FILES = "SELECT count(*) FROM sources WHERE owner = ? AND kind IN ('transcript', 'agent')"


class SqliteUsage:
    """The usage of one owner's sessions."""

    def __init__(
        self, path: Path, connect: Callable[[], apsw.Connection], segments: SegmentCache, scope: Scope
    ) -> None:
        """Ask for a connection each time: one for viewers is used for others meanwhile."""
        self._segments = segments
        self._path = path
        self._connect = connect
        self._scope = scope

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in quarters of an hour."""
        with self._reading():
            groups = self._load_groups()
            rows = self._connect().execute(_CELLS)
            return [
                build_stored_cell(groups[group], slot, amounts)
                for group, slot, *amounts in rows
                if group in groups
            ]

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""
        with self._reading():
            groups = self._load_groups()
            rows = self._connect().execute(_ANSWERS)
            return [
                AnswerCell(message, build_answer(groups[group], time, flags, counts))
                for group, message, time, flags, *counts in rows
                if group in groups
            ]

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""
        with self._reading():
            connection = self._connect()
            rows: list[tuple[Any, ...]] = connection.execute(_CALLS, (self._scope.owner,)).fetchall()
            return [
                build_call_use(source, call, person)
                for source, person, *key in rows
                for call in self._segments.load(connection, tuple(key)).calls
            ]

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost; of copies, the one that has run furthest."""
        rows = self._ask(_REPORTED, self._scope.owner)
        return choose_reported(
            ReportedCost(unpack_text(session), kind, Decimal(cost), Decimal(computed))
            for session, kind, cost, computed in rows
        )

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        query = "SELECT name, version, newest FROM usage_prices"
        for name, version, newest in self._ask(query):
            return PriceTable(name, version, date.fromisoformat(newest))
        return None

    def count_files(self) -> int:
        """Return how many files of lines there are."""
        [(count,)] = self._ask(_FILES, self._scope.owner)
        return int(count)

    def find_answers(self, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        with translate(self._path):
            return find_answers(self._connect(), self._scope, ids)

    def find_version(self, key: str) -> int:
        """Return a number that changes when another session changes what is told of this one's answers."""
        with translate(self._path):
            return find_usage_version(self._connect(), self._scope, key)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with translate(self._path), reading(self._connect()):
            yield

    def _ask(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with translate(self._path):
            return self._connect().execute(query, values).fetchall()

    def _load_groups(self) -> dict[int, UsageGroup]:
        groups: dict[int, UsageGroup] = {}
        homes: dict[str, Home] = {}
        for number, key, origin, person, project, title, *words, terms in self._connect().execute(
            _GROUPS, (self._scope.owner,)
        ):
            home = homes.get(key)
            if home is None:
                home = homes[key] = Home(key, unpack_text(project), title, person, unpack_text(origin))
            session, model, agent, skill, server = map(unpack_text, words)
            groups[number] = UsageGroup(home, session, model, agent, skill, server, terms)
        return groups


def find_answers(connection: apsw.Connection, scope: Scope, ids: Iterable[str]) -> list[AnswerUse]:
    """Return what answers used, those that are known, in the order of their ids."""
    query = f"""
    SELECT a.message_id, a.input, a.output, a.cache_read, a.cache_write_5m + a.cache_write_1h,
        iif(a.flags & 2, NULL, a.cost)
    FROM ({ANSWERS_OF}) AS w CROSS JOIN answers AS a ON a.id = w.id
    JOIN usage_groups AS g ON g.id = a.grp JOIN sessions AS e ON e.id = g.session
    WHERE e.owner = ?2 AND g.audience <> 2 ORDER BY a.message_id, a.output, e.key DESC
    """
    wanted = json.encode(sorted(set(ids))).decode()
    # Several people may have it: what has the most output is nearest to the truth.
    answers = {
        found: AnswerUse(
            message_id=found, input=input, output=output, cache_read=read, cache_write=write, cost=cost
        )
        for found, input, output, read, write, cost in connection.execute(query, (wanted, scope.owner))
    }
    return [*answers.values()]


def find_usage_version(connection: apsw.Connection, scope: Scope, key: str) -> int:
    """Return how often answers of a session were counted in another way, alone or with all others."""
    query = """
    SELECT ifnull(sum(version), 0) FROM usage_versions
    WHERE session IN (0, (SELECT id FROM sessions WHERE owner = ? AND key = ?))
    """
    [(version,)] = connection.execute(query, (scope.owner, key))
    return int(version)


_MOST = (1 << 63) - 1
_AT_ONCE = 20_000
"""How many answers are elected at once, at most."""
_ALL = 0
"""Stands for all sessions."""
_FOR_ALL, _FOR_WHOLE, _FOR_OTHERS = 0, 1, 2
"""For whom an answer counts: all who see its session, those who see all of the person's, only others."""
_KEPT = f"""
SELECT g.session, a.* FROM ({ANSWERS_OF}) AS k
CROSS JOIN answers AS a ON a.id = k.id CROSS JOIN usage_groups AS g ON g.id = a.grp
"""
_NEW = 1000
"""So many answers wait to be in the index by messages: an entry there writes several pages, many do so once."""
_MANY = 100
"""From so many answers on it is no use to wait."""
_SHARED = "SELECT s.* FROM json_each(?) AS k CROSS JOIN shared_answers AS s ON s.message_id = k.value"
_OF_SESSION = """
SELECT a.message_id FROM usage_groups AS g JOIN answers AS a ON a.grp = g.id WHERE g.session = ?1
UNION SELECT message_id FROM shared_answers WHERE session = ?1
"""
_INSERT_ANSWER = "INSERT INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
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
_Said = tuple[str, SightingRecord]
"""What a source says about an answer."""


class _Kept(Struct, frozen=True, gc=False):
    """An answer that is there."""

    id: int
    message: str
    group: int
    time: int | None
    values: tuple[int, ...]


class _Seen(Struct, frozen=True, gc=False):
    """What a source says about an answer, and whose its session is."""

    session: int
    owner: str
    person: str | None
    shared: bool
    source: str
    record: SightingRecord


class _Answer(Struct, frozen=True, gc=False):
    """An answer, as it stands in the tables."""

    message: str
    group: tuple[Any, ...]
    """Session, session's id, model, agent, skill, server, terms without a price, and for whom it counts."""
    time: int | None
    values: tuple[int, ...]
    """Flags, tokens by kind, searches, cost, savings."""

    def count_for(self, audience: int) -> _Answer:
        """Return it as it counts for some."""
        return _Answer(self.message, (*self.group[:-1], audience), self.time, self.values)


class UsageKeeper:
    """Keeps the tables of usage of one writing connection up."""

    def __init__(self, connection: apsw.Connection, segments: SegmentCache, numbers: Numbers) -> None:
        self._connection = connection
        self._segments = segments
        self._numbers = numbers
        self._charger = Charger()
        self._groups: dict[tuple[Any, ...], int] = {}
        self._stale: dict[str, dict[int, list[_Said]]] = {}
        """Answers that have to be elected anew, with all that some sessions say of them by now."""

    def reset(self) -> None:
        """Forget what was learned: it may have been rolled back."""
        self._groups.clear()
        self._stale.clear()

    def note(self, session: int, usage: Iterable[_Said], *, is_whole: bool) -> None:
        """Note what all files of a session say about some answers; if it is whole, there are no others."""
        found: dict[str, list[_Said]] = {}
        for source, record in usage:
            found.setdefault(record.message_id, []).append((source, record))
        if is_whole:
            for (message,) in self._connection.execute(_OF_SESSION, (session,)):
                found.setdefault(message, [])
        for message, said in found.items():
            self._stale.setdefault(message, {})[session] = said

    def affect(self, session: int) -> None:
        """Note that a session is somebody else's, or shared with others: what it has in common may move."""
        query = "SELECT message_id FROM shared_answers WHERE session = ?"
        for (message,) in self._connection.execute(query, (session,)):
            self._stale.setdefault(message, {})

    def report(self, session: int, summary: bytes | None) -> None:
        """Keep what the program itself says that a session cost, which stands in its summary."""
        self._connection.execute("DELETE FROM reported_costs WHERE session = ?", (session,))
        found = None if summary is None else read_reported(summary)
        if found is not None:
            amounts = format(found.cost_usd, "f"), format(found.computed_usd, "f")
            cells = session, pack_text(found.session), found.source, *amounts
            self._connection.execute("INSERT INTO reported_costs VALUES (?, ?, ?, ?, ?)", cells)

    def recount(self) -> None:
        """Throw away what is there, and count everything anew, by the price list that is installed."""
        tables = ("answers", "usage_rollup", "usage_groups", "usage_prices", "reported_costs", "shared_answers")
        for table in tables:
            self._connection.execute(f"DELETE FROM {table}")
        self.reset()
        self._count_versions({_ALL})
        summaries = "SELECT session, summary_length, CAST(summary AS BLOB) FROM summaries"
        rows: list[tuple[Any, ...]] = self._connection.execute(summaries).fetchall()
        for session, length, data in rows:
            self.report(session, decompress(data, length))
        rows = self._connection.execute("SELECT id FROM sessions ORDER BY id").fetchall()
        for (session,) in rows:
            self.note(session, self._list_said(session), is_whole=False)
            self.settle()

    def is_outdated(self) -> bool:
        """Tell whether the costs are by another price list than the one that is installed, or missing."""
        found = self._connection.execute("SELECT list, version FROM usage_prices").fetchone()
        if found is None:
            query = "SELECT 1 FROM segments WHERE sightings > 0 LIMIT 1"
            return bool(self._connection.execute(query).fetchall())
        return bool(found[0] != identify_list() and found[1] != find_table().version)

    def settle(self) -> None:
        """Elect anew what the transaction concerns, before its end."""
        concerned: set[int] = set()
        while self._stale:  # a part at a time: a long session has many
            some = [*islice(self._stale, _AT_ONCE)]
            concerned |= self._settle({message: self._stale.pop(message) for message in some})
        if concerned:
            self._count_versions(concerned)

    def _settle(self, stale: dict[str, dict[int, list[_Said]]]) -> set[int]:
        """Elect some answers anew; return the sessions of which others have changed."""
        kept, homes = self._list_kept(stale)
        self._read_others(stale, homes)
        owners = self._find_owners({session for said in stale.values() for session in said})
        new: list[tuple[Any, ...]] = []
        gone: list[_Kept] = []
        concerned: set[int] = set()
        for message, said in stale.items():
            seen = [_Seen(session, *owners[session], *each) for session, some in said.items() for each in some]
            before = kept.get(message, [])
            after = [self._pack(answer) for answer in self._elect_all(message, seen)]
            gone += [
                each for each in before if (each.message, each.group, each.time, *each.values) not in after
            ]
            there = {(each.message, each.group, each.time, *each.values) for each in before}
            new += [cells for cells in after if cells not in there]
            sessions = {each.session for each in seen}
            if there and there != set(after):
                concerned |= sessions
            self._note_shared(message, homes.get(message, set()), sessions)
        self._connection.executemany("DELETE FROM answers WHERE id = ?", ((each.id,) for each in gone))
        self._insert(new)
        self._add_up({(each.group, _slot_of(each.time)) for each in gone}, new)
        self._drop_groups({each.group for each in gone})
        if new:
            self._record_prices()
        return concerned

    def _insert(self, answers: Sequence[tuple[Any, ...]]) -> None:
        [(waiting,)] = self._connection.execute(f"SELECT count(*) FROM answers WHERE {IS_NEW}")
        is_new = len(answers) < _MANY and waiting + len(answers) <= _NEW
        if waiting and answers and not is_new:
            self._connection.execute(f"UPDATE answers SET is_new = 0 WHERE {IS_NEW}")
        self._connection.executemany(_INSERT_ANSWER, ((*cells, is_new) for cells in answers))

    def _list_kept(self, messages: Collection[str]) -> tuple[dict[str, list[_Kept]], dict[str, set[int]]]:
        """Return the answers that are there, and the sessions that are known to tell of each."""
        wanted = json.encode([*messages]).decode()
        kept: dict[str, list[_Kept]] = {}
        homes: dict[str, set[int]] = {}
        for session, number, message, group, time, *values, _ in self._connection.execute(_KEPT, (wanted,)):
            kept.setdefault(message, []).append(_Kept(number, message, group, time, tuple(values)))
            homes.setdefault(message, set()).add(session)
        for message, session in self._connection.execute(_SHARED, (wanted,)):
            homes.setdefault(message, set()).add(session)
        return kept, homes

    def _read_others(self, stale: dict[str, dict[int, list[_Said]]], homes: dict[str, set[int]]) -> None:
        """Add what sessions say that nothing is new of."""
        wanted: dict[int, set[str]] = {}
        for message, said in stale.items():
            for session in homes.get(message, set()) - said.keys():
                wanted.setdefault(session, set()).add(message)
        for session, messages in wanted.items():
            for source, record in self._list_said(session):
                if record.message_id in messages:
                    stale[record.message_id].setdefault(session, []).append((source, record))

    def _list_said(self, session: int) -> Iterator[_Said]:
        """Yield what the files of a session say about usage, as their segments have it."""
        query = """
        SELECT s.source, g.source, g.number, g.stamp FROM sources AS s JOIN segments AS g ON g.source = s.id
        WHERE s.session = ? AND g.sightings > 0 ORDER BY s.source, g.number
        """
        rows: list[tuple[Any, ...]] = self._connection.execute(query, (session,)).fetchall()
        for source, *key in rows:
            for record in self._segments.load(self._connection, tuple(key)).sightings:
                yield source, record

    def _find_owners(self, sessions: Collection[int]) -> dict[int, tuple[str, str | None, bool]]:
        query = """
        SELECT e.id, e.owner, a.person, a.shared FROM json_each(?) AS k
        CROSS JOIN sessions AS e ON e.id = k.value
        LEFT JOIN access AS a ON a.session = e.id
        """
        rows = self._connection.execute(query, (json.encode([*sessions]).decode(),))
        return {session: (owner, person, bool(shared)) for session, owner, person, shared in rows}

    def _note_shared(self, message: str, before: Collection[int], sessions: set[int]) -> None:
        """Keep which sessions tell of an answer, if they are several."""
        if len(sessions) > 1:
            self._connection.executemany(
                "INSERT OR IGNORE INTO shared_answers VALUES (?, ?)", ((message, each) for each in sessions)
            )
        left = before if len(sessions) < 2 else set(before) - sessions
        self._connection.executemany(
            "DELETE FROM shared_answers WHERE message_id = ? AND session = ?",
            ((message, each) for each in left),
        )

    def _elect_all(self, message: str, seen: Sequence[_Seen]) -> list[_Answer]:
        """Return the answers of all persons who have a message."""
        persons: dict[tuple[str, str | None], list[_Seen]] = {}
        for each in seen:
            persons.setdefault((each.owner, each.person), []).append(each)
        return [answer for own in persons.values() for answer in self._elect_of_person(message, own)]

    def _elect_of_person(self, message: str, seen: Sequence[_Seen]) -> list[_Answer]:
        """Return the answer of all that one person's sessions say of a message.

        Others see only what is shared. So there is one more of those sessions alone, if it is another one.
        """
        whole = self._elect(message, seen)
        others = [each for each in seen if each.shared]
        if len(others) in (0, len(seen)):
            return [whole]
        told = self._elect(message, others)
        if told == whole:
            return [whole]
        is_told = any(each.session == whole.group[0] for each in others)
        return [whole.count_for(_FOR_WHOLE) if is_told else whole, told.count_for(_FOR_OTHERS)]

    def _elect(self, message: str, seen: Sequence[_Seen]) -> _Answer:
        if len(seen) == 1:  # as nearly always: what is said once needs no election
            [only] = seen
            said = only.record
            tokens = Tokens(
                said.input,
                said.output,
                said.cache_read,
                said.cache_write_5m,
                said.cache_write_1h,
                said.web_searches,
            )
            terms = Terms(said.service_tier, said.speed, said.inference_geo)
            behalf = said.agent or said.agent_id, said.skill, said.mcp_server
            return self._build(message, only, said.time, said.model, tokens, terms, behalf, said.ended)
        fold = SightingFold()
        for each in seen:
            fold.add_sighting(each.record.unpack(each.source))
        [found] = fold.list_messages()
        home = found.source, found.session
        owner = next(each for each in seen if (each.source, each.record.session_id) == home)
        on = found.attribution
        time = None if found.time is None else to_microseconds(found.time)
        behalf = on.agent or on.agent_id, on.skill, on.mcp_server
        return self._build(message, owner, time, found.model, found.tokens, found.terms, behalf, found.complete)

    def _build(
        self,
        message: str,
        owner: _Seen,
        time: int | None,
        model: str | None,
        tokens: Tokens,
        terms: Terms,
        behalf: tuple[str | None, ...],
        complete: bool,
    ) -> _Answer:
        charge = self._charger.find_charge(model, time, tokens, terms)
        cost, saved, lacking = 0, 0, ""
        if charge is not None:
            cost, saved = (max(-_MOST, min(each, _MOST)) for each in (charge.cost, charge.saved))
            lacking = join_terms(charge.unpriced_terms)
        flags = (0 if complete else 1) | (2 if charge is None else 0)
        words = [self._numbers[word] or 0 for word in (owner.record.session_id, model, *behalf)]
        return _Answer(
            message, (owner.session, *words, lacking, _FOR_ALL), time, (flags, *astuple(tokens), cost, saved)
        )

    def _pack(self, answer: _Answer) -> tuple[Any, ...]:
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
            cell = self._sum_kept(*place) if is_known else _sum_cell(come[place])
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
            return _sum_cell(self._list_cell(group, slot, f"time, flags, {', '.join(_SUMMED)}"))
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


def _sum_cell(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
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
