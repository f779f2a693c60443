"""The index on PostgreSQL: what it proposes, how much is read for that, what several writers leave behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import psycopg
import pytest

from postgres_server import start_server
from turnlog.errors import SearchCancelledError
from turnlog.store.batch import Generated, TextFact
from turnlog.store.catalogue.postgres import PostgresConnection, PostgresDatabase
from turnlog.store.catalogue.postgres_engine import POSTGRES_STEPS
from turnlog.store.catalogue.segments import SegmentCache
from turnlog.store.interface import MaintainedStore, Maintenance
from turnlog.store.model import ARCHIVE_SCHEMA, LOCAL, Scope, ServerPlace, Viewer
from turnlog.store.opening import open_store
from turnlog.store.search.index import HOOKS, Fragment
from turnlog.store.search.language import parse_query
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import Hit, SearchOrder
from turnlog.store.search.postgres import (
    IndexScan,
    PostgresTextIndex,
    add_words,
    list_words,
    merge_pending,
    number_word,
    pack_words,
)
from turnlog.store.search.text_context import CatalogueTextRows, TextContext
from turnlog.store.search.texts import cut_cells
from turnlog.testing import make_line
from turnlog.testing.checks import Scan, keep, search, search_all
from turnlog.transcripts.hooks import HookDelivery

INDEX = PostgresTextIndex()
LONG = "so many words that are said again and again in the same order " * 40
TEXTS = (
    "the parser of src/app/parse_query.py is broken",
    "the parser is fixed: `parse_query(text)` returns => {ok: true}",
    "the naïve café — ÀÉÎ, Überraschung",
    "日本語のテキストを検索する, and the rest",
    "한국어 검색 the end",
    "the error TS2304: Cannot find name 'foo_bar.baz' --strict 100%",
    LONG,
    f"{LONG} and a needle at the end of it",
    'she said "the parser \\ is fine" and went',
    "x" * 9000 + "needle" + "y" * 9000,
    "🤖 → ✓",
)
QUERIES = (
    "the", "parser", "needle", "xyzzy", "the -parser", "parser OR needle", "pars*", "*ser", "*arse*", "*e*",
    "foo_bar.baz", "100%", "*00%*", "=> {", "日本語", "語", "検索する", "검색", "🤖", "cafe",
    "naïve accents:yes",
    '"the parser"', '"parser is fixed"', '"again in the same order so many"', r'"the parser \\ is"',
    "kind:hook", "kind:prompt the", "project:ada the", "-project:ada", "session:session-2", "after:2026-01-02",
    "before:2026-01-02T00:00:03Z the", "after:2027-01-01", "(project:ada OR needle) the", "is:error",
)  # fmt: skip


def write(connection: Any, generation: int, texts: Iterable[TextFact]) -> None:
    """Write texts, and send them at once."""
    INDEX.write(connection, generation, texts)
    INDEX.flush(connection)


@pytest.fixture
def address() -> str:
    server = start_server()
    return server.address(server.create())


@pytest.fixture
def store(address: str, tmp_path: Path) -> Iterator[MaintainedStore]:
    with closing(open_store(ServerPlace(address, tmp_path))) as opened:
        yield opened


@pytest.fixture
def database(store: MaintainedStore, address: str) -> Iterator[PostgresDatabase]:
    """The database of the store."""
    with closing(open_database(address)) as opened:
        yield opened


def open_database(address: str) -> PostgresDatabase:
    return PostgresDatabase(address, ARCHIVE_SCHEMA, POSTGRES_STEPS, has_views=True)


def ask(database: PostgresDatabase, query: str) -> list[tuple[Any, ...]]:
    return database.read(lambda connection: connection.execute(query))


def change(database: PostgresDatabase, *statements: str) -> None:
    def work(connection: PostgresConnection) -> None:
        for statement in statements:
            connection.execute(statement)

    database.write(work)


def keep_session(
    store: MaintainedStore, number: int, *texts: str, origin: str = "here", owner: str = "local"
) -> str:
    """Keep a session with these texts, and return its key."""
    name = f"session-{number}"
    lines = b"".join(make_line(at, text=text, session_id=name) for at, text in enumerate(texts))
    return keep(store, {f"{name}.jsonl": lines}, session_id=name, origin=origin, owner=owner).key


def deliver(
    store: MaintainedStore,
    number: int,
    text: str,
    *,
    session_id: str = "session-1",
    origin: str = "",
    scope: Scope = LOCAL,
) -> None:
    delivery = HookDelivery(
        delivery_id=f"d{number}", received_ns=number * 10**9, payload=b'{"message": "%s"}' % text.encode(),
        session_id=session_id, event_name="Notification", origin=origin,
    )  # fmt: skip
    store.add_deliveries(scope, [delivery])


def make_texts(*texts: str) -> list[TextFact]:
    return [
        TextFact(number, 0, 0, 1, False, number, tuple(cut_cells(text))) for number, text in enumerate(texts)
    ]


@contextmanager
def undone(database: PostgresDatabase) -> Iterator[PostgresConnection]:
    """Yield a transaction of which nothing is left."""
    with suppress(ZeroDivisionError), database.writing() as connection:
        yield connection
        raise ZeroDivisionError


def list_listed(database: PostgresDatabase) -> set[str]:
    return {word for (word,) in ask(database, "SELECT word FROM text_words")}


def list_orphans(database: PostgresDatabase) -> list[tuple[Any, ...]]:
    """Return words that no text has."""
    query = """
    SELECT word FROM text_words AS w WHERE NOT EXISTS (SELECT 1 FROM texts WHERE words @> ARRAY[w.number])
    """
    return ask(database, query)


def place(hit: Hit) -> tuple[object, ...]:
    return hit.session_id, hit.source, hit.line, hit.ordinal, hit.delivery_id


def fill(store: MaintainedStore) -> None:
    keep_session(store, 1, *TEXTS)
    keep_session(store, 2, *reversed(TEXTS))
    keep_session(store, 3, *(f"the number {number}" for number in range(300)))
    deliver(store, 1, "the parser of a hook")


def test_hits_are_those_of_reading_everything_and_of_the_embedded_store(
    store: MaintainedStore, tmp_path: Path
) -> None:
    with closing(open_store(tmp_path / "turnlog.db")) as embedded:
        for each in (store, embedded):
            fill(each)
        scan = Scan(store, LOCAL)
        for text in QUERIES:
            hits = search(store, text)
            expected = scan.search(parse_query(text))
            assert {place(hit): hit for hit in hits} == {place(hit): hit for hit in expected}, text
            assert [hit.time for hit in hits] == [hit.time for hit in expected], text
            assert list(map(place, hits)) == list(map(place, search(embedded, text))), text


@pytest.mark.parametrize("order", SearchOrder)
def test_all_pages_together_have_each_hit_once(store: MaintainedStore, order: SearchOrder) -> None:
    for number in range(3):
        keep_session(store, number, *(f"word number {at}" for at in range(400)), "rare")
    for text, count in (
        ("word", 1200),
        ("number OR rare", 1203),
        ("*umber*", 1200),
        ("project:ada word", 1200),
    ):
        whole = search_all(store, text, 5000, order)
        assert len(set(map(place, whole))) == len(whole) == count
        for limit in (100, 300):
            assert search_all(store, text, limit, order) == whole


def test_texts_of_files_and_of_hooks_lie_in_partitions_of_their_own(
    store: MaintainedStore, database: PostgresDatabase
) -> None:
    keep_session(store, 1, "word")
    deliver(store, 1, "word")
    [(month,)] = ask(database, "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMM')")
    rows = ask(database, "SELECT tableoid::regclass::text, generation > 0, owner FROM texts ORDER BY 1")
    assert rows == [(f"texts_{month}", True, "local"), ("texts_hooks", False, "local")]


def test_every_owner_has_texts_of_their_own(store: MaintainedStore) -> None:
    owner = 'a\tb\\"c'
    keep_session(store, 1, "word mine")
    keep_session(store, 2, "word theirs", owner=owner)
    deliver(store, 1, "word theirs", scope=Scope(owner))
    assert [hit.session_id for hit in search(store, "word")] == ["session-1"]
    assert len(store.search(Scope(owner), parse_query("word")).hits) == 2


def test_lines_and_generations_are_deleted(store: MaintainedStore, database: PostgresDatabase) -> None:
    keep_session(store, 1, "first word", "second word", "third word")
    keep_session(store, 2, "other word")
    rows = ask(database, "SELECT generation FROM texts ORDER BY id")
    first, second = rows[0][0], rows[3][0]
    database.write(lambda connection: INDEX.delete_lines(connection, first, iter([0, 2, 9])))
    assert [hit.line for hit in search(store, "session:session-1 word")] == [1]
    database.write(lambda connection: INDEX.delete(connection, iter([first, 7])))
    assert [hit.session_id for hit in search(store, "word")] == ["session-2"]
    assert {"first", "other"} <= list_listed(database)
    database.write(lambda connection: INDEX.delete(connection, [second]))
    database.write(INDEX.settle)
    assert ask(database, "SELECT 1 FROM texts") == list_orphans(database) == []


def test_deliveries_are_deleted_by_their_numbers(store: MaintainedStore, database: PostgresDatabase) -> None:
    for number in range(3):
        deliver(store, number, f"word hook{number}")
    [(number,)] = ask(database, "SELECT id FROM hook_deliveries WHERE received_ns = 1000000000")
    database.write(lambda connection: INDEX.delete_lines(connection, HOOKS, [number]))
    assert [hit.delivery_id for hit in search(store, "word")] == ["d2", "d0"]


def test_settling_leaves_only_words_that_texts_have(store: MaintainedStore, database: PostgresDatabase) -> None:
    keep_session(store, 1, "alone 秘密 shared")
    keep_session(store, 1, "shared again")  # another generation of its file
    assert "alone" in list_listed(database)
    store.maintain()
    assert list_listed(database) == {"shared", "again"}
    assert list_orphans(database) == ask(database, "SELECT * FROM text_words_gone") == []


def test_forgetting_leaves_no_word_behind(store: MaintainedStore, database: PostgresDatabase) -> None:
    gone = keep_session(store, 1, "secretword 秘密 kept")
    keep_session(store, 2, "kept in another")
    deliver(store, 1, "secrethook kept")
    assert len(search(store, "密")) == len(search(store, "秘密")) == 1
    store.forget(LOCAL, [gone])
    assert [hit.session_id for hit in search(store, "*kep*")] == ["session-2"]
    assert list_listed(database) == {"kept", "in", "another"}
    assert ask(database, "SELECT * FROM text_words_gone") == []


def test_settling_says_whether_much_is_new(store: MaintainedStore, database: PostgresDatabase) -> None:
    assert not database.write(INDEX.settle)
    keep_session(store, 1, *(f"word{number}" for number in range(2100)))
    assert database.write(INDEX.settle)
    assert not database.write(INDEX.settle)
    assert ask(database, "SELECT reltuples FROM pg_class WHERE relname = 'text_words'") == [(2100.0,)]


def test_what_is_cleared_can_be_written_again(store: MaintainedStore, database: PostgresDatabase) -> None:
    batch = keep(store, {"session-1.jsonl": make_line(0, text="a word")})
    deliver(store, 1, "a hook")
    [source] = batch.sources
    [(last,)] = ask(database, "SELECT max(id) FROM texts")
    store.maintain(Maintenance.CLEAR_TEXTS)
    assert not search(store, "word")
    assert len(search(store, "hook")) == 1
    assert store.check_texts(LOCAL, source.source, 0, source.texts) == ["text 1 of line 1 is missing"]
    store.rewrite(LOCAL, batch.key, 1, None, texts={(source.source, 0): source.texts})
    assert len(search(store, "word")) == 1
    assert ask(database, f"SELECT count(*) FROM texts WHERE id > {last}") == [(2,)]  # none is given twice


OF_SECOND = "WHERE number = 1"
DAMAGE = {
    "text 1 of line 2 is missing": (f"DELETE FROM texts {OF_SECOND}",),
    "text 1 of line 2 differs": (
        f"UPDATE texts SET time = 7 {OF_SECOND}",
        f"UPDATE texts SET state = state + 1 {OF_SECOND}",
        f"UPDATE texts SET block = 5 {OF_SECOND}",
        f"UPDATE texts SET cells = cells + 1 {OF_SECOND}",
    ),
    "text 1 of line 2 is indexed by other words": (
        f"UPDATE texts SET words = words || 5 {OF_SECOND}",
        f"UPDATE texts SET words = words[2:] {OF_SECOND}",
        f"UPDATE texts SET counts = NULL {OF_SECOND}",
        "DELETE FROM text_words WHERE word = 'second'",
        "UPDATE text_words SET word = 'other' WHERE word = 'second'",
    ),
    "text 1 of line 8 should not be there": (f"UPDATE texts SET number = 7 {OF_SECOND}",),
    "text 1 of line 2 is there more than once": (
        "INSERT INTO texts (time, generation, number, ordinal, block, cells, state, owner, words, counts) "
        "SELECT time, generation, number, ordinal, block, cells, state, owner, words, counts FROM texts "
        f"{OF_SECOND}",
    ),
}


def test_each_difference_is_told(store: MaintainedStore, database: PostgresDatabase) -> None:
    [source] = keep(
        store,
        {
            "session-1.jsonl": b"".join(
                make_line(number, text=text) for number, text in enumerate(("first", f"second {LONG}", "third"))
            )
        },
    ).sources
    assert store.check_texts(LOCAL, source.source, 0, source.texts) == []
    for told, statements in DAMAGE.items():
        for statement in statements:
            with undone(database) as connection:
                connection.execute(statement)
                [(generation,)] = connection.execute("SELECT DISTINCT generation FROM texts")
                found = INDEX.check(connection, generation, source.texts)
                expected = ["text 1 of line 2 is missing", told] if "line 8" in told else [told]
                assert found == expected, statement
    assert len(store.check_texts(LOCAL, source.source, 0, make_texts(*["x"] * 50))) == 21


def test_a_word_has_the_same_number_forever() -> None:
    assert [number_word(word) for word in ("word", "日本", "x")] == [-1007586031, -944255540, -1931733373]


def test_the_words_of_very_long_texts_are_those_of_their_parts() -> None:
    passes = []

    def generate() -> Iterator[str]:
        passes.append(1)
        return (f"w{number} both{number % 7}" for number in range(10_000))

    listed: set[str] = set()
    packed = pack_words(Generated(generate), listed.update)
    expected = {word for cell in generate() for word in cell.split()}
    assert listed == expected
    assert list(packed.numbers) == sorted(set(map(number_word, expected)))
    assert (packed.counts, packed.cells, len(passes)) == (None, 10_000, 2)
    assert pack_words(["one two", "two"], listed.update).counts in (b"\1\2", b"\2\1")


def test_a_very_long_text_is_written_and_found(store: MaintainedStore, database: PostgresDatabase) -> None:
    keep_session(store, 1, "short")
    [(generation,)] = ask(database, "SELECT generation FROM texts")
    cells = Generated(lambda: (f"number{number} again" for number in range(150_000)))
    text = TextFact(1, 0, 0, 1, False, 5, cells)
    database.write(lambda connection: write(connection, generation, [text]))
    check = database.read(lambda connection: INDEX.check(connection, generation, [text]))
    assert check == ["text 1 of line 1 should not be there"]
    with proposing(database, "number77777 again") as scan:
        assert take(scan, 10) == [1]
    with proposing(database, "*mber149999") as scan:
        assert take(scan, 10) == [1]


COUNT = 50_000
MONTHS = 3
FILES = 3000
"""How many sessions there are with a file: somebody sees the first ones, and somebody most of the others."""
COMMON, RARE, OLD, MIDDLING = "common", "rare", "old", "middling"
FILL = """
INSERT INTO sessions (id, owner, key, origin, file_id, project_folder, person, is_listed)
SELECT n, 'local', 'k' || n, 'm', 'f', 'p',
    CASE WHEN n <= 100 THEN 'few' WHEN (n - 1) % 30 <> 7 THEN 'many' END, 1
FROM generate_series(1, {files}) AS n;
INSERT INTO sources (id, owner, source, session, kind, path, is_present)
SELECT n, 'local', 's' || n, n, 'transcript', 'p', 1 FROM generate_series(1, {files}) AS n;
INSERT INTO generations (id, source, generation, length, sealed, consumed, in_array, lines)
SELECT (month_of(now()) - n % {months}) << 36 | n, n, 0, 1, 1, 1, 0, 1 FROM generate_series(1, {files}) AS n;
INSERT INTO texts (owner, time, generation, number, ordinal, block, state, cells, words)
SELECT 'local', 1000 * n, (month_of(now()) - f % {months}) << 36 | f, n, 0, 0, 2, 1,
    ARRAY[{common}, n % 1000, 100000 + n / 7]
    || CASE WHEN n % 10000 = 7 THEN ARRAY[{rare}] ELSE '{{}}'::integer[] END
    || CASE WHEN n % 30 = 7 THEN ARRAY[{middling}] ELSE '{{}}'::integer[] END
    || CASE WHEN n < 20000 THEN ARRAY[{old}] ELSE '{{}}'::integer[] END
FROM (SELECT n, 1 + n % {files} AS f FROM generate_series(1, {count}) AS n) AS t
"""
FEW, MANY = (Scope("local", Viewer(person=person)) for person in ("few", "many"))


@pytest.fixture(scope="module")
def many() -> Iterator[PostgresDatabase]:
    """A database with many texts, of which only the index knows; nobody has counted them."""
    server = start_server()
    with closing(open_database(server.address(server.create()))) as found:

        def fill(connection: PostgresConnection) -> None:
            [(month,)] = connection.execute("SELECT month_of(now())")
            for number in range(month - MONTHS + 1, month):
                connection.execute(
                    f"CREATE TABLE texts_{number} PARTITION OF texts "
                    f"FOR VALUES FROM ({number << 36}) TO ({number + 1 << 36})"
                )
            numbers = {name: number_word(name) for name in (COMMON, RARE, OLD, MIDDLING)}
            connection.execute(FILL.format(**numbers, count=COUNT, files=FILES, months=MONTHS))
            add_words(connection.driver, [f"w{number:x}y" for number in range(30_000)])

        found.write(fill)
        yield found


@contextmanager
def proposing(
    database: PostgresDatabase, text: str, scope: Scope = LOCAL, *, is_ranked: bool = False
) -> Iterator[IndexScan]:
    with database.reading(scope) as connection:
        query = parse_query(text)
        rows = CatalogueTextRows(connection, scope, SegmentCache())
        around = TextContext(rows, Matcher(query))
        yield IndexScan(connection.driver, scope, query, around, 20, is_ranked=is_ranked)


def take(scan: IndexScan, most: int, before: tuple[int, int, int] | None = None) -> list[int]:
    """Return the numbers of the first texts, and let go of the others."""
    return [proposal.number for proposal in islice(scan.propose(before), most)]


@contextmanager
def reading_at_most(database: PostgresDatabase, most: int, scope: Scope = LOCAL) -> Iterator[None]:
    """Expect that no more texts are read, in the transaction of whoever reads just now."""
    query = """
    SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
    WHERE relname LIKE 'texts%'
    """
    with database.reading(scope) as connection:
        [(before,)] = connection.execute(query)
        yield
        [(after,)] = connection.execute(query)
        assert 0 < after - before <= most


@contextmanager
def asking_times(database: PostgresDatabase, count: int, scope: Scope = LOCAL) -> Iterator[None]:
    """Expect so many ways to the server, of whoever reads just now."""
    with database.reading(scope) as connection, TemporaryFile() as file:
        connection.driver.pgconn.trace(file.fileno())
        try:
            yield
        finally:
            connection.driver.pgconn.untrace()
        file.seek(0)
        sent = [line.split(b"\t") for line in file.read().split(b"\n")]
        assert sum(cells[1:2] == [b"F"] and cells[3] in (b"Query", b"Sync") for cells in sent) == count


def test_a_common_word_reads_no_more_than_a_page_needs(many: PostgresDatabase) -> None:
    with proposing(many, COMMON) as scan, reading_at_most(many, 300), asking_times(many, 1):
        assert take(scan, 20) == [*range(COUNT, COUNT - 20, -1)]


def test_a_rare_word_reads_the_newest_texts_and_those_that_have_it(many: PostgresDatabase) -> None:
    with proposing(many, RARE) as scan, reading_at_most(many, 300), asking_times(many, 2):
        assert take(scan, 20) == [40_007, 30_007, 20_007, 10_007, 7]


def test_words_together_read_those_that_have_both(many: PostgresDatabase) -> None:
    with proposing(many, f"{RARE} {OLD}") as scan, reading_at_most(many, 300):
        assert take(scan, 20) == [10_007, 7]


def test_what_is_common_only_among_the_old_comes_in_order(many: PostgresDatabase) -> None:
    with proposing(many, OLD) as scan, asking_times(many, 5):
        assert take(scan, COUNT) == [*range(19_999, 0, -1)]


def test_all_texts_come_once_and_in_order(many: PostgresDatabase) -> None:
    for text in ("kind:answer", COMMON, "-nothing"):
        with proposing(many, text) as scan, asking_times(many, 11):
            assert take(scan, COUNT + 1) == [*range(COUNT, 0, -1)]
            assert take(scan, COUNT, (30_000_000, 0, 0)) == [*range(29_999, 0, -1)]


def test_times_are_asked_for_by_their_index(many: PostgresDatabase) -> None:
    text = "after:1970-01-01T00:00:20Z before:1970-01-01T00:00:20.010Z"
    for words in ("", COMMON, RARE):
        with proposing(many, f"{words} {text}") as scan, reading_at_most(many, 50):
            expected = [*range(20_009, 19_999, -1)]
            assert take(scan, COUNT) == [number for number in expected if words != RARE or number == 20_007]


def list_seen(scope: Scope) -> list[int]:
    """Return the texts that somebody may see, newest first."""
    files = {
        number
        for number in range(FILES)
        if (number < 100 if scope == FEW else number >= 100 and number % 30 != 7)
    }
    return [number for number in range(COUNT, 0, -1) if number % FILES in files]


@pytest.mark.parametrize("scope", [FEW, MANY], ids=["few", "many"])
def test_a_viewer_is_proposed_what_they_see_and_nothing_else(many: PostgresDatabase, scope: Scope) -> None:
    seen = list_seen(scope)
    expected = {
        COMMON: seen,
        "kind:answer": seen,
        OLD: [number for number in seen if number < 20_000],
        MIDDLING: [number for number in seen if number % 30 == 7],
        RARE: [number for number in seen if number % 10_000 == 7],
    }
    for text, numbers in expected.items():
        with proposing(many, text, scope) as scan:
            assert take(scan, COUNT) == numbers
        with proposing(many, text, scope, is_ranked=True) as scan:
            assert take(scan, 100) == numbers[:100]
    with proposing(many, COMMON, Scope("local", Viewer(person="nobody"))) as scan:
        assert take(scan, COUNT) == []


def test_a_viewer_is_answered_by_the_same_indexes(many: PostgresDatabase) -> None:
    with proposing(many, COMMON, MANY) as scan, reading_at_most(many, 300, MANY), asking_times(many, 1, MANY):
        assert take(scan, 20) == list_seen(MANY)[:20]
    with proposing(many, RARE, MANY) as scan, reading_at_most(many, 300, MANY), asking_times(many, 2, MANY):
        assert len(take(scan, 20)) == 3
    # Who sees few files has their texts listed; who sees many, what few texts have, and they don't see.
    with proposing(many, COMMON, FEW) as scan, reading_at_most(many, 6000, FEW), asking_times(many, 3, FEW):
        assert take(scan, COUNT) == list_seen(FEW)
    with proposing(many, MIDDLING, MANY) as scan, asking_times(many, 5, MANY):
        assert take(scan, COUNT) == []


def test_fragments_are_looked_up_by_trigrams(many: PostgresDatabase) -> None:
    def look(fragment: str, most: int, *, is_open: bool = True) -> list[str] | None:
        with many.reading() as connection:
            return list_words(connection.driver, Fragment(fragment, is_open, True), most)

    many.write(lambda connection: merge_pending(connection.driver))
    change(many, "ANALYZE text_words")
    plan = ask(many, "EXPLAIN SELECT word FROM text_words WHERE word LIKE '%abcy%' LIMIT 2000")
    assert any("text_words_by_fragment" in line for (line,) in plan)
    words = sorted(f"w{number:x}y" for number in range(30_000))
    assert look("7abc", 10) == [word for word in words if "7abc" in word]
    assert look("abc", 3) is None
    assert look("w1a", 300, is_open=False) == [word for word in words if word.startswith("w1a")]
    assert look("_", 10) == look("%", 10) == look("\\", 10) == []


def test_words_that_are_listed_many_times_hide_no_others(many: PostgresDatabase) -> None:
    with undone(many) as connection:
        for word, times in (("aaqaq", 50), ("zzqaq", 1)):
            connection.execute("INSERT INTO text_words SELECT 0, ? FROM generate_series(1, ?)", (word, times))
        fragment = Fragment("qaq", open_left=True, open_right=True)
        assert list_words(connection.driver, fragment, 100) == ["aaqaq", "zzqaq"]
        assert list_words(connection.driver, fragment, 3) is None


def test_a_viewer_finds_what_they_would_find_if_there_were_nothing_else(store: MaintainedStore) -> None:
    """What is found by relevance, too: how common a word is elsewhere is no matter."""
    ada = Scope("local", Viewer(person="ada"))

    def find() -> list[tuple[str, list[Hit]]]:
        found = []
        for text in ("word", "word OR many", "*or*", "kind:hook", "project:ada word", "-nothing"):
            for order in SearchOrder:
                hits: list[Hit] = []
                page = store.search(ada, parse_query(text), order=order, limit=2)
                hits += page.hits
                while page.next is not None:
                    page = store.search(ada, parse_query(text), order=order, limit=2, cursor=page.next)
                    hits += page.hits
                found.append((f"{order} {text}", hits))
        return found

    store.save_machine(LOCAL, "m-ada", person="ada")
    store.save_machine(LOCAL, "m-bob", person="bob")
    keep_session(store, 1, "word", "word many", f"many {LONG}", "word " * 30, origin="m-ada")
    deliver(store, 1, "word of a hook", origin="m-ada")
    before = find()
    for number in range(2, 6):
        keep_session(store, number, *(["word", f"many {LONG}", "wordmany"] * 200), origin="m-bob")
        deliver(store, number, "word of a hook", session_id=f"session-{number}", origin="m-bob")
    assert len(search(store, "word")) > 800
    assert find() == before


def test_writers_of_the_same_new_words_do_not_wait_for_each_other(
    store: MaintainedStore, database: PostgresDatabase, address: str
) -> None:
    generations = make_files(store, database)
    with closing(open_database(address)) as other:
        with database.writing() as one:
            write(one, generations[0], make_texts("first brandnew"))
            with other.writing() as two:
                write(two, generations[1], make_texts("brandnew second"))
        with other.reading() as two:
            assert list_words(two.driver, Fragment("randne", True, True), 10) == ["brandnew"]
    assert ask(database, "SELECT count(*) FROM text_words WHERE word = 'brandnew'") == [(2,)]


def make_files(store: MaintainedStore, database: PostgresDatabase) -> list[int]:
    """Make two files without texts, and return their generations."""
    keep_session(store, 1, "x")
    keep_session(store, 2, "x")
    found = [number for (number,) in ask(database, "SELECT id FROM generations ORDER BY id")]
    database.write(lambda connection: INDEX.delete(connection, found))
    return found


def test_a_word_is_kept_while_somebody_writes_a_text_that_has_it(
    store: MaintainedStore, database: PostgresDatabase, address: str
) -> None:
    generations = make_files(store, database)
    database.write(lambda connection: write(connection, generations[0], make_texts("shared alone")))
    database.write(lambda connection: INDEX.delete(connection, generations))
    with closing(open_database(address)) as other:
        settling = threading.Thread(target=lambda: other.write(INDEX.settle))
        with database.writing() as connection:
            write(connection, generations[1], make_texts("shared again"))
            # Nobody who deletes waits for those who write, who might wait for them.
            other.write(INDEX.purge)
            assert "alone" in list_listed(other)
            settling.start()
            waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while settling.is_alive() and not connection.execute(waiting):
                pass
        settling.join()
    assert list_listed(database) == {"again", "shared"}


@pytest.mark.parametrize("text", ["word", "*or*", "project:ada"])
def test_a_search_that_the_server_is_busy_with_is_cancelled(
    store: MaintainedStore, database: PostgresDatabase, address: str, text: str
) -> None:
    keep_session(store, 1, "word")
    begun = time.monotonic()
    with psycopg.connect(address) as other:
        other.execute(f"LOCK TABLE {ARCHIVE_SCHEMA}.texts, {ARCHIVE_SCHEMA}.sources".encode())
        with pytest.raises(SearchCancelledError):
            store.search(LOCAL, parse_query(text), cancelled=later(0.2))
    assert time.monotonic() - begun < 30
    assert len(search(store, text)) == 1


def later(seconds: float) -> Callable[[], bool]:
    """Return what says yes after some time."""
    begun = time.monotonic()
    return lambda: time.monotonic() - begun > seconds


def test_texts_are_taken_one_behind_the_other(store: MaintainedStore, database: PostgresDatabase) -> None:
    """However many there are, and however long, they are never all in memory."""
    [generation, _] = make_files(store, database)
    alive: list[int] = []

    def generate() -> Iterable[TextFact]:
        for number in range(5000):
            yield TextFact(number, 0, 0, 1, False, number, (f"word{number % 7}",))
            [(count,)] = ask_within(f"SELECT count(*) FROM texts WHERE generation = {generation}")
            alive.append(number + 1 - count)

    with database.writing() as connection:
        ask_within = connection.execute
        write(connection, generation, generate())
    assert max(alive) <= 2048
    assert ask(database, "SELECT count(*), count(DISTINCT id) FROM texts") == [(5000, 5000)]
