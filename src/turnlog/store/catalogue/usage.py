"""Usage: what can be asked about it, and keeping it up.

Whatever a transaction changes, the answers that it concerns are elected anew at its end, under the feed's lock:
of two that tell of one answer, the second sees what the first said. What files say about answers is in their
segments. An answer that stands in one session alone, as nearly all do, is told by that session's batch;
`shared_answers` has those that stand in several, and what the other sessions say is read from their segments.
Where the answer differs from what is there, it is replaced, and the quarters of an hour that it was or is in
are added up again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Any

from msgspec import DecodeError, Struct
from msgspec.structs import astuple

from turnlog.errors import StoreError
from turnlog.instants import to_microseconds
from turnlog.store.catalogue.database import Connection, Database, Row, hash_text, pack_text, unpack_text
from turnlog.store.catalogue.feed import lock_feed
from turnlog.store.catalogue.segments import SegmentCache
from turnlog.store.frames import open_compressed
from turnlog.store.model import Scope
from turnlog.store.usage_cells import AMOUNTS, FULL, QUARTER, Detail, Home, UsageCell, join_terms
from turnlog.store.usage_report import (
    NO_SLOT,
    AnswerCell,
    AnswerUse,
    CallUse,
    ReportedCost,
    UsageGroup,
    build_answer,
    build_call_use,
    build_stored_cell,
    choose_reported,
    read_reported,
)
from turnlog.transcripts.segments import SightingRecord
from turnlog.transcripts.usage.prices import Charger, PriceTable, find_table, identify_list
from turnlog.transcripts.usage.tokens import PricingTerms, SightingFold, Tokens

_GROUPS = """
SELECT g.id, e.id, g.session_id, g.model, g.agent, g.skill, g.mcp_server, g.terms
FROM usage_groups AS g JOIN sessions AS e ON e.id = g.session WHERE e.owner = ? AND g.audience <> 2
"""
_HOMES = "SELECT id, key, origin, person, project, title FROM sessions WHERE owner = ?"
_SLOTS = f"SELECT min(slot), max(slot) FROM usage_rollup WHERE slot <> {NO_SLOT}"
_FIELDS = {
    "home": "e.id", "project": "e.project", "person": "e.person", "machine": "e.origin",
    "session": "g.session_id", "model": "g.model", "agent": "g.agent", "skill": "g.skill",
    "mcp_server": "g.mcp_server", "terms": "g.terms",
}  # fmt: skip
_ALWAYS = frozenset({"model", "terms"})
_SUMS = ", ".join(f"sum(r.{name})" for name in AMOUNTS)
_CELLS = f"""
SELECT {{columns}}, min(r.slot), {_SUMS}, min(r.first), max(r.last)
FROM usage_rollup AS r JOIN usage_groups AS g ON g.id = r.grp JOIN sessions AS e ON e.id = g.session
WHERE e.owner = ? AND g.audience <> 2 {{where}} GROUP BY {{groups}}
"""
SumCells = Callable[[Connection, Scope, Detail], list[Row]]
"""Adds up answers, as `sum_cells` does."""
Limits = tuple[int | None, int | None]
"""The first and the last quarter of an hour."""
_ANSWERS = """
SELECT grp, message_id, time, flags, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches,
    cost, saved
FROM answers
"""
_CALLS = """
SELECT s.source, e.person, g.source, g.number, g.stamp FROM sources AS s
JOIN segments AS g ON g.source = s.id JOIN sessions AS e ON e.id = s.session
WHERE s.owner = ? AND g.calls > 0 ORDER BY s.source, g.number
"""
_REPORTED = """
SELECT r.session_id, r.kind, r.cost, r.computed FROM reported_costs AS r JOIN sessions AS e ON e.id = r.session
WHERE e.owner = ?
"""
_FILES = "SELECT count(*) FROM sources WHERE owner = ? AND kind IN ('transcript', 'agent')"
# The answers come first: whose they are is looked at for these alone, and not for all that a viewer sees.
_FIND = """
WITH found AS MATERIALIZED (
    SELECT grp, message_id, input, output, cache_read, cache_write_5m + cache_write_1h AS cache_write,
        CASE WHEN flags & 2 = 0 THEN cost END AS cost
    FROM answers WHERE hash IN @@ints(?)
)
SELECT a.message_id, a.input, a.output, a.cache_read, a.cache_write, a.cost
FROM found AS a JOIN usage_groups AS g ON g.id = a.grp JOIN sessions AS e ON e.id = g.session
WHERE g.id IN (SELECT grp FROM found) AND e.owner = ? AND g.audience <> 2
ORDER BY a.message_id, a.output, e.key DESC
"""


class CatalogueUsage:
    """The usage of one owner's sessions."""

    def __init__(self, database: Database, segments: SegmentCache, scope: Scope, sum_cells: SumCells) -> None:
        self._database = database
        self._segments = segments
        self._scope = scope
        self._sum_cells = sum_cells

    def list_cells(self, detail: Detail = FULL) -> list[UsageCell]:
        """Return what answers used, added up where they are as far as nobody has to tell them apart."""

        def work(connection: Connection) -> list[UsageCell]:
            rows = self._sum_cells(connection, self._scope, detail)
            homes = dict(self._list_homes(connection)) if "home" in detail.fields else {}
            texts, most = _Texts(), len(AMOUNTS)
            return [
                build_stored_cell(
                    UsageGroup(
                        homes.get(home) or Home("", texts[project], None, person, texts[machine]),
                        texts[session] or "",
                        *map(texts.__getitem__, words[:5]),
                    ),
                    words[5],
                    (*map(int, words[6 : 6 + most]), *words[6 + most :]),
                )
                for _, home, project, person, machine, session, *words in rows
            ]

        return self._database.read(work, self._scope)

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""

        def work(connection: Connection) -> list[AnswerCell]:
            groups = self._load_groups(connection)
            return [
                AnswerCell(unpack_text(message), build_answer(groups[group], time, flags, counts))
                for group, message, time, flags, *counts in connection.execute(_ANSWERS)
                if group in groups
            ]

        return self._database.read(work, self._scope)

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""

        def work(connection: Connection) -> list[CallUse]:
            return [
                build_call_use(source, call, person)
                for source, person, *key in connection.execute(_CALLS, (self._scope.owner,))
                for call in self._segments.load(connection, (key[0], key[1], key[2])).calls
            ]

        return self._database.read(work, self._scope)

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost; of copies, the one that has run furthest."""
        return choose_reported(
            ReportedCost(unpack_text(session), kind, Decimal(cost), Decimal(computed))
            for session, kind, cost, computed in self._ask(_REPORTED, self._scope.owner)
        )

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        for name, version, newest in self._ask("SELECT name, version, newest FROM usage_prices"):
            return PriceTable(name, version, date.fromisoformat(newest))
        return None

    def count_files(self) -> int:
        """Return how many files of lines there are."""
        [(count,)] = self._ask(_FILES, self._scope.owner)
        return int(count)

    def find_answers(self, ids: Collection[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        wanted = frozenset(ids)
        rows = self._ask(_FIND, [hash_text(each) for each in wanted], self._scope.owner)
        # Several people may have it: what has the most output is nearest to the truth.
        answers = {
            found: AnswerUse(
                message_id=found, input=input, output=output, cache_read=read, cache_write=write, cost=cost
            )
            for message, input, output, read, write, cost in rows
            if (found := unpack_text(message)) in wanted
        }
        return [*answers.values()]

    def find_version(self, key: str) -> int:
        """Return how often answers of a session were counted in another way."""
        query = "SELECT counted FROM sessions WHERE owner = ? AND key IN @@texts(?)"
        return next((int(counted) for (counted,) in self._ask(query, self._scope.owner, [key])), 0)

    def _ask(self, query: str, *values: object) -> list[Row]:
        return self._database.read(lambda connection: connection.execute(query, values), self._scope)

    def _load_groups(self, connection: Connection) -> dict[int, UsageGroup]:
        homes, texts = dict(self._list_homes(connection)), _Texts()
        return {
            number: UsageGroup(homes[session], *map(texts.__getitem__, words))
            for number, session, *words in connection.execute(_GROUPS, (self._scope.owner,))
        }

    def _list_homes(self, connection: Connection) -> Iterator[tuple[int | None, Home]]:
        texts = _Texts()
        for number, key, origin, person, project, title in connection.execute(_HOMES, (self._scope.owner,)):
            yield number, Home(key, texts[project], unpack_text(title), person, texts[origin])


def sum_cells(
    connection: Connection, scope: Scope, detail: Detail, sessions: Sequence[int] | None = None
) -> list[Row]:
    """Return what answers come to, of all sessions or of some, in as few rows as `detail` can do with.

    A row has the period, the number of the session, its project, person and machine, what its lines call it,
    model, agent, skill, MCP server and terms, those that are told apart, then the first quarter of an hour, the
    sums, the first and the last time.
    """
    [limits] = connection.execute(_SLOTS)
    period, values = build_period(detail, limits, "r.slot", "({} + {}) / {}")
    told_apart = detail.fields | _ALWAYS
    columns = [period, *(column if name in told_apart else "NULL" for name, column in _FIELDS.items())]
    groups = [str(at) for at, column in enumerate(columns, 1) if column != "NULL"]
    where = "" if sessions is None else "AND e.id IN @@ints(?)"
    query = _CELLS.replace("{columns}", ", ".join(columns)).replace("{where}", where)
    given = (*values, scope.owner) if sessions is None else (*values, scope.owner, [*sessions])
    try:
        return connection.execute(query.replace("{groups}", ", ".join(groups)), given)
    except StoreError:  # a sum that no column can hold: then nothing is added up
        return connection.execute(query.replace("{groups}", ", ".join((*groups, "r.grp", "r.slot"))), given)


def build_period(detail: Detail, limits: Limits, slot: str, divide: str) -> tuple[str, list[int]]:
    """Return what is the same for all quarters of an hour that may be added up, with the values that it has."""
    first, last = limits
    stretches = [] if first is None or last is None else detail.list_stretches(first, last)
    if not stretches:
        return "NULL", []
    cases, values = "", list[int]()
    for each in reversed(stretches):
        cases += f" WHEN {slot} >= ? THEN " + (
            f"-{slot}" if each.length == 1 else divide.format(slot, "?", "?")
        )
        values += (each.start,) if each.length == 1 else (each.start, each.ahead, each.length)
    return f"CASE{cases} ELSE -{slot} END", values


class _Texts(dict[bytes | None, Any]):
    """What is stored, as text: thousands of groups have the same models and purposes."""

    def __missing__(self, value: bytes | None) -> Any:
        text = self[value] = unpack_text(value)
        return text


_AT_ONCE = 20_000
"""How many answers are elected at once, at most."""
_MOST = (1 << 63) - 1
_FOR_ALL, _FOR_WHOLE, _FOR_OTHERS = 0, 1, 2
"""For whom an answer counts: all who see its session, those who see all of the person's, only others."""
_KEPT = """
SELECT a.id, g.session, a.message_id, a.grp, a.time, a.flags, a.input, a.output, a.cache_read, a.cache_write_5m,
    a.cache_write_1h, a.web_searches, a.cost, a.saved
FROM answers AS a JOIN usage_groups AS g ON g.id = a.grp WHERE a.hash IN @@ints(?)
"""
_OF_SESSION = """
SELECT a.message_id FROM usage_groups AS g JOIN answers AS a ON a.grp = g.id WHERE g.session = ?
UNION SELECT message_id FROM shared_answers WHERE session = ?
"""
_SAID = """
SELECT s.source, g.source, g.number, g.stamp FROM sources AS s JOIN segments AS g ON g.source = s.id
WHERE s.session = ? AND g.sightings > 0 ORDER BY s.source, g.number
"""
_INSERT_ANSWER = """
INSERT INTO answers (hash, message_id, grp, time, flags, input, output, cache_read, cache_write_5m,
    cache_write_1h, web_searches, cost, saved)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_CELL = f"INSERT INTO usage_rollup VALUES ({', '.join('?' * 15)})"
_GROUP = "session, session_id, model, agent, skill, mcp_server, terms, audience"
_AMOUNTS = (
    "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches", "cost", "saved"
)  # fmt: skip
_TABLES = ("answers", "usage_rollup", "usage_groups", "usage_prices", "reported_costs", "shared_answers")
_Place = tuple[int, int]
"""A group and a quarter of an hour."""
_Said = tuple[str, SightingRecord]
"""What a source says about an answer."""


class _Kept(Struct, frozen=True, gc=False):
    """An answer that is there."""

    id: int
    session: int
    cells: tuple[Any, ...]
    """Its group, time, flags and amounts."""

    @property
    def place(self) -> _Place:
        """Where it is counted."""
        return self.cells[0], _slot_of(self.cells[1])


class _Seen(Struct, frozen=True, gc=False):
    """What a source says about an answer, and whose its session is."""

    session: int
    owner: str
    person: str | None
    shared: bool
    source: str
    record: SightingRecord


class _Answer(Struct, frozen=True, gc=False):
    """An answer, as it is to be kept."""

    group: tuple[Any, ...]
    """As the columns of `_GROUP`."""
    time: int | None
    values: tuple[int, ...]
    """Flags and amounts."""

    def count_for(self, audience: int) -> _Answer:
        """Return it as it counts for some."""
        return _Answer((*self.group[:-1], audience), self.time, self.values)


class UsageKeeper:
    """Keeps the tables of usage up, for one transaction."""

    def __init__(
        self,
        connection: Connection,
        segments: SegmentCache,
        charger: Charger,
        on_change: Callable[[Connection, Iterable[int]], object] | None = None,
    ) -> None:
        """Take a transaction; `on_change` is told of the sessions whose usage is another one at its end."""
        self._connection = connection
        self._segments = segments
        self._charger = charger
        self._on_change = on_change
        self._groups: dict[int, dict[tuple[Any, ...], int]] = {}
        """The numbers of groups, by session."""
        self._noted: list[tuple[int, Iterable[_Said], bool]] = []
        self._moved: set[int] = set()

    @property
    def is_stale(self) -> bool:
        """Whether there is anything to elect anew."""
        return bool(self._noted or self._moved)

    def note(self, session: int, usage: Iterable[_Said], *, is_whole: bool) -> None:
        """Note what all files of a session say about some answers; if it is whole, there are no others."""
        self._noted.append((session, usage, is_whole))

    def affect(self, session: int) -> None:
        """Note that a session is somebody else's, or shared with others: what it has in common may move."""
        self._moved.add(session)

    def report(self, session: int, summary: bytes | None, *, is_new: bool) -> None:
        """Keep what the program itself says that a session cost, which stands in its summary."""
        if not is_new:
            self._connection.execute("DELETE FROM reported_costs WHERE session = ?", (session,))
        found = None if summary is None else read_reported(summary)
        if found is not None:
            amounts = format(found.cost_usd, "f"), format(found.computed_usd, "f")
            cells = session, pack_text(found.session), found.source, *amounts
            self._connection.execute("INSERT INTO reported_costs VALUES (?, ?, ?, ?, ?)", cells)

    def recount(self) -> None:
        """Throw away what is there, and count everything anew, by the price list that is installed."""
        lock_feed(self._connection)
        for table in _TABLES:
            self._connection.execute(f"DELETE FROM {table}")
        self._connection.execute("UPDATE sessions SET counted = counted + 1")
        for (session,) in self._connection.execute("SELECT id FROM sessions ORDER BY id"):
            query = "SELECT CAST(data AS @@bytes) FROM summaries WHERE session = ?"
            for (data,) in self._connection.execute(query, (session,)):
                self.report(session, _open_summary(data), is_new=True)
            self.note(session, self._list_said(session), is_whole=False)
            self.settle()

    def settle(self) -> None:
        """Elect anew what the transaction concerns, before its end; the caller has the feed's lock."""
        stale: dict[str, dict[int, list[_Said]]] = {}
        for session, usage, is_whole in self._noted:
            found: dict[str, list[_Said]] = {}
            for source, record in usage:
                found.setdefault(record.message_id, []).append((source, record))
            if is_whole:
                for (message,) in self._connection.execute(_OF_SESSION, (session, session)):
                    found.setdefault(unpack_text(message), [])
            for message, said in found.items():
                stale.setdefault(message, {})[session] = said
        for session in self._moved:
            query = "SELECT message_id FROM shared_answers WHERE session = ?"
            for (message,) in self._connection.execute(query, (session,)):
                stale.setdefault(unpack_text(message), {})
        changed = {session for session, *_ in self._noted} | self._moved
        self._noted.clear()
        self._moved.clear()
        left = iter(stale.items())
        concerned: set[int] = set()
        while some := dict(islice(left, _AT_ONCE)):  # a part at a time: a long session has many
            concerned |= self._settle(some, changed)
        if changed and self._on_change is not None:
            self._on_change(self._connection, changed)
        if concerned:
            # Row by row: before a statement of several rows SQLite has the search index write what it holds.
            query = "UPDATE sessions SET counted = counted + 1 WHERE id = ?"
            self._connection.change_many(query, [(session,) for session in sorted(concerned)])

    def _settle(self, stale: Mapping[str, dict[int, list[_Said]]], changed: set[int]) -> set[int]:
        """Elect some answers anew; return the sessions of which others have changed.

        Those in whose usage they are counted, or were, are added to `changed`.
        """
        places = {message: (hash_text(message), pack_text(message)) for message in stale}
        kept, homes = self._list_kept(places)
        shared = {message: set(sessions) for message, sessions in homes.items()}
        for message, found in kept.items():
            homes.setdefault(message, set()).update(each.session for each in found)
        self._read_others(stale, homes)
        owners = self._find_owners({session for said in stale.values() for session in said})
        new: list[tuple[Any, ...]] = []
        gone: list[_Kept] = []
        concerned: set[int] = set()
        gathered, left = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
        elected = {
            message: self._elect_all(
                [_Seen(session, *owners[session], *each) for session, some in said.items() for each in some]
            )
            for message, said in stale.items()
        }
        self._number_groups(answer.group for answers in elected.values() for answer in answers)
        for message, said in stale.items():
            before = kept.get(message, [])
            after = [self._pack(answer) for answer in elected[message]]
            there = {each.cells for each in before}
            gone += [each for each in before if each.cells not in after]
            changed.update(each.group[0] for each in elected[message])
            place = places[message]
            new += [(*place, *cells) for cells in after if cells not in there]
            sessions = {session for session, some in said.items() if some}
            if there and there != set(after):
                concerned |= sessions
            # Which sessions tell of an answer is kept, if they are several.
            telling, known = sessions if len(sessions) > 1 else set(), shared.get(message, set())
            gathered += [(*place, session) for session in telling - known]
            left += [(*place, session) for session in known - telling]
        changed.update(each.session for each in gone)
        execute, change_many = self._connection.execute, self._connection.change_many
        if gathered:
            change_many("INSERT INTO shared_answers VALUES (?, ?, ?)", gathered)
        if left:
            change_many("DELETE FROM shared_answers WHERE hash = ? AND message_id = ? AND session = ?", left)
        if gone:
            execute("DELETE FROM answers WHERE id IN @@ints(?)", ([each.id for each in gone],))
        if new:
            change_many(_INSERT_ANSWER, new)
            self._record_prices()
        self._add_up({each.place for each in gone}, [cells[2:] for cells in new])
        self._drop_groups({each.cells[0] for each in gone})
        return concerned

    def _list_kept(
        self, messages: Mapping[str, tuple[int, bytes]]
    ) -> tuple[dict[str, list[_Kept]], dict[str, set[int]]]:
        """Return the answers that are there, and the sessions that tell of each that several tell of."""
        hashes = [number for number, _ in messages.values()]
        kept: dict[str, list[_Kept]] = {}
        homes: dict[str, set[int]] = {}
        for number, session, name, *cells in self._connection.execute(_KEPT, (hashes,)):
            if (message := unpack_text(name)) in messages:
                kept.setdefault(message, []).append(_Kept(number, session, tuple(cells)))
        query = "SELECT message_id, session FROM shared_answers WHERE hash IN @@ints(?)"
        for name, session in self._connection.execute(query, (hashes,)):
            if (message := unpack_text(name)) in messages:
                homes.setdefault(message, set()).add(session)
        return kept, homes

    def _read_others(self, stale: Mapping[str, dict[int, list[_Said]]], homes: Mapping[str, set[int]]) -> None:
        """Add what sessions say that nothing is new of."""
        wanted: dict[int, set[str]] = {}
        for message, said in stale.items():
            for session in homes.get(message, set()) - said.keys():
                wanted.setdefault(session, set()).add(message)
        for session, messages in wanted.items():
            # What is damaged there keeps nobody from writing: who repairs it counts these answers again.
            with suppress(DecodeError):
                for source, record in self._list_said(session):
                    if record.message_id in messages:
                        stale[record.message_id].setdefault(session, []).append((source, record))

    def _list_said(self, session: int) -> Iterator[_Said]:
        """Yield what the files of a session say about usage, as their segments have it."""
        for source, *key in self._connection.execute(_SAID, (session,)):
            for record in self._segments.load(self._connection, (key[0], key[1], key[2])).sightings:
                yield source, record

    def _find_owners(self, sessions: Collection[int]) -> dict[int, tuple[str, str | None, bool]]:
        query = "SELECT id, owner, person, is_shared FROM sessions WHERE id IN @@ints(?)"
        rows = self._connection.execute(query, ([*sessions],))
        return {session: (owner, person, bool(shared)) for session, owner, person, shared in rows}

    def _elect_all(self, seen: Sequence[_Seen]) -> list[_Answer]:
        """Return the answers of all persons who have a message."""
        persons: dict[tuple[str, str | None], list[_Seen]] = {}
        for each in seen:
            persons.setdefault((each.owner, each.person), []).append(each)
        return [answer for own in persons.values() for answer in self._elect_of_person(own)]

    def _elect_of_person(self, seen: Sequence[_Seen]) -> list[_Answer]:
        """Return the answer of all that one person's sessions say of a message.

        Others see only what is shared. So there is one more of those sessions alone, if it is another one.
        """
        whole = self._elect(seen)
        others = [each for each in seen if each.shared]
        if len(others) in (0, len(seen)):
            return [whole]
        told = self._elect(others)
        if told == whole:
            return [whole]
        is_told = any(each.session == whole.group[0] for each in others)
        return [whole.count_for(_FOR_WHOLE) if is_told else whole, told.count_for(_FOR_OTHERS)]

    def _elect(self, seen: Sequence[_Seen]) -> _Answer:
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
            terms = PricingTerms(said.service_tier, said.speed, said.inference_geo)
            behalf = said.agent or said.agent_id, said.skill, said.mcp_server
            return self._build(only, said.time, said.model, tokens, terms, behalf, said.ended)
        fold = SightingFold()
        for each in seen:
            fold.add_sighting(each.record.unpack(each.source))
        [found] = fold.list_messages()
        home = found.source, found.session
        owner = next(each for each in seen if (each.source, each.record.session_id) == home)
        on = found.attribution
        time = None if found.time is None else to_microseconds(found.time)
        behalf = on.agent or on.agent_id, on.skill, on.mcp_server
        return self._build(owner, time, found.model, found.tokens, found.terms, behalf, found.complete)

    def _build(
        self,
        owner: _Seen,
        time: int | None,
        model: str | None,
        tokens: Tokens,
        terms: PricingTerms,
        behalf: tuple[str | None, ...],
        complete: bool,
    ) -> _Answer:
        charge = self._charger.find_charge(model, time, tokens, terms)
        cost, saved, lacking = 0, 0, ""
        if charge is not None:
            cost, saved = (max(-_MOST, min(each, _MOST)) for each in (charge.cost, charge.saved))
            lacking = join_terms(charge.unpriced_terms)
        flags = (0 if complete else 1) | (2 if charge is None else 0)
        words = map(pack_text, (owner.record.session_id, model, *behalf, lacking))
        return _Answer((owner.session, *words, _FOR_ALL), time, (flags, *astuple(tokens), cost, saved))

    def _number_groups(self, groups: Iterable[tuple[Any, ...]]) -> None:
        """Find the numbers of groups; those that are missing are made."""
        wanted = set(groups)
        self._load_groups({group[0] for group in wanted} - self._groups.keys())
        missing = [group for group in wanted if group[1:] not in self._groups[group[0]]]
        if missing:
            query = f"INSERT INTO usage_groups ({_GROUP}) VALUES ({', '.join('?' * 8)})"
            self._connection.change_many(query, missing)
            self._load_groups({group[0] for group in missing})

    def _load_groups(self, sessions: Iterable[int]) -> None:
        unknown = sorted(sessions)
        if not unknown:
            return
        self._groups.update((session, {}) for session in unknown)
        query = f"SELECT id, {_GROUP} FROM usage_groups WHERE session IN @@ints(?)"
        for number, session, *cells in self._connection.execute(query, (unknown,)):
            self._groups[session][tuple(cells)] = number

    def _pack(self, answer: _Answer) -> tuple[Any, ...]:
        session, *cells = answer.group
        return self._groups[session][tuple(cells)], answer.time, *answer.values

    def _add_up(self, left: set[_Place], new: Iterable[tuple[Any, ...]]) -> None:
        """Add up the cells that answers have left or have come to."""
        come: dict[_Place, list[tuple[Any, ...]]] = {}
        for group, time, *values in new:
            come.setdefault((group, _slot_of(time)), []).append((time, *values))
        places = {*left, *come}
        if not places:
            return
        query = "SELECT grp, slot FROM usage_rollup WHERE grp IN @@ints(?)"
        groups = sorted({group for group, _ in places})
        # A cell that was not there has no other answers than the new ones.
        known = places.intersection((group, slot) for group, slot in self._connection.execute(query, (groups,)))
        if known:
            self._connection.change_many("DELETE FROM usage_rollup WHERE grp = ? AND slot = ?", known)
        cells = (
            (place, self._sum_kept(*place) if place in known else _sum_cell(come[place])) for place in places
        )
        sums = [(*place, *cell) for place, cell in cells if cell[0]]
        if sums:
            self._connection.change_many(_INSERT_CELL, sums)

    def _sum_kept(self, group: int, slot: int) -> tuple[Any, ...]:
        """Add up a cell where it is: there may be thousands of answers to a quarter of an hour."""
        counts = "count(*), coalesce(sum(flags & 1), 0), coalesce(sum(flags >> 1), 0)"
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in _AMOUNTS)
        try:
            [row] = self._list_cell(group, slot, f"{counts}, {sums}, min(time), max(time)")
        except StoreError:  # a sum that no cell can hold
            return _sum_cell(self._list_cell(group, slot, f"time, flags, {', '.join(_AMOUNTS)}"))
        return *(max(-_MOST, min(int(each), _MOST)) for each in row[:11]), *row[11:]

    def _list_cell(self, group: int, slot: int, columns: str) -> list[Row]:
        query = f"SELECT {columns} FROM answers WHERE grp = ? AND time "
        if slot == NO_SLOT:
            return self._connection.execute(query + "IS NULL", (group,))
        bounds = group, slot * QUARTER, (slot + 1) * QUARTER - 1
        return self._connection.execute(query + "BETWEEN ? AND ?", bounds)

    def _drop_groups(self, groups: Collection[int]) -> None:
        """Delete groups that have no answers any more: what they are called may have to be forgotten."""
        query = """
        DELETE FROM usage_groups WHERE id IN @@ints(?)
        AND NOT EXISTS (SELECT 1 FROM answers WHERE answers.grp = usage_groups.id)
        """
        if groups and self._connection.change(query, ([*groups],)):
            self._groups.clear()

    def _record_prices(self) -> None:
        if not self._connection.execute("SELECT 1 FROM usage_prices"):
            table = find_table()
            cells = identify_list(), table.name, table.version, table.newest.isoformat()
            self._connection.execute("INSERT INTO usage_prices VALUES (?, ?, ?, ?)", cells)


def is_outdated(connection: Connection) -> bool:
    """Tell whether the costs are by another price list than the one that is installed, or missing.

    Of several programs that use one database, the one with the newest prices counts.
    """
    for known, version, newest in connection.execute("SELECT list, version, newest FROM usage_prices"):
        if known == identify_list():
            return False
        table = find_table()  # which takes a third of a second to load
        is_newest = connection.engine == "sqlite" or date.fromisoformat(newest) <= table.newest
        return version != table.version and is_newest
    return bool(connection.execute("SELECT 1 FROM segments WHERE sightings > 0 LIMIT 1"))


def _open_summary(data: bytes) -> bytes | None:
    try:
        return open_compressed(data)
    except ValueError:  # it is damaged, which verification tells
        return None


def _sum_cell(rows: Sequence[Row]) -> tuple[Any, ...]:
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
