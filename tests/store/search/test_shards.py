"""Shards: the index that other processes build is the one that the writer would have built.

They rest on how FTS5 keeps its tables, which is not documented: a newer SQLite has to pass this first.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from turnlog.errors import StoreError
from turnlog.ingest.pipeline import settle_later
from turnlog.store.batch import SessionBatch
from turnlog.store.catalogue.sqlite import SqliteConnection
from turnlog.store.interface import MaintainedStore, Sharding
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_sharding, open_store
from turnlog.store.search.language import parse_query
from turnlog.store.search.sqlite import SqliteTextIndex
from turnlog.store.search.texts import build_text
from turnlog.testing.builders import make_batch, make_key, make_line
from turnlog.transcripts.lines.passages import Passage, PassageKind

TEXTS = 12
"""How many texts each session has."""


def own_word(number: int) -> str:
    """Return a word that only one session has."""
    return "".join("qwxyzhjc"[number >> shift & 7] for shift in (6, 3, 0)).center(7, "w")


class World:
    """A store to which others add shards, and all that was said in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: MaintainedStore = open_store(path)
        sharding = open_sharding(path)
        assert sharding is not None
        self.sharding: Sharding = sharding
        self.texts: dict[tuple[str, int], str] = {}
        self._own_words: set[str] = set()
        self._choice = random.Random(20260814)
        self._words = ["".join(self._choice.choices("aeioubdfgklmnprst", k=6)) for _ in range(400)]

    def say(self, number: int) -> SessionBatch:
        """Return a new session of so many texts."""
        name = f"session-{number}"
        self._own_words.add(own_word(number))
        lines = []
        for line in range(TEXTS):
            text = " ".join(self._choice.choices(self._words, k=self._choice.choice((3, 30, 300))))
            self.texts[name, line] = f"{text} {own_word(number)}"
            lines.append(make_line(line, text=self.texts[name, line], session_id=name))
        return make_batch({f"{name}.jsonl": b"".join(lines)}, session_id=name)

    def index(self, batches: list[SessionBatch], numbers: Iterator[int]) -> list[SessionBatch]:
        """Index batches in a shard."""

        def allot(cells: int) -> int:
            first = next(numbers)
            for _ in range(cells - 1):
                next(numbers)
            return first

        indexed = [batch for batch in self.sharding.build(batches, allot) if batch is not None]
        assert [batch.shard is not None for batch in indexed] == [True, *(False for _ in indexed[1:])]
        return indexed

    def add(self, count: int, numbers: Iterator[int]) -> None:
        """Write new sessions at once, each with a shard of its texts."""
        first = len(self.texts) // TEXTS
        indexed = [self.index([self.say(number)], numbers) for number in range(first, first + count)]
        self.store.apply([batch for batches in indexed for batch in batches])

    def check(self) -> None:
        """See that a search finds what is there, each once, by whole words and by fragments."""
        words = self._choice.sample(self._words, 3)
        fragments = [f"*{word[1:5]}*" for word in (words[0], *sorted(self._own_words))]
        for needle in (*words, *fragments, f"*{words[1][3:]} {words[2]}"):
            patterns = [re.compile(part.replace("*", "[a-z]*").join((r"\b", r"\b"))) for part in needle.split()]
            expected = sorted(
                place for place, text in self.texts.items() if all(each.search(text) for each in patterns)
            )
            hits = self.store.search(LOCAL, parse_query(needle), limit=10_000).hits
            assert sorted((hit.session_id, hit.line) for hit in hits) == expected, needle

    def count_segments(self) -> int:
        """Return in how many pieces the index is."""
        with closing(apsw.Connection(str(self.path))) as connection:
            [(count,)] = connection.execute("SELECT count(DISTINCT segid) FROM cells_idx")
        return int(count)

    def count_cells(self) -> tuple[int, int]:
        """Return how many cells the index has, and how many of them are of texts."""
        with closing(apsw.Connection(str(self.path))) as connection:
            connection.execute("INSERT INTO cells (cells) VALUES ('integrity-check')")
            [(cells,)] = connection.execute("SELECT count(*) FROM cells_docsize")
            [(own,)] = connection.execute("SELECT sum(last_cell - first_cell + 1) FROM text_runs")
        return cells, own or 0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "turnlog.db")
    yield world
    world.sharding.close()
    world.store.close()


def test_searches_are_right_after_each_shard(world: World) -> None:
    numbers = world.sharding.reserve(100_000)
    free = iter(numbers)
    for _ in range(8):  # more shards than are left unmerged
        world.add(3, free)
        world.check()
    world.sharding.release(numbers, next(free) - numbers.start)
    cells, own = world.count_cells()
    assert cells == own
    world.store.maintain()
    world.check()
    assert world.count_cells() == (cells, own)


def test_shards_may_come_in_any_order_with_what_the_writer_indexes_between_them(world: World) -> None:
    numbers = world.sharding.reserve(100_000)
    free = iter(numbers)
    ready = [world.index([world.say(number)], free) for number in range(6)]
    world.store.apply([world.say(6)])
    for indexed in (ready[4], ready[0]):
        world.store.apply(indexed)
    world.store.apply([world.say(7)])
    world.store.maintain()  # lists words of all cells that there may be, as of those to come
    for indexed in (ready[5], ready[1], ready[3], ready[2]):
        world.store.apply(indexed)
    world.sharding.release(numbers, next(free) - numbers.start)
    world.check()
    world.store.apply([world.say(8)])
    world.store.maintain()
    world.check()
    cells, own = world.count_cells()
    assert cells == own


def test_a_store_is_put_in_order_in_the_background_and_whatever_stops_that(world: World) -> None:
    numbers = world.sharding.reserve(100_000)
    free = iter(numbers)
    world.add(14, free)
    world.sharding.release(numbers, next(free) - numbers.start)
    assert world.count_segments() > 1
    world.store.close()
    choice = random.Random(7)
    for _ in range(4):
        process = settle_later(world.path)
        assert process is not None
        time.sleep(choice.uniform(0.1, 0.5))
        process.kill()
        process.wait()
        world.store = open_store(world.path)
        world.check()
        world.store.close()
    process = settle_later(world.path)
    assert process is not None
    assert process.wait() == 0
    world.store = open_store(world.path)
    world.check()
    cells, own = world.count_cells()
    assert cells == own


def test_texts_of_a_shard_are_deleted_like_any_others(world: World) -> None:
    free = iter(world.sharding.reserve(100_000))
    for _ in range(5):
        world.add(3, free)
    gone = {f"session-{number}" for number in range(0, 15, 2)}
    world.store.forget(LOCAL, [make_key(name) for name in gone])
    world.texts = {place: text for place, text in world.texts.items() if place[0] not in gone}
    world.check()
    cells, own = world.count_cells()
    assert cells == own
    world.store.maintain()
    world.check()


def test_what_is_written_a_second_time_or_was_forgotten_leaves_no_cells(world: World) -> None:
    free = iter(world.sharding.reserve(100_000))
    first, second = world.say(0), world.say(1)
    world.store.apply(world.index([first, second], free))
    before = world.count_cells()
    world.store.apply(world.index([first, second], free))
    assert world.count_cells() == before
    world.store.forget(LOCAL, [first.key])
    world.store.apply(world.index([first, second], free))
    world.texts = {place: text for place, text in world.texts.items() if place[0] == "session-1"}
    world.check()
    cells, own = world.count_cells()
    assert cells == own < before[0]


def test_a_failed_write_leaves_nothing_of_its_shard(world: World) -> None:
    free = iter(world.sharding.reserve(100_000))
    world.add(2, free)
    before = world.count_cells()
    batches = world.index([world.say(2)], free)
    world.texts = {place: text for place, text in world.texts.items() if place[0] != "session-2"}
    with pytest.raises(StoreError, match="not a batch"):
        world.store.apply([*batches, _Broken()])  # type: ignore[list-item]
    assert world.count_cells() == before
    world.add(1, free)
    world.check()


class _Broken:
    """Fails in the middle of a transaction."""

    key, owner = "broken", ""

    def __getattr__(self, name: str) -> object:
        raise ValueError("not a batch")


def test_without_numbers_texts_stay_in_their_batch(world: World) -> None:
    batch = world.say(0)
    [same] = world.sharding.build([batch], lambda cells: None)
    assert same is not None
    assert same.shard is None
    world.store.apply([same])
    world.check()


def test_a_connection_that_has_searched_sees_what_it_takes_over(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "index.db"))) as driver:
        connection, index = SqliteConnection(tmp_path / "index.db", driver), SqliteTextIndex()
        index.create(connection)

        def count(word: str) -> int:
            [(found,)] = driver.execute("SELECT count(*) FROM cells WHERE cells MATCH ?", (word,))
            return int(found)

        index.write(
            connection,
            1,
            [build_text(0, 0, Passage(text="alpha " * 5000, kind=PassageKind.PROMPT, block=0), 0)],
        )
        assert count("alpha") > 1
        builder = index.sharding.begin()
        fact = build_text(0, 0, Passage(text="beta", kind=PassageKind.PROMPT, block=0), 0)
        numbers = index.sharding.reserve(connection, 1000)
        builder.add([fact], numbers.start)
        shard = builder.finish()
        assert shard is not None
        with driver:
            index.sharding.take_over(connection, shard)
        assert count("beta") == 1
        index.sharding.release(connection, numbers, 1)
        index.write(
            connection,
            1,
            [build_text(1, 0, Passage(text="gamma " * 5000, kind=PassageKind.PROMPT, block=0), 0)],
        )
        assert (count("alpha") > 1, count("beta"), count("gamma") > 1) == (True, 1, True)
