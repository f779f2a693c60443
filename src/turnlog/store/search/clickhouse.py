"""Search where ClickHouse has the index and PostgreSQL all else: one proposes, one tells what is there.

A text has one row, in the order in which texts are found, with its words in an array that has an index. Rows
are read newest first, as far as they are needed, and the index tells without reading words which of them may
match. Nothing of that is believed: PostgreSQL is asked, for each file and each hook delivery that is proposed,
whether it is there in this generation, and whether the viewer may see it. So what was forgotten, rewritten or
taken back is out of sight at once, however far the index lags; what is new is not found before it is there.

The catalogue's transactions only note what has changed (`catalogue.outbox`). `fill` sends it: each row is told
apart by where its text stands, so what is sent twice is there once. Until the index has everything that there
was when it was added to an archive, PostgreSQL's own index is kept up as well, and asked.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from turnlog.errors import LostStoreError, StoreError
from turnlog.store.batch import TextFact
from turnlog.store.catalogue.archive import CatalogueArchive, LineReader
from turnlog.store.catalogue.database import Connection, Database
from turnlog.store.catalogue.hooks import list_delivery_texts
from turnlog.store.catalogue.outbox import (
    Entry,
    EntryKind,
    add_entries,
    delete_entries,
    finish_filling,
    list_file_texts,
    list_files,
    list_session_usage,
    measure_backlog,
    read_state,
    refill,
    take_entries,
    wait_for_gone,
)
from turnlog.store.clickhouse import ABOUT, TEXTS, USAGE, ClickHouse, MissingIndexError, Row
from turnlog.store.clickhouse_usage import build_usage_rows
from turnlog.store.model import Scope
from turnlog.store.search.index import HOOKS, RANKED, Fragment, TextRows, TextScan, build_wanted, list_asked
from turnlog.store.search.language import Query, Term
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import Cancelled, Proposal, TextKey, stop_if
from turnlog.store.search.postgres import PostgresTextIndex, build_clause, join_clauses, split_cell
from turnlog.store.search.text_context import TextContext
from turnlog.store.search.texts import KINDS

logger = logging.getLogger("turnlog.store")

_ORDINALS = 1 << 22
"""A text's place is that of its line, times this, and which passage of the line it is."""
_DELIVERIES = 1 << 62
"""What stands for the generation of texts of hook deliveries: of what happened at once, they come first."""
_MOST_COUNTED = 255
_MOST_PARTS = 500
"""How many words a fragment may stand for."""
_FEW = 5000
"""Up to so many files their texts are listed."""
_OWN_FILES = """
SELECT s.newest FROM sources AS s WHERE s.owner = ? AND s.kind IN ('transcript', 'agent') LIMIT ?
"""
_SEEN_FILES = """
SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source AND s.newest = g.id
WHERE s.owner = ? AND g.id IN @@ints(?)
"""
_SEEN_DELIVERIES = "SELECT d.id FROM hook_deliveries AS d WHERE d.owner = ? AND d.id IN @@ints(?)"


class ClickHouseTextIndex(PostgresTextIndex):
    """An index outside the database, which is filled from the outbox."""

    def __init__(self, server: ClickHouse, database: Database) -> None:
        self.server = server
        self._database = database
        self._archive = CatalogueArchive(database)
        self._is_made = False
        self._noted: int | None = None
        """Up to which entry everything was noted for an index that is empty."""

    def clear(self, connection: Any) -> None:
        """Have everything sent anew."""
        super().clear(connection)
        refill(connection)

    def write(self, connection: Any, generation: int, texts: Iterable[TextFact], *, start: int = 0) -> None:
        """Note that a generation has other texts from a line on."""
        if generation == HOOKS:
            texts = [*texts]
            add_entries(connection, EntryKind.DELIVERY, (text.number for text in texts))
        else:
            add_entries(connection, EntryKind.TEXTS, [generation], start)
        if not read_state(connection).is_filled:
            super().write(connection, generation, texts)

    def delete(self, connection: Any, generations: Iterable[int]) -> None:
        """Note that all texts of some generations are gone."""
        gone = [*generations]
        add_entries(connection, EntryKind.TEXTS_GONE, gone)
        super().delete(connection, gone)

    def delete_lines(self, connection: Any, generation: int, numbers: Iterable[int]) -> None:
        """Note that hook deliveries are gone."""
        gone = [*numbers]
        add_entries(connection, EntryKind.DELIVERY_GONE, gone)
        super().delete_lines(connection, generation, gone)

    def check(self, connection: Any, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how the texts of a generation differ from what they should be, as far as that was sent."""
        state = read_state(connection)
        if not state.is_filled:
            return super().check(connection, generation, texts)
        if connection.execute("SELECT 1 FROM outbox WHERE target = ? LIMIT 1", (generation,)):
            return []
        query = f"""
        SELECT at, block, state, time, cells, words, counts FROM @texts FINAL WHERE generation = {generation:d}
        """
        found = {row[0]: row[1:] for row in self.server.query(query)}
        differing = []
        for text in texts:
            wanted = _build_row("", generation, text, 0)[5:]
            at = text.number * _ORDINALS + text.ordinal
            kept = found.pop(at, None)
            if kept is None or (*kept[:2], *kept[3:]) != tuple(wanted) or kept[2] != text.time:
                what = "is missing" if kept is None else "differs"
                differing.append(f"text {text.ordinal + 1} of line {text.number + 1} {what}")
        return [*differing, *(f"a text of line {at // _ORDINALS + 1} should not be there" for at in found)][:20]

    @contextmanager
    def scanning(
        self,
        connection: Any,
        rows: TextRows,
        scope: Scope,
        matcher: Matcher,
        *,
        wanted: int,
        is_ranked: bool,
        cancelled: Cancelled | None,
    ) -> Iterator[TextScan]:
        """Propose texts for a query."""
        if not read_state(connection).is_filled:
            given = {"wanted": wanted, "is_ranked": is_ranked, "cancelled": cancelled}
            with super().scanning(connection, rows, scope, matcher, **given) as scan:  # type: ignore[arg-type]
                yield scan
        else:
            context = TextContext(rows, matcher)
            yield IndexScan(
                self.server, connection, scope, matcher.query, context, wanted, cancelled, is_ranked=is_ranked
            )

    def fill(self, connection: Connection) -> bool:
        """Send what is noted of one shard, in the transaction that takes it; return whether there was any."""
        try:
            if not self._prepare(connection):
                return True
            entries = take_entries(connection)
            if not entries:
                self._check(connection)
                return finish_filling(connection) or self._empty_own(connection)
            self._send(entries)
        except LostStoreError as error:
            if isinstance(error, MissingIndexError):
                self._is_made = False  # somebody emptied it: the next one fills it again
            logger.warning("The index is not filled just now: %s", error)
            raise
        delete_entries(connection, entries)
        return True

    def forget(self, connection: Connection) -> None:
        """Delete at once what is gone, whoever noted it."""
        self.server.make()
        entries = wait_for_gone(connection)
        if entries:
            self._send(entries)
            delete_entries(connection, entries)

    def _prepare(self, connection: Connection) -> bool:
        """Make the tables where they are missing; return False if everything is noted now to be sent there.

        An index calls itself ours only when that is committed: before, nobody knows that it is being filled.
        """
        if not self._is_made:
            self.server.make()
            if not self._check(connection):
                state = read_state(connection)
                if self._noted is None or state.fill_to != self._noted:
                    self._noted = refill(connection)
                    return False
                self.server.insert(ABOUT, [(0, state.archive)])
                self._noted = None
            self._is_made = True
        return True

    def check_reachable(self, connection: Connection) -> None:
        """Raise `StoreError` if it cannot be asked, or is of another archive."""
        with suppress(MissingIndexError):
            self._check(connection)

    def _check(self, connection: Connection) -> bool:
        """Raise `StoreError` if it is of another archive; return whether it is of any."""
        found = [name.decode() for (name,) in self.server.query("SELECT archive FROM @about FINAL")]
        if found and found != [read_state(connection).archive]:
            raise StoreError(
                f"{self.server.name} has the index of another archive, or of another state of this one; "
                "name another database, or empty it: `turnlog reindex --force`"
            )
        return bool(found)

    def refill(self, connection: Connection, *, anew: bool) -> None:
        """Have everything sent that there is; `anew` empties the index before that, whatever is in it."""
        if anew:
            self.server.drop()
            self._is_made = False
        self.server.make()
        self._check(connection)
        self._noted = refill(connection)

    def _empty_own(self, connection: Connection) -> bool:
        """Empty PostgreSQL's own index, which is not asked any more; return whether anything was in it."""
        is_left = read_state(connection).is_filled and bool(connection.execute("SELECT 1 FROM texts LIMIT 1"))
        if is_left:
            PostgresTextIndex.clear(self, connection)
        return is_left

    def _send(self, entries: Sequence[Entry]) -> None:
        """Send what entries tell of, as it is now."""
        kinds: dict[EntryKind, dict[int, int]] = {kind: {} for kind in EntryKind}
        for entry in entries:
            known = kinds[entry.kind].get(entry.target, entry.line)
            kinds[entry.kind][entry.target] = min(known, entry.line)
        version = entries[-1].id
        self._delete_texts("generation", [*kinds[EntryKind.TEXTS_GONE]])
        self._delete_texts(
            f"generation = {_DELIVERIES} AND intDiv(at, {_ORDINALS})", [*kinds[EntryKind.DELIVERY_GONE]]
        )
        starts, deliveries = kinds[EntryKind.TEXTS], kinds[EntryKind.DELIVERY]
        with self._database.reading() as connection:
            if starts or deliveries:
                rows = self._list_rows(connection, starts, [*deliveries], version)
                self.server.insert(TEXTS, rows, _weigh)
            if sessions := [*kinds[EntryKind.USAGE]]:
                counted = read_state(connection).counted
                found = list_session_usage(connection, sessions)
                self.server.insert(USAGE, build_usage_rows(found, counted))
                if gone := sorted({*sessions}.difference(row[0] for row in found)):
                    self.server.delete(USAGE, "session IN {gone:Array(Int64)}", {"gone": gone})
        self._prune([generation for generation, start in starts.items() if start == 0], version)

    def _list_rows(
        self, connection: Connection, starts: Mapping[int, int], deliveries: Sequence[int], version: int
    ) -> Iterator[Row]:
        for file in list_files(connection, starts):
            lines = LineReader(self._archive, connection, Scope(file.owner))
            for text in list_file_texts(connection, file, starts[file.generation], lines):
                yield _build_row(file.owner, file.generation, text, version)
        for owner, text in list_delivery_texts(connection, deliveries):
            yield _build_row(owner, _DELIVERIES, text, version)

    def _delete_texts(self, what: str, gone: Sequence[int]) -> None:
        if gone:
            self.server.delete(TEXTS, f"{what} IN {{gone:Array(Int64)}}", {"gone": [*gone]})

    def _prune(self, generations: Sequence[int], version: int) -> None:
        """Delete what older rules made of files that were sent as a whole."""
        older = f"generation IN {{some:Array(Int64)}} AND version < {version:d}"
        if generations and self.server.query(
            f"SELECT 1 FROM @texts WHERE {older} LIMIT 1", {"some": [*generations]}
        ):
            self.server.delete(TEXTS, older, {"some": [*generations]})


def _weigh(row: Row) -> int:
    return 64 + sum(map(len, row[8])) + 8 * len(row[8])


def _build_row(owner: str, generation: int, text: TextFact, version: int) -> Row:
    """Return a text as the columns of `TEXTS` have it."""
    counted: Counter[str] = Counter()
    cells = 0
    for cell in text.cells:
        counted.update(split_cell(cell))
        cells += 1
    words = sorted(counted)
    counts = [min(counted[word], _MOST_COUNTED) for word in words] if cells > 1 else []
    at = text.number * _ORDINALS + text.ordinal
    state = text.kind * 2 + text.is_error
    return (
        owner,
        text.time,
        generation,
        at,
        version,
        text.block,
        state,
        cells,
        [*map(str.encode, words)],
        counts,
    )


_COLUMNS = "time, generation, at, block, state, cells"
_EACH = "if(empty(counts), arrayWithConstant(length(words), toUInt8(1)), counts)"
_COUNT = f"toInt64(arraySum((word, count) -> if({{}}, count, 0), words, {_EACH}))"
"""In how many cells the words are that fulfil a condition."""
_WALK = f"""
SELECT {_COLUMNS}, {{counts}} FROM @texts
WHERE owner = {{{{owner:String}}}} AND time <= {{{{time:Int64}}}} AND time >= {{{{from:Int64}}}}
AND (time, generation, at) < ({{{{time:Int64}}}}, {{{{generation:Int64}}}}, {{{{at:Int64}}}}) AND {{where}}
ORDER BY owner DESC, time DESC, generation DESC, at DESC LIMIT {{{{size:Int64}}}}
"""
_FIRST = 32
"""How many texts more than are wanted are asked for first; four times as many each time."""
_LARGEST = 16_000
_MOST = (1 << 63) - 1
_NEWEST: TextKey = (_MOST, _MOST, _MOST)


class _Lookup(Struct, frozen=True, gc=False):
    """One term, as the index sees it."""

    words: tuple[str, ...]
    """All of these."""
    parts: tuple[tuple[str, ...], ...]
    """One of each of these."""


class IndexScan:
    """One query's scan of the texts of one owner."""

    texts = RANKED
    """As on PostgreSQL: how many there are would tell of those that are not seen."""

    def __init__(
        self,
        server: ClickHouse,
        connection: Connection,
        scope: Scope,
        query: Query,
        context: TextContext,
        wanted: int,
        cancelled: Cancelled | None,
        *,
        is_ranked: bool,
    ) -> None:
        """Begin with nothing looked at; about so many texts are `wanted`."""
        self.context = context
        self._server = server
        self._connection = connection
        self._scope = scope
        self._cancelled = cancelled
        self._is_missing = False
        self._first = min(wanted + _FIRST, _LARGEST)
        self._values: dict[str, Any] = {"owner": scope.owner}
        lookups = {term: self._build_lookup(term) for term in list_asked(query.root)}
        clauses = [build_clause(query.root, lambda term: self._build_term(lookups[term]))]
        states = context.list_states()
        if len(states) < 2 * len(KINDS):
            clauses.append("state IN {states:Array(UInt8)}")
            self._values["states"] = states
        files = self._list_files()
        if files is not None:
            clauses.append("generation IN {files:Array(Int64)}")
            self._values["files"] = files
        self._since, until = context.limits
        if until is not None:
            clauses.append("time < {until:Int64}")
            self._values["until"] = min(until, _MOST)
        counts = self._build_counts([*lookups.values()]) if is_ranked else "[]"
        self._statement = _WALK.format(counts=counts, where=join_clauses(clauses))

    def propose(self, before: TextKey | None) -> Iterator[Proposal]:
        """Yield texts that may match and come behind `before`, in order."""
        key, size = _NEWEST if before is None else before, self._first
        while True:
            stop_if(self._cancelled)
            time_us, generation, at = (max(-_MOST, min(number, _MOST)) for number in key)
            place = {
                "time": time_us,
                "generation": generation,
                "at": at,
                "from": self._since or -_MOST,
                "size": size,
            }
            try:
                found = self._server.query(self._statement, {**self._values, **place})
            except MissingIndexError:
                self._is_missing = True
                return
            yield from self._choose(found)
            if len(found) < size:
                return
            key, size = found[-1][:3], min(4 * size, _LARGEST)

    def _choose(self, rows: Sequence[Row]) -> Iterator[Proposal]:
        """Yield those of some texts, each once, whose file or delivery is there and may be seen."""
        seen = self._list_seen(_SEEN_FILES, {row[1] for row in rows} - {_DELIVERIES})
        deliveries = {row[2] // _ORDINALS for row in rows if row[1] == _DELIVERIES}
        told = self._list_seen(_SEEN_DELIVERIES, deliveries)
        last = None
        for time_us, generation, at, block, state, cells, counts in rows:
            key = time_us, generation, at
            number, ordinal = divmod(at, _ORDINALS)
            generation = HOOKS if generation == _DELIVERIES else generation
            is_there = number in told if generation == HOOKS else generation in seen
            is_asked = self.context.generations is None or generation in self.context.generations
            if is_there and is_asked and key != last:
                last = key  # it may have been sent twice, and not be merged yet
                kind, is_error = state >> 1, bool(state & 1)
                yield Proposal(
                    key, generation, number, ordinal, block, kind, is_error, time_us, cells, tuple(counts)
                )

    @property
    def backlog(self) -> int:
        """What the index has yet to learn, in entries."""
        return max(measure_backlog(self._connection).entries, int(self._is_missing))

    def _list_seen(self, query: str, numbers: Iterable[int]) -> set[int]:
        asked = sorted(numbers)
        return {n for (n,) in self._connection.execute(query, (self._scope.owner, asked))} if asked else set()

    def _list_files(self) -> list[int] | None:
        """Return the files that may have hits, if not everything is seen or asked for and they are few."""
        kept = self.context.generations
        if kept is not None:
            return sorted(_DELIVERIES if n == HOOKS else n for n in kept) if len(kept) <= _FEW else None
        if self._scope.viewer is None:
            return None
        found = [n for (n,) in self._connection.execute(_OWN_FILES, (self._scope.owner, _FEW + 1))]
        return [*found, _DELIVERIES] if len(found) <= _FEW else None

    def _build_lookup(self, term: Term) -> _Lookup:
        wanted = build_wanted(term)
        parts = [found for each in wanted.fragments if (found := self._list_words(each)) is not None]
        return _Lookup(tuple(dict.fromkeys((*wanted.words, *wanted.beginnings))), tuple(parts))

    def _list_words(self, fragment: Fragment) -> tuple[str, ...] | None:
        """Return the words that a fragment may be a part of; None if they are too many."""
        escaped = fragment.text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        pattern = f"{'%' if fragment.open_left else ''}{escaped}{'%' if fragment.open_right else ''}"
        try:
            found = self._server.list_words(pattern, _MOST_PARTS + 1)
        except MissingIndexError:
            return None
        return tuple(sorted(found)) if len(found) <= _MOST_PARTS else None

    def _build_term(self, lookup: _Lookup) -> str:
        clauses = []
        if lookup.words:
            clauses.append(f"hasAll(words, {self._bind([*lookup.words])})")
        for part in lookup.parts:
            clauses.append(f"hasAny(words, {self._bind([*part])})" if part else "false")
        return join_clauses(clauses)

    def _build_counts(self, lookups: Sequence[_Lookup]) -> str:
        """Return an array of in how many cells of a text each term may be."""
        counts = []
        for lookup in lookups:
            found = ["toInt64(cells)"]
            found += [_COUNT.format(f"word = {self._bind(word)}") for word in lookup.words]
            found += [_COUNT.format(f"has({self._bind([*part])}, word)") for part in lookup.parts]
            counts.append(found[0] if len(found) == 1 else f"least({', '.join(found)})")
        return f"[{', '.join(counts)}]"

    def _bind(self, value: str | list[str]) -> str:
        name = f"words{len(self._values)}"
        self._values[name] = value
        return f"{{{name}:{'String' if isinstance(value, str) else 'Array(String)'}}}"
