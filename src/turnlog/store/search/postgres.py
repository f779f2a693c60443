"""Search on PostgreSQL: its index proposes, the matcher decides.

A text has one row, with the numbers of its words. There is an index by number, and one by time. Two words may
have the same number: then a text is proposed that has no hit, which the matcher finds out. The words themselves
are listed, so that fragments of words can be looked for; the list may have a word twice, if two processes added
it at once, which does no harm and lets nobody wait. Texts lie in the partition of their file's month, those of
hook deliveries in one of their own.

To search, the newest texts are looked at first, a few hundred: a common word fills a page from these. If it
does not, the index lists the texts that have the words, and the newest of these come first. So how much is read
does not depend on what PostgreSQL guesses about how common a word is.

A viewer is proposed what they may see, and nothing else: `generations` and `hook_deliveries` are asked for each
text, and in a viewer's transaction these are views.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from heapq import merge
from itertools import chain, groupby, islice
from typing import Any
from zlib import crc32

import psycopg
from msgspec import Struct

from turnlog.errors import SearchCancelledError, StoreError
from turnlog.store.batch import TextFact
from turnlog.store.model import Scope
from turnlog.store.search.index import (
    HOOKS,
    RANKED,
    Fragment,
    TextRows,
    TextScan,
    build_wanted,
    list_asked,
)
from turnlog.store.search.language import And, Node, Or, Query, Term
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.normal_form import is_spaceless
from turnlog.store.search.paging import (
    Cancelled,
    Counts,
    Proposal,
    TextKey,
    stop_if,
)
from turnlog.store.search.text_context import TextContext
from turnlog.store.search.texts import KINDS

# What is new waits beside an index until there is enough to merge; with the usual 4 MB for each month, the
# indexes would be twice as large, and a search would have to read all of it.
_TABLES = f"""
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;
CREATE SEQUENCE text_ids;              -- no number is given twice: cursors name them
CREATE TABLE texts (
    time        bigint NOT NULL,       -- microseconds since 1970, 0 if it has none
    id          bigint NOT NULL DEFAULT nextval('text_ids'),
    generation  bigint NOT NULL,       -- {HOOKS} for hook deliveries
    number      bigint NOT NULL,       -- of its line; of a hook delivery, its own
    ordinal     integer NOT NULL,
    block       integer NOT NULL,
    cells       integer NOT NULL,      -- how long it is
    state       smallint NOT NULL,     -- its kind, times two, and one for an error
    owner       text COLLATE "C" NOT NULL,
    words       integer[] NOT NULL,    -- their numbers, each once and in order
    counts      bytea                  -- in how many cells each word is, up to 255; NULL if there is one cell
) PARTITION BY RANGE (generation);
CREATE INDEX texts_by_time ON texts (owner, time, id);
CREATE INDEX texts_by_line ON texts (generation, number);
CREATE INDEX texts_by_word ON texts USING gin (words) WITH (gin_pending_list_limit = 256);
CREATE TABLE texts_hooks PARTITION OF texts FOR VALUES FROM (MINVALUE) TO ({HOOKS + 1});
CREATE TABLE text_words (              -- but for those of scripts without spaces
    number  integer NOT NULL,
    word    text COLLATE "C" NOT NULL
);
CREATE INDEX text_words_by_number ON text_words (number);
CREATE INDEX text_words_by_fragment ON text_words
    USING gin (word gin_trgm_ops) WITH (gin_pending_list_limit = 256);
CREATE TABLE text_words_gone (         -- numbers of words that some text lost: nobody may have them any more
    number  integer NOT NULL
);
CREATE TABLE text_state (
    settled  bigint NOT NULL           -- up to which text everything was put in order
);
INSERT INTO text_state VALUES (0);
"""
_COUNTED = "texts, text_words, generations, sources, sessions, hook_deliveries"
"""The tables that searches are planned for by how much is in them."""
_MUCH = 2000
"""So many new texts are worth putting everything in order."""
_DELETE = """
WITH gone AS (DELETE FROM texts AS t WHERE {} RETURNING t.words)
INSERT INTO text_words_gone SELECT DISTINCT unnest(words) FROM gone
"""
_REPORTING = 150000
"""The first version of the server that counts at once if it is asked to."""
_LOCK = "words"
_LOCK_NUMBER = f"hashtextextended('turnlog {_LOCK}', 0)"
"""Whoever adds words has this lock together with others, and whoever deletes words has it alone: so no word
goes that a text has which is just being written."""


class PostgresTextIndex:
    """The index in tables of a PostgreSQL database."""

    sharding = None

    def create(self, connection: Any) -> None:
        """Make the tables."""
        connection.execute(_TABLES)

    def clear(self, connection: Any) -> None:
        """Empty them."""
        connection.execute("TRUNCATE texts, text_words, text_words_gone")

    def write(self, connection: Any, generation: int, texts: Iterable[TextFact], *, start: int = 0) -> None:
        """Add texts behind those that a generation has."""
        _find_writer(connection).write(generation, texts)

    def flush(self, connection: Any) -> None:
        """Send what was written and is still held here."""
        _find_writer(connection).flush()

    def delete(self, connection: Any, generations: Iterable[int]) -> None:
        """Delete all texts of some generations."""
        self.flush(connection)
        connection.driver.execute(_DELETE.format("t.generation = ANY(%s::bigint[])"), (list(generations),))

    def delete_lines(self, connection: Any, generation: int, numbers: Iterable[int]) -> None:
        """Delete the texts of some lines of a generation."""
        self.flush(connection)
        where = "t.generation = %s AND t.number = ANY(%s::bigint[])"
        connection.driver.execute(_DELETE.format(where), (generation, list(numbers)))

    def settle(self, connection: Any) -> bool | None:
        """Put the index in order after much was written; return None if not much was."""
        [(last,)] = connection.execute("SELECT last_value FROM text_ids")
        [(settled,)] = connection.execute("SELECT settled FROM text_state FOR UPDATE")
        is_much = bool(last - settled > _MUCH)
        if is_much:
            merge_pending(connection.driver)
            connection.execute(f"ANALYZE {_COUNTED}")
            connection.execute("UPDATE text_state SET settled = ?", (last,))
        if connection.execute("SELECT 1 FROM text_words_gone LIMIT 1"):
            connection.lock(_LOCK)
            purge_words(connection.driver)
            _report_deleted(connection.driver)
        return True if is_much else None

    def read_words(self, connection: Any) -> None:
        """Return nothing: a table has the words."""

    def write_words(self, connection: Any, words: None) -> None:
        """Do nothing."""

    def purge(self, connection: Any) -> None:
        """Leave nothing of what was deleted.

        Words stay until the index is settled if somebody writes texts just now: who waited for them might have
        what they in turn wait for.
        """
        [(is_alone,)] = connection.execute(f"SELECT pg_try_advisory_xact_lock({_LOCK_NUMBER})")
        if is_alone:
            purge_words(connection.driver)
        _report_deleted(connection.driver)

    def check(self, connection: Any, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how the texts of a generation differ from what they should be."""
        found = list(_compare(connection.driver, generation, texts))
        return (
            found if len(found) <= _MOST_TOLD else [*found[:_MOST_TOLD], f"and {len(found) - _MOST_TOLD} more"]
        )

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
        with watching(connection.driver, cancelled):
            context = TextContext(rows, matcher)
            yield IndexScan(connection.driver, scope, matcher.query, context, wanted, is_ranked=is_ranked)


def _report_deleted(driver: psycopg.Connection[Any]) -> None:
    """Let whoever writes tables anew know at once what this transaction deletes: the server counts it later."""
    if driver.info.server_version >= _REPORTING:
        driver.execute("SELECT pg_stat_force_next_flush()")


_PAUSE = 0.05
"""Seconds between asking whether anybody still waits."""


@contextmanager
def watching(driver: psycopg.Connection[Any], cancelled: Cancelled | None) -> Iterator[None]:
    """Let the server itself stop when nobody waits any more."""
    if cancelled is None:
        yield
        return
    stop_if(cancelled)
    ended, stopped = threading.Event(), threading.Event()

    def watch() -> None:
        while not ended.wait(_PAUSE):
            if cancelled():
                stopped.set()
                with suppress(psycopg.Error):  # it is gone, and whoever waits for it is told
                    driver.cancel_safe()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        try:
            yield
        finally:
            ended.set()
            watcher.join()
    except (psycopg.Error, StoreError):
        if not stopped.is_set():
            raise
    if stopped.is_set():  # who goes on might be stopped by what was meant for us
        raise SearchCancelledError


_AT_ONCE = 2048
"""How many texts are written at once, at most,"""
_LONGEST = 1 << 23
"""and how many characters of numbers."""
_MOST_WORDS = 100_000
"""How many words are held to be listed together."""
_COPY = """
COPY texts (owner, time, generation, number, ordinal, block, state, cells, words, counts) FROM STDIN
"""
_OWNERS = """
SELECT g.id, 0, s.owner FROM generations AS g JOIN sources AS s ON s.id = g.source
WHERE g.id = ANY(%s::bigint[])
UNION ALL SELECT %s, id, owner FROM hook_deliveries WHERE id = ANY(%s::bigint[])
"""


class _HeldWords:
    """Words that wait until there are enough of them to be asked for together."""

    def __init__(self, use: Callable[[set[str]], object]) -> None:
        self._use = use
        self._held: set[str] = set()

    def take(self, words: Collection[str]) -> None:
        """Hold some words."""
        self._held.update(words)
        if len(self._held) > _MOST_WORDS:
            self.finish()

    def finish(self) -> None:
        """Have all used that are held."""
        if self._held:
            self._use(self._held)
            self._held.clear()


class _Writer:
    """Writes the texts of one transaction, many at once; what it holds is never much."""

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        self._driver = driver
        self._rows: list[tuple[Any, ...]] = []
        self._length = 0
        self._words = _HeldWords(lambda words: add_words(driver, words))

    def write(self, generation: int, texts: Iterable[TextFact]) -> None:
        """Write some texts of a generation."""
        for text in texts:
            words = pack_words(text.cells, self._words.take)
            numbers = f"{{{','.join(map(str, words.numbers))}}}"
            self._rows.append((
                text.time, generation, text.number, text.ordinal, text.block, text.kind * 2 + text.is_error,
                words.cells, numbers, words.counts,
            ))  # fmt: skip
            self._length += len(numbers)
            if len(self._rows) == _AT_ONCE or self._length >= _LONGEST:
                self.flush()

    def flush(self) -> None:
        """Send what is held."""
        if self._rows:
            owners = self._find_owners()
            self._words.finish()
            with self._driver.cursor() as cursor, cursor.copy(_COPY) as copy:
                for row in self._rows:
                    copy.write_row((owners[row[1], row[2] if row[1] == HOOKS else 0], *row))
            self._rows.clear()
            self._length = 0

    def _find_owners(self) -> Mapping[tuple[int, int], str]:
        """Return whose the texts are, by their generations; those of hooks by their own numbers."""
        generations = list({row[1] for row in self._rows})
        deliveries = list({row[2] for row in self._rows if row[1] == HOOKS})
        found = self._driver.execute(_OWNERS, (generations, HOOKS, deliveries)).fetchall()
        return {(generation, number): owner for generation, number, owner in found}


def _find_writer(connection: Any) -> _Writer:
    """Return what writes in a transaction, which is as old as its connection in our words."""
    writer: _Writer | None = connection.cache.get("text_writer")
    if writer is None:
        writer = connection.cache["text_writer"] = _Writer(connection.driver)
    return writer


_TOKEN = re.compile(r"[^\W_]+")
_SIGN = 1 << 31
_MOST_COUNTED = 255
"""So many cells with a word, or more, are one number."""
_LONG = 4096
"""From how many cells on the words of a text are not all in memory at once,"""
_HELD = 1 << 18
"""but only so many of their numbers."""
_ASKED = 20_000
"""How many words are asked for at once."""
_REPEATS = 4
"""So many times as many rows as words are looked at: some are listed more than once."""
_INDEXES = """
SELECT gin_clean_pending_list(c.oid::regclass) FROM pg_class AS c JOIN pg_am AS m ON m.oid = c.relam
WHERE m.amname = 'gin' AND c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace
"""
_SOME = 2000
_UNUSUAL = f"""
SELECT g.number FROM unnest(%s::integer[]) AS g (number)
EXCEPT SELECT unnest(t.words) FROM (SELECT words FROM texts WHERE generation <> {HOOKS} LIMIT {_SOME}) AS t
"""
"""Most words are in some of any texts; to ask for one that is in many takes long."""
_PURGE = """
DELETE FROM text_words AS w USING unnest(%s::integer[]) AS g (number)
WHERE w.number = g.number AND NOT EXISTS (SELECT 1 FROM texts AS t WHERE t.words @> ARRAY[g.number])
"""


class TextWords(Struct, frozen=True, gc=False):
    """The words of a text, as its row has them."""

    numbers: Sequence[int]
    """Each once, in order."""
    counts: bytes | None
    """In how many cells each of them is; None if there is one cell, or if there are very many."""
    cells: int
    """How many there are."""


@lru_cache(maxsize=1 << 16)
def number_word(word: str) -> int:
    """Return the number of a word."""
    return (crc32(word.encode()) ^ _SIGN) - _SIGN


def pack_words(cells: Iterable[str], take: Callable[[Collection[str]], object]) -> TextWords:
    """Return the words of a text; `take` is given the words themselves, those of a very long one bit by bit."""
    left = iter(cells)
    some = list(islice(left, _LONG))
    if len(some) == _LONG:
        return _pack_many(chain(some, left), take)
    if len(some) == 1:
        words = split_cell(some[0])
        take(words)
        return TextWords(sorted(set(map(number_word, words))), None, 1)
    counted: Counter[str] = Counter()
    for cell in some:
        counted.update(split_cell(cell))
    take(counted.keys())
    counts = dict(zip(map(number_word, counted), counted.values(), strict=True))
    numbers = sorted(counts)
    return TextWords(numbers, bytes([min(counts[number], _MOST_COUNTED) for number in numbers]), len(some))


def _pack_many(cells: Iterator[str], take: Callable[[Collection[str]], object]) -> TextWords:
    numbers, held, count = array("i"), set[int](), 0

    def join() -> array[int]:
        return array("i", (number for number, _ in groupby(merge(numbers, sorted(held)))))

    while some := list(islice(cells, _LONG)):
        count += len(some)
        words = {word for cell in some for word in split_cell(cell)}
        take(words)
        held.update(map(number_word, words))
        if len(held) > _HELD:
            numbers, held = join(), set()
    return TextWords(join(), None, count)


def split_cell(cell: str) -> set[str]:
    """Return the words of a cell, each once.

    The first one of a pair of characters is a word as well, so that each character can be asked for.
    """
    words = set(_TOKEN.findall(cell))
    if not cell.isascii():
        words.update(
            [word[0] for word in words if len(word) == 2 and not word.isascii() and _is_character(word)]
        )
    return words


def _is_character(word: str) -> bool:
    """Tell whether a word is a character, or two, of a script without spaces."""
    return len(word) <= 2 and not word.isascii() and is_spaceless(word[0])


def add_words(driver: psycopg.Connection[Any], words: Collection[str]) -> None:
    """List words that are not listed yet, in the transaction of the caller."""
    driver.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK_NUMBER})".encode())
    missing = list_unlisted(driver, words)
    if missing:
        with driver.cursor() as cursor, cursor.copy("COPY text_words (number, word) FROM STDIN") as copy:
            for word in missing:
                copy.write_row((number_word(word), word))


def list_unlisted(driver: psycopg.Connection[Any], words: Collection[str]) -> list[str]:
    """Return those of some words that should be listed and are not, in order."""
    left = iter(sorted(word for word in words if word.isascii() or not _is_character(word)))
    missing: list[str] = []
    while some := list(islice(left, _ASKED)):
        numbers = f"{{{','.join(str(number_word(word)) for word in some)}}}"  # faster than psycopg's own way
        query = "SELECT word FROM text_words WHERE number = ANY(%s::integer[])"
        known = {word for (word,) in driver.execute(query, (numbers,))}
        missing += [word for word in some if word not in known]
    return missing


def list_words(driver: psycopg.Connection[Any], fragment: Fragment, most: int) -> list[str] | None:
    """Return the words that contain a fragment, in order; None if there are more than `most`."""
    escaped = fragment.text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    pattern = f"{'%' if fragment.open_left else ''}{escaped}{'%' if fragment.open_right else ''}"
    query = "SELECT word FROM text_words WHERE word LIKE %s LIMIT %s"
    rows = driver.execute(query, (pattern, _REPEATS * most)).fetchall()
    found = {word for (word,) in rows}
    return sorted(found) if len(found) <= most and len(rows) < _REPEATS * most else None


def purge_words(driver: psycopg.Connection[Any]) -> None:
    """Delete words that no text has any more; who does has the lock alone, and gives it back soon."""
    rows = driver.execute("DELETE FROM text_words_gone RETURNING number").fetchall()
    if rows:
        merge_pending(driver)
    left = iter(sorted({number for (number,) in rows}))
    while some := list(islice(left, _ASKED)):
        unusual = [number for (number,) in driver.execute(_UNUSUAL.encode(), (some,))]
        driver.execute(_PURGE, (unusual,))


def merge_pending(driver: psycopg.Connection[Any]) -> None:
    """Merge what the indexes keep beside them for the sake of fast writing: else each search has to read it."""
    driver.execute(_INDEXES)


_MOST_TOLD = 20
_COMPARED = 256
"""How many texts are compared at once."""
_STORED = """
SELECT number, ordinal, block, state, time, cells, words, counts FROM texts
WHERE generation = %s AND number = ANY(%s::bigint[])
"""
_PLACES = "SELECT number, ordinal, count(*) FROM texts WHERE generation = %s GROUP BY 1, 2 ORDER BY 1, 2"


def _compare(driver: psycopg.Connection[Any], generation: int, texts: Iterable[TextFact]) -> Iterator[str]:
    seen, unlisted = set[tuple[int, int]](), set[int]()
    held = _HeldWords(lambda words: unlisted.update(map(number_word, list_unlisted(driver, words))))
    left = iter(texts)
    while some := list(islice(left, _COMPARED)):
        packed = [pack_words(text.cells, held.take) for text in some]
        held.finish()
        numbers = list({text.number for text in some})
        rows = driver.execute(_STORED, (generation, numbers), binary=True).fetchall()
        stored = {(number, ordinal): tuple(cells) for number, ordinal, *cells in rows}
        for text, words in zip(some, packed, strict=True):
            place = text.number, text.ordinal
            seen.add(place)
            found = stored.get(place)
            if found is None:
                yield f"{_name(*place)} is missing"
            elif found[:4] != (text.block, text.kind * 2 + text.is_error, text.time, words.cells):
                yield f"{_name(*place)} differs"
            elif found[4:] != (list(words.numbers), words.counts) or not unlisted.isdisjoint(words.numbers):
                yield f"{_name(*place)} is indexed by other words"
    for number, ordinal, count in driver.execute(_PLACES, (generation,)):
        if (number, ordinal) not in seen:
            yield f"{_name(number, ordinal)} should not be there"
        elif count > 1:
            yield f"{_name(number, ordinal)} is there more than once"


def _name(number: int, ordinal: int) -> str:
    return f"text {ordinal + 1} of line {number + 1}"


_MOST_PARTS = 500
"""How many words a fragment may stand for."""
_WIDE = 50
"""From how many words on, one of which a text must have, the index knows better."""
ANYTHING = "true"
"""The condition that all texts fulfil."""


class TermLookup(Struct, frozen=True, gc=False):
    """One term, as the index sees it, in numbers of words.

    A text must have all words; a fragment stands for all words that it can be a part of, of which the text must
    have one. If they are too many, it is left out, and if nothing is left, the term may be anywhere.
    """

    words: tuple[int, ...]
    """All of these."""
    parts: tuple[frozenset[int], ...]
    """One of each of these."""

    def count(self, having: Mapping[int, int], cells: int) -> int:
        """Return in how many cells of a text it may be, given in how many each of its words is."""
        found = [having.get(number, 0) for number in self.words]
        found += [min(cells, sum(having[number] for number in part & having.keys())) for part in self.parts]
        return min(found, default=cells)

    def build(self, values: dict[str, Any]) -> str:
        """Return the condition for a text in SQL, whose values are put into `values`."""
        clauses = []
        for operator, numbers in [("@>", frozenset(self.words)), *(("&&", part) for part in self.parts)]:
            if numbers or operator == "&&":
                name = f"words{len(values)}"
                values[name] = sorted(numbers)
                clauses.append(f"t.words {operator} %({name})s::integer[]")
        return join_clauses(clauses)


def build_lookup(driver: psycopg.Connection[Any], term: Term) -> TermLookup:
    """Return what the index is to be asked for a term."""
    wanted = build_wanted(term)
    parts = [list_words(driver, fragment, _MOST_PARTS) for fragment in wanted.fragments]
    return TermLookup(
        tuple(map(number_word, (*wanted.words, *wanted.beginnings))),
        tuple(frozenset(map(number_word, part)) for part in parts if part is not None),
    )


def build_clause(node: Node, build_term: Callable[[Term], str]) -> str:
    """Return the condition of a query, given that of each term; `ANYTHING` if an index is of no help."""
    if isinstance(node, Term):
        return build_term(node)
    if isinstance(node, And):
        return join_clauses(build_clause(part, build_term) for part in node.parts)
    if isinstance(node, Or):
        parts = [build_clause(part, build_term) for part in node.parts]
        return ANYTHING if ANYTHING in parts else f"({' OR '.join(f'({part})' for part in parts)})"
    return ANYTHING  # filters are decided elsewhere, and what must not be there by the matcher


def join_clauses(parts: Iterable[str]) -> str:
    """Return the condition that all of some are fulfilled."""
    return " AND ".join(part for part in parts if part != ANYTHING) or ANYTHING


_FEW = 2000
"""Up to so many files their texts are listed."""
_GENERATIONS = """
SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source WHERE s.owner = %s LIMIT %s
"""
_SEEN = f"""
CASE WHEN t.generation = {HOOKS} THEN EXISTS (SELECT 1 FROM hook_deliveries AS d WHERE d.id = t.number)
ELSE EXISTS (
    SELECT 1 FROM generations AS g JOIN sources AS s ON s.id = g.source WHERE g.id = t.generation
) END
"""
"""Asked text by text: else the server joins, and may do so in an order in which it has to read all texts."""
_FIRST = 256
"""How many texts are looked at first."""
_LARGEST = 16_000
_RARE = 50
"""If fewer than one in so many may be a hit, the index is asked for the others,"""
_FEWER = 8
"""but only if no more than one in so many has the words, or those that may be hits are in few files."""
_LISTED = 500
"""How many texts it lists first at least; four times as many each time, since each time it has to find all."""
_COLUMNS = "t.time, t.id, t.generation, t.number, t.ordinal, t.block, t.state, t.cells"
_LOOK = f"""
WITH t AS MATERIALIZED (
    SELECT {_COLUMNS}{{more}}, {{words}} AS has_words FROM texts AS t
    WHERE t.owner = %(owner)s AND (t.time, t.id) < (%(time)s, %(id)s) AND {{times}}
    ORDER BY t.time DESC, t.id DESC LIMIT %(size)s
)
SELECT {_COLUMNS}{{more}}, NULL, NULL FROM t WHERE t.has_words AND {{others}}
UNION ALL (
    SELECT {_COLUMNS}{{more}}, (SELECT count(*) FROM t), (SELECT count(*) FROM t WHERE t.has_words)
    FROM t ORDER BY t.time, t.id LIMIT 1
)
"""
"""The last row tells where the stretch ends, how many texts it has, and how many of these have the words."""
_LIST = f"""
SELECT {_COLUMNS}{{more}} FROM texts AS t
WHERE t.owner || '' = %(owner)s AND (t.time + 0, t.id) < (%(time)s, %(id)s) AND {{times}} AND {{words}}
    AND {{others}}
ORDER BY t.time + 0 DESC, t.id DESC LIMIT %(size)s
"""
"""As it is written, the index by time is of no use: nobody is to look for rare words text by text."""
_NEWEST = (1 << 62, 1 << 62)


class IndexScan:
    """One query's scan of the texts of an owner, as far as they are seen."""

    backlog = 0

    def __init__(
        self,
        driver: psycopg.Connection[Any],
        scope: Scope,
        query: Query,
        context: TextContext,
        wanted: int,
        *,
        is_ranked: bool = False,
    ) -> None:
        """Begin with nothing looked at; about so many texts are `wanted`."""
        self.context = context
        self.texts = RANKED
        """However many there are: that would tell of those that are not seen."""
        self._driver = driver
        self._lookups = {term: build_lookup(driver, term) for term in list_asked(query.root)}
        self._is_wide = any(len(part) > _WIDE for lookup in self._lookups.values() for part in lookup.parts)
        self._is_ranked = is_ranked
        self._listed = max(_LISTED, min(wanted, _LARGEST))
        since, until = self.context.limits
        generations = self._list_generations(scope)
        self._is_narrow = generations is not None
        states = context.list_states()
        self._values: dict[str, Any] = {
            "owner": scope.owner, "since": since, "until": until, "states": states, "generations": generations
        }  # fmt: skip
        others = {
            "t.state = ANY(%(states)s::smallint[])": len(states) < 2 * len(KINDS),
            "t.generation = ANY(%(generations)s::bigint[])": self._is_narrow,
            f"({_SEEN}) IS TRUE": scope.viewer is not None,
        }
        times = {"t.time >= %(since)s": since > 0, "t.time < %(until)s": until is not None}
        self._parts = {
            "words": build_clause(query.root, lambda term: self._lookups[term].build(self._values)),
            "others": join_clauses(clause for clause, is_asked in others.items() if is_asked),
            "times": join_clauses(clause for clause, is_asked in times.items() if is_asked),
            "more": ", t.words, t.counts" if is_ranked else "",
        }

    def propose(self, before: TextKey | None) -> Iterator[Proposal]:
        """Yield texts that may match and come behind `before`, in order."""
        place = _NEWEST if before is None else (before[0], before[1] + (before[2] > 0))
        for proposal in self._propose(place):
            if self.context.generations is None or proposal.generation in self.context.generations:
                yield proposal

    def _propose(self, place: tuple[int, int] | None) -> Iterator[Proposal]:
        size = _FIRST
        while place is not None:
            found, having, place = self._look(place, size)
            yield from found
            is_listed_soon = self._is_narrow or (size == _LARGEST and having * _FEWER < size)
            if self._is_wide or having * _RARE < size or (is_listed_soon and len(found) * _RARE < size):
                break
            size = min(4 * size, _LARGEST)
        size = self._listed
        while place is not None:
            rows = self._ask(_LIST, place, size)
            yield from map(self._unpack, rows)
            place = rows[-1][:2] if len(rows) == size else None
            size *= 4

    def _look(self, place: tuple[int, int], size: int) -> tuple[list[Proposal], int, tuple[int, int] | None]:
        """Look at some texts behind a place.

        Return those that may match, how many have the words, and where the others begin.
        """
        found: list[Proposal] = []
        having, following = 0, None
        # Nobody is to sort all texts to find the newest, as a server that has not counted them may like to.
        for *row, looked_at, with_words in self._ask(_LOOK, place, size, sort="off"):
            if looked_at is None:
                found.append(self._unpack(row))
            else:
                having, following = with_words, (row[0], row[1]) if looked_at == size else None
        return sorted(found, key=lambda proposal: proposal.key, reverse=True), having, following

    def _ask(self, query: str, place: tuple[int, int], size: int, sort: str = "on") -> list[Any]:
        time, id = place
        values = {**self._values, "time": time, "id": id, "size": size}
        # The values are put in here, so that all statements take one way to the server, and none is planned
        # without them.
        with psycopg.ClientCursor(self._driver) as cursor:
            asked = query.format(**self._parts)
            cursor.execute(f"SET LOCAL enable_sort TO {sort}; {asked}; SET LOCAL enable_sort TO on", values)
            cursor.nextset()
            return cursor.fetchall()

    def _unpack(self, row: Sequence[Any]) -> Proposal:
        time, id, generation, number, ordinal, block, state, cells, *more = row
        counts: Counts = ()
        if self._is_ranked:
            words, found = more
            having = dict.fromkeys(words, 1) if found is None else dict(zip(words, found, strict=True))
            counts = tuple(lookup.count(having, cells) for lookup in self._lookups.values())
        key, is_error = (time, id, 0), bool(state & 1)
        return Proposal(key, generation, number, ordinal, block, state >> 1, is_error, time, cells, counts)

    def _list_generations(self, scope: Scope) -> list[int] | None:
        """Return the files that may have hits, if not everything is seen or asked for and they are few."""
        kept = self.context.generations
        if kept is not None:
            return sorted(kept) if len(kept) <= _FEW else None
        if scope.viewer is None:
            return None
        found = [number for (number,) in self._driver.execute(_GENERATIONS, (scope.owner, _FEW + 1))]
        return [*found, HOOKS] if len(found) < _FEW else None
