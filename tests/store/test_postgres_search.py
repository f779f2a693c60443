"""Search on PostgreSQL: how much is read for a page, and what several writers at once leave behind."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from psycopg import Connection

from postgres_server import make_database
from turnlog.store.identity import LOCAL
from turnlog.store.postgres.partitions import make_month
from turnlog.store.postgres.search_engine import Searcher
from turnlog.store.postgres.search_walk import Proposal, Walk
from turnlog.store.postgres.seen import SEEN
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.postgres.texts import delete_texts, write_texts
from turnlog.store.postgres.wire import connect
from turnlog.store.postgres.words import (
    add_words,
    list_words,
    merge_pending,
    number_word,
    pack_words,
    purge_words,
)
from turnlog.store.search.asking import Fragment
from turnlog.store.search.cells import cut_cells
from turnlog.store.search.hits import SearchOrder
from turnlog.store.search.indexing import index_form
from turnlog.store.search.packing import TextFact
from turnlog.store.search.parsing import parse_query
from turnlog.testing.builders import make_line
from turnlog.testing.contracts.base import keep
from turnlog.testing.contracts.search import search

MONTHS = (202601, 202602, 202603)
TEXTS = 50_000
COMMON, RARE, OLD = "common", "rare", "old"
FILL = """
INSERT INTO texts
SELECT 202601 + n %% 3, 1, 1000 * n, n, 1 + n %% 100, n, 0, 0, 2, 1,
    ARRAY[%(common)s, n %% 1000, 100000 + n / 7]
    || CASE WHEN n %% 10000 = 7 THEN ARRAY[%(rare)s] ELSE '{}'::integer[] END
    || CASE WHEN n < 20000 THEN ARRAY[%(old)s] ELSE '{}'::integer[] END
FROM generate_series(1, %(texts)s) AS n
"""


@pytest.fixture(scope="module")
def many() -> Iterator[Connection]:
    """A database with many texts, of which only the index knows; nobody has counted them."""
    with closing(connect(make_database())) as connection:
        for month in MONTHS:
            with connection.transaction():
                make_month(connection, month)
        connection.execute("INSERT INTO text_owners (owner) VALUES (%s)", (LOCAL.owner,))
        numbers = {name: number_word(name) for name in (COMMON, RARE, OLD)}
        connection.execute(FILL, {**numbers, "texts": TEXTS})
        add_words(connection, [f"w{number:x}y" for number in range(30_000)])
        yield connection


@contextmanager
def walking(connection: Connection, text: str) -> Iterator[Walk]:
    with connection.transaction():
        searcher = Searcher(connection, LOCAL, parse_query(text), None)
        yield searcher.build_walk(1, SearchOrder.NEWEST, 20)[0]


def take(proposals: Iterable[Proposal], most: int) -> list[int]:
    """Return the numbers of the first texts, and let go of the others."""
    found: list[int] = []
    for proposal in proposals:
        found.append(proposal.text.number)
        if len(found) == most:
            break
    return found


@contextmanager
def reading_at_most(connection: Connection, most: int) -> Iterator[None]:
    """Expect that no more texts are read."""
    query = """
    SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
    WHERE relname LIKE 'texts%'
    """
    [(before,)] = connection.execute(query).fetchall()
    yield
    [(after,)] = connection.execute(query).fetchall()
    assert after - before <= most


def explain(connection: Connection, walk: Walk, *, is_listed: bool) -> list[dict[str, Any]]:
    """Return the steps of a plan."""
    query, values = walk.explain(is_listed=is_listed)
    [([plan],)] = connection.execute(f"EXPLAIN (FORMAT JSON) {query}", values).fetchall()
    return list(list_steps(json.loads(plan) if isinstance(plan, str) else plan["Plan"]))


def list_steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from list_steps(part)


def test_a_common_word_reads_no_more_than_a_page_needs(many: Connection) -> None:
    with walking(many, COMMON) as walk, reading_at_most(many, 300):
        assert take(walk.propose(None), 20) == [*range(TEXTS, TEXTS - 20, -1)]


def test_a_rare_word_reads_the_newest_texts_and_those_that_have_it(many: Connection) -> None:
    with walking(many, RARE) as walk, reading_at_most(many, 300):
        assert take(walk.propose(None), 20) == [40_007, 30_007, 20_007, 10_007, 7]


def test_words_together_read_those_that_have_both(many: Connection) -> None:
    with walking(many, f"{RARE} {OLD}") as walk, reading_at_most(many, 300):
        assert take(walk.propose(None), 20) == [10_007, 7]


def test_what_is_common_only_among_the_old_comes_in_order(many: Connection) -> None:
    with walking(many, OLD) as walk:
        assert take(walk.propose(None), TEXTS) == [*range(19_999, 0, -1)]


def test_all_texts_come_once_and_in_order(many: Connection) -> None:
    with walking(many, "kind:answer") as walk:
        assert take(walk.propose(None), TEXTS + 1) == [*range(TEXTS, 0, -1)]
    with walking(many, COMMON) as walk:
        assert take(walk.propose((30_000_000, 30_000, 0)), TEXTS) == [*range(29_999, 0, -1)]


def test_the_newest_are_found_by_time_and_others_by_word(many: Connection) -> None:
    with walking(many, RARE) as walk:
        steps = explain(many, walk, is_listed=True)
        indexes = {step["Index Name"] for step in steps if step["Node Type"] == "Bitmap Index Scan"}
        assert indexes >= {f"texts_{month}_words_idx" for month in MONTHS}
        assert all("words" in name for name in indexes)
    with walking(many, COMMON) as walk:
        many.execute("SET LOCAL enable_sort TO off")  # as the walk itself does it
        scans = [step for step in explain(many, walk, is_listed=False) if step.get("Relation Name")]
        assert {step["Node Type"] for step in scans} == {"Index Scan"}
        assert all("time" in step["Index Name"] for step in scans)


def test_who_does_not_see_everything_is_answered_by_the_same_indexes(many: Connection) -> None:
    with walking(many, RARE) as walk:
        many.execute(f"SET LOCAL search_path TO {SEEN}, turnlog, public")
        steps = explain(many, walk, is_listed=True)
        indexes = {step["Index Name"] for step in steps if step["Node Type"] == "Bitmap Index Scan"}
        assert indexes >= {f"texts_{month}_words_idx" for month in MONTHS}
    with walking(many, COMMON) as walk:
        many.execute(f"SET LOCAL search_path TO {SEEN}, turnlog, public; SET LOCAL enable_sort TO off")
        scans = [
            step
            for step in explain(many, walk, is_listed=False)
            if step.get("Relation Name", "").startswith("texts")
        ]
        assert {step["Node Type"] for step in scans} == {"Index Scan"}
        assert all("time" in step["Index Name"] for step in scans)


def test_fragments_are_looked_up_by_trigrams(many: Connection) -> None:
    with many.transaction():
        merge_pending(many)
        many.execute("ANALYZE text_words")
        query = "EXPLAIN (FORMAT JSON) SELECT word FROM text_words WHERE word LIKE %s LIMIT 2000"
        [([plan],)] = many.execute(query, ("%abcy%",)).fetchall()
        assert "text_words_by_fragment" in {step.get("Index Name") for step in list_steps(plan["Plan"])}
        assert list_words(many, Fragment("7abc", open_left=True, open_right=True), 10) is not None
        assert list_words(many, Fragment("abc", open_left=True, open_right=True), 3) is None
        assert list_words(many, Fragment("w1a", open_left=False, open_right=True), 300) == sorted(
            word for word in (f"w{number:x}y" for number in range(30_000)) if word.startswith("w1a")
        )
        assert list_words(many, Fragment("_", open_left=True, open_right=True), 10) == []


def test_words_that_are_listed_many_times_hide_no_others(many: Connection) -> None:
    with many.transaction(force_rollback=True):
        for word, times in (("aaqaq", 50), ("zzqaq", 1)):
            many.execute("INSERT INTO text_words SELECT 0, %s FROM generate_series(1, %s)", (word, times))
        fragment = Fragment("qaq", open_left=True, open_right=True)
        assert list_words(many, fragment, 100) == ["aaqaq", "zzqaq"]
        assert list_words(many, fragment, 3) is None


def make_text(number: int, text: str) -> TextFact:
    return TextFact(number, 0, 0, 1, False, number, b"", tuple(cut_cells(index_form(text))))


@pytest.fixture
def address() -> str:
    return make_database()


@pytest.fixture
def connections(address: str) -> Iterator[tuple[Connection, Connection]]:
    with closing(connect(address)) as one, closing(connect(address)) as other:
        with one.transaction():
            make_month(one, 202601)
        yield one, other


def test_writers_of_the_same_new_words_do_not_wait_for_each_other(
    connections: tuple[Connection, Connection],
) -> None:
    one, other = connections
    with one.transaction():
        write_texts(one, "local", 202601, 1, [make_text(0, "first brandnew")])
        with other.transaction():
            write_texts(other, "guest", 202601, 2, [make_text(0, "brandnew second")])
    fragment = Fragment("randne", open_left=True, open_right=True)
    assert list_words(one, fragment, 10) == list_words(other, fragment, 10) == ["brandnew"]


def test_a_word_is_kept_while_somebody_writes_a_text_that_has_it(
    connections: tuple[Connection, Connection],
) -> None:
    one, other = connections
    with one.transaction():
        write_texts(one, "local", 202601, 1, [make_text(0, "shared alone")])
    with one.transaction():
        delete_texts(one, [1])
    ended = threading.Event()

    def purge() -> None:
        with other.transaction():
            purge_words(other)
        ended.set()

    thread = threading.Thread(target=purge)
    with one.transaction():
        write_texts(one, "local", 202601, 2, [make_text(0, "shared again")])
        thread.start()
        waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while not ended.is_set() and not one.execute(waiting).fetchall():
            pass
    thread.join()
    words = one.execute("SELECT word FROM text_words ORDER BY word").fetchall()
    assert words == [("again",), ("shared",)]


def test_the_words_of_very_long_texts_are_those_of_their_parts() -> None:
    cells = [f"w{number} both{number % 7}" for number in range(10_000)]
    listed: set[str] = set()
    packed = pack_words(cells, listed.update)
    expected = {word for cell in cells for word in cell.split()}
    assert listed == expected
    assert list(packed.numbers) == sorted(set(map(number_word, expected)))
    assert pack_words(["one two", "two"], listed.update).counts in (b"\1\2", b"\2\1")


def test_forgetting_leaves_no_word_behind(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        gone = keep(store, {"session-1.jsonl": make_line(0, text="secretword 秘密 kept")})
        lines = make_line(0, text="kept in another", session_id="session-2")
        keep(store, {"session-2.jsonl": lines}, session_id="session-2")
        assert len(search(store, "密")) == len(search(store, "秘密")) == 1
        store.forget(LOCAL, [gone.key])
        assert [hit.session_id for hit in search(store, "*kep*")] == ["session-2"]
    with closing(connect(address)) as connection:
        words = {word for (word,) in connection.execute("SELECT word FROM text_words")}
        assert {"kept", "another"} <= words
        assert "secretword" not in words
        assert connection.execute("SELECT count(*) FROM text_words_gone").fetchall() == [(0,)]


def test_what_is_cleared_can_be_written_again(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        batch = keep(store, {"session-1.jsonl": make_line(0, text="a word")})
        [source] = batch.sources
        store.clear_texts()
        assert not search(store, "word")
        assert store.check_texts(LOCAL, source.source, 0, source.texts) == ["text 1 of line 1 is missing"]
        store.rewrite(LOCAL, batch.key, 1, {}, None, texts={(source.source, 0): source.texts})
        assert len(search(store, "word")) == 1
        store.settle()


def test_a_word_that_is_not_listed_is_told(address: str) -> None:
    with closing(PostgresStore.open(address)) as store, closing(connect(address)) as connection:
        [source] = keep(store, {"session-1.jsonl": make_line(0, text="listed words")}).sources
        connection.execute("DELETE FROM text_words WHERE word = 'listed'")
        [told] = store.check_texts(LOCAL, source.source, 0, source.texts)
        assert told == "text 1 of line 1 is indexed by other words"
