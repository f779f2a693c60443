"""Search on ClickHouse: how much is read for a page, what counts of what is there, and what is tidied away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clickhouse_engine import make_store
from turnlog.errors import StoreError
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.search_engine import Searcher
from turnlog.store.clickhouse.search_walk import Proposal, Walk
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.clickhouse.texts import TextWriter, find_place, place
from turnlog.store.clickhouse.tidying import tidy_tables
from turnlog.store.clickhouse.words import list_words, purge_words
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.search.asking import Fragment
from turnlog.store.search.hits import SearchOrder, TextKey
from turnlog.store.search.packing import unpack_texts
from turnlog.store.search.parsing import parse_query
from turnlog.testing.builders import make_line
from turnlog.testing.contracts.base import keep
from turnlog.testing.contracts.search import search, search_all

TEXTS = 100_000
COMMON, RARE, OLD = "common", "rare", "old"
FILL = f"""
INSERT INTO texts
SELECT '{LOCAL.owner}', 1000 * number, 1 + number % 100, bitShiftLeft(number, 24), 0, 1,
    toDate('2026-01-15') + 30 * (number % 3), 1 + number % 100, 0, 2, 1,
    arrayConcat(
        ['{COMMON}', toString(number % 1000), concat('w', toString(intDiv(number, 7)))],
        if(number % 10000 = 7, ['{RARE}'], []), if(number < 20000, ['{OLD}'], [])
    ), [] FROM numbers({TEXTS})
"""
PART = 50_000
"""What may be read of them for a page: some granules of each part."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseStore]:
    """A store with many texts, of which only the index knows."""
    with closing(make_store(tmp_path_factory.mktemp("many"))) as store:
        store._engine.command(FILL)
        yield store


def walk(store: ClickHouseStore, text: str) -> Walk:
    searcher = Searcher(store._reading(LOCAL), store._control, store._blobs, parse_query(text), None)
    found = searcher.build_walk(SearchOrder.NEWEST, 20)
    found._keep = lambda proposals: proposals
    return found


def take(proposals: Iterable[Proposal], most: int) -> list[int]:
    """Return the lines of the first texts, and let go of the others."""
    found: list[int] = []
    for proposal in proposals:
        found.append(proposal.text.number)
        if len(found) == most:
            break
    return found


def explain(store: ClickHouseStore, walk: Walk) -> str:
    statement, values = walk.explain((1 << 62, 0, 0), 20)
    rows = store._reading(LOCAL).query(f"EXPLAIN indexes = 1 {statement}", values)
    return "\n".join(row[0].decode() for row in rows)


def count_read(engine: Engine) -> int:
    """Return how many rows were read of tables until now."""
    [(count,)] = engine.query("SELECT sum(value) FROM system.events WHERE event = 'SelectedRows'")
    return int(count)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (COMMON, [*range(TEXTS - 1, TEXTS - 21, -1)]),
        (RARE, [90_007, 80_007, 70_007, 60_007, 50_007, 40_007, 30_007, 20_007, 10_007, 7]),
        (f"{RARE} {OLD}", [10_007, 7]),
        (f"{RARE} OR w14285", [*range(TEXTS - 1, TEXTS - 6, -1), *range(90_007, 0, -10_000)]),
        ("kind:answer", [*range(TEXTS - 1, TEXTS - 21, -1)]),
        ("nowhere", []),
    ],
)
def test_the_newest_that_have_the_words_come_first(
    many: ClickHouseStore, text: str, expected: list[int]
) -> None:
    assert take(walk(many, text).propose(None), 20) == expected


def test_all_texts_come_once_and_in_order(many: ClickHouseStore) -> None:
    assert take(walk(many, OLD).propose(None), TEXTS) == [*range(19_999, -1, -1)]
    before: TextKey = (30_000_000, 1, place(30_000, 0))
    assert take(walk(many, COMMON).propose(before), TEXTS) == [*range(29_999, -1, -1)]
    assert take(walk(many, COMMON).propose(before, True), 2) == [30_000, 29_999]


def test_words_are_asked_of_the_index_and_not_read(many: ClickHouseStore) -> None:
    plan = explain(many, walk(many, f"{RARE} {COMMON}"))
    assert "Name: by_word" in plan
    assert "Read type: InReverseOrder" in plan
    [output] = [line for line in plan.splitlines() if "Output: " in line and "__text_index" in line]
    assert ", words" not in output


@pytest.mark.parametrize("text", [COMMON, RARE, "kind:answer", "nowhere"])
def test_a_page_reads_few_texts(many: ClickHouseStore, text: str) -> None:
    proposals, before = walk(many, text).propose(None), count_read(many._engine)
    take(proposals, 20)
    assert count_read(many._engine) - before <= PART


def test_fragments_are_found_in_the_list_of_words(many: ClickHouseStore) -> None:
    def find(text: str, left: bool, right: bool, most: int = 100) -> list[str] | None:
        return list_words(many._engine, Fragment(text, left, right), most)

    assert find("1428", True, False) == ["w1428", "w11428"][::-1]
    assert find("w1428", False, True) == ["w1428", *(f"w1428{digit}" for digit in range(6))]
    assert find("w", False, True) is None
    assert find("%", True, True) == []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ClickHouseStore]:
    with closing(make_store(tmp_path)) as store:
        yield store


def make_lines(*texts: str, session_id: str = "session-1") -> bytes:
    return b"".join(make_line(number, text=text, session_id=session_id) for number, text in enumerate(texts))


def count(engine: Engine, table: str, where: str = "true") -> int:
    [(found,)] = engine.query(f"SELECT count() FROM {table} WHERE {where}")
    return int(found)


def test_texts_have_places_in_the_order_of_lines() -> None:
    places = [(0, 0), (0, 1), (1, 0), (1 << 30, 1 << 20)]
    assert [find_place(place(*each)) for each in places] == places
    assert sorted(places) == sorted(places, key=lambda each: place(*each))


def test_what_is_staged_is_not_found(store: ClickHouseStore) -> None:
    batch = keep(store, {"session-1.jsonl": make_lines("one word", "another word")})
    session = store._reading(LOCAL).find([batch.key])[batch.key]
    [source] = batch.sources

    def stage() -> None:
        with store._writing(LOCAL.owner, None, [Staged(session.id, session.born)]) as write:
            writer = TextWriter(write)
            writer.add(session, source.source, 0, unpack_texts(source.texts), anew=True)
            writer.close()
            assert count(store._engine, "texts") == 4
            assert len(search(store, "word")) == 2
            raise StoreError("no more")

    with pytest.raises(StoreError, match="no more"):
        stage()
    assert count(store._engine, "texts") == 2
    assert len(search(store, "word")) == 2


def test_what_is_inserted_twice_is_found_once(store: ClickHouseStore) -> None:
    keep(store, {"session-1.jsonl": make_lines(*(f"word {number}" for number in range(100)))})
    store._engine.command("INSERT INTO texts SELECT * FROM texts")
    assert len(search_all(store, "word", 7)) == 100
    assert len(search_all(store, "word", 7, SearchOrder.RELEVANCE)) == 100


def test_a_page_takes_few_statements(store: ClickHouseStore) -> None:
    for number in range(30):
        name = f"session-{number}"
        keep(store, {f"{name}.jsonl": make_lines("some word", session_id=name)}, session_id=name)
    before = store._engine.statements
    assert len(store.search(LOCAL, parse_query("word")).hits) == 20
    assert store._engine.statements - before <= 8


def test_what_is_superseded_is_tidied_away(store: ClickHouseStore) -> None:
    for number in range(1, 60, 3):
        keep(store, {"session-1.jsonl": make_lines(*(f"old{line} word" for line in range(number)))})
    keep(store, {"session-1.jsonl": make_lines("anew word")})
    keep(store, {"session-2.jsonl": make_lines("second word", session_id="session-2")}, session_id="session-2")
    hits, engine = search(store, "word"), store._engine
    messages = store.list_messages(LOCAL, hits[0].session or "")
    assert count(engine, "texts", "generation = 0") > 50
    former = count(engine, "rows")
    for now_ns in (1, 2, 3):
        tidy_tables(store, now_ns + 10**18, pause_ns=0)
    assert count(engine, "texts") == 2
    assert count(engine, "words", "word LIKE 'old%'") == 0
    assert count(engine, "rows") <= former
    assert search(store, "word") == hits
    assert store.list_messages(LOCAL, hits[0].session or "") == messages


def test_former_revisions_are_deleted_if_they_are_many(
    store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.store.clickhouse.tidying._MUCH", 1)
    for number in (3, 8, 5, 2):
        keep(store, {"session-1.jsonl": make_lines(*(f"{number} word {line}" for line in range(number)))})
    [known] = store.list_known(LOCAL)
    before = store.list_messages(LOCAL, known.key), list(store.list_sightings(LOCAL))
    key = "session, kind, source, idx"
    surplus = f"({key}) IN (SELECT {key} FROM rows GROUP BY {key} HAVING count() > 1)"
    assert count(store._engine, "rows", surplus) > 0
    tidy_tables(store, 10**18, pause_ns=0)
    assert count(store._engine, "rows", surplus) > 0, "somebody may be reading what was just superseded"
    tidy_tables(store, 10**18 + 1, pause_ns=0)
    assert count(store._engine, "rows", surplus) == count(store._engine, "rows", "gone") == 0
    assert count(store._engine, "sightings") == count(store._engine, "rows", "kind = 6")
    assert (store.list_messages(LOCAL, known.key), list(store.list_sightings(LOCAL))) == before


def test_words_that_somebody_is_writing_stay(store: ClickHouseStore) -> None:
    keep(store, {"session-1.jsonl": make_lines("first word")})
    before = count(store._engine, "words")
    with store._writing(LOCAL.owner, ["m:elsewhere"]) as write:
        store._engine.command(
            f"INSERT INTO words VALUES ('coming', {write.number}, toLastDayOfMonth(today())), "
            "('nobodys', 0, toLastDayOfMonth(today()))"
        )
        purge_words(store._engine, store._control)
        assert count(store._engine, "words", "word = 'coming'") == 1
        assert count(store._engine, "words") == before + 1
    purge_words(store._engine, store._control)
    assert count(store._engine, "words") == before


def test_cleared_texts_are_those_of_hooks(store: ClickHouseStore) -> None:
    keep(store, {"session-1.jsonl": make_lines("a word")})
    payload = b'{"hook_event_name":"Notification","message":"told word"}'
    store.add_deliveries(LOCAL, [HookDelivery(delivery_id="d1", received_ns=5000, payload=payload)])
    assert len(search(store, "word")) == 2
    store.clear_texts()
    assert [hit.delivery_id for hit in search(store, "word")] == ["d1"]
    assert [hit.delivery_id for hit in search(store, "*ol*")] == ["d1"]


def test_words_that_are_not_listed_are_told_and_all_are_asked_for_at_once(store: ClickHouseStore) -> None:
    [source] = keep(store, {"session-1.jsonl": make_lines(*(f"word{line} many" for line in range(50)))}).sources
    before = store._engine.statements
    assert store.check_texts(LOCAL, source.source, 0, source.texts) == []
    assert store._engine.statements - before < 10
    store._engine.delete("words", "word = 'word7'")
    told = store.check_texts(LOCAL, source.source, 0, source.texts)
    assert told == ["text 1 of line 8 is indexed by words that are not listed"]


def test_short_words_of_any_script_are_listed(store: ClickHouseStore) -> None:
    batch = keep(store, {"s.jsonl": make_line(0, text="не я öl 漢字")})

    assert [hit.session for hit in search(store, "*е")] == [batch.key]
    assert list_words(store._engine, Fragment("я", True, True), 10) == ["я"]
