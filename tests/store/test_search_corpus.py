"""Every hit of a search over real sessions, no more and no less, compared with reading all of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import settings

from corpus_archive import CorpusArchive
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.search.language import CHOICES, parse_query
from turnlog.store.search.paging import Hit
from turnlog.testing.checks import Scan

QUERIES = settings().max_examples * 13 // 10
MOST = 40
"""How many hits of a query are compared; of some, all are."""
SEED = 6
WORD = re.compile(r"[^\W_]+")


@pytest.fixture(scope="module")
def store(corpus_archive: CorpusArchive) -> Iterator[Store]:
    with closing(open_store(corpus_archive.place, read_only=True)) as opened:
        yield opened


@pytest.fixture(scope="module")
def scan(store: Store) -> Scan:
    return Scan(store, LOCAL)


class Chooser:
    """Makes up queries of what is there."""

    def __init__(self, scan: Scan) -> None:
        self._random = random.Random(SEED)
        self._texts = [text for text in scan.texts if WORD.search(text)]
        self._settings = scan.settings
        self._foreign = [
            text for text in self._texts if re.search("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]", text)
        ]

    def __iter__(self) -> Iterator[str]:
        makers = [
            self.word,
            self.word,
            self.phrase,
            self.prefix,
            self.suffix,
            self.piece,
            self.fragment,
            self.foreign,
        ]
        makers += [self.filtered, self.either, self.without, self.cased, self.both]
        for number in range(QUERIES):
            text = ""
            while not text.strip('" \n\t\r\x1c\x1d\x1e\x1f'):
                text = makers[number % len(makers)]()
            yield text

    def text(self) -> str:
        return self._random.choice(self._texts)

    def word(self) -> str:
        found: str = self._random.choice(WORD.findall(self.text())[:200])
        return found

    def stretch(self, length: int) -> str:
        text = self.text()
        start = self._random.randrange(len(text))
        return text[start : start + self._random.randint(1, length)]

    def phrase(self) -> str:
        words = list(WORD.finditer(self.text()))
        first = self._random.randrange(len(words))
        last = min(len(words) - 1, first + self._random.randint(0, 5))
        text: str = words[first].string
        return quote(text[words[first].start() : words[last].end()])

    def piece(self) -> str:
        found = self.stretch(40).split()
        return bare(self._random.choice(found)) if found else self.word()

    def prefix(self) -> str:
        word = self.word()
        return f"{word[: self._random.randint(1, len(word))]}*"

    def suffix(self) -> str:
        word = self.word()
        return f"*{word[self._random.randrange(len(word)) :]}"

    def fragment(self) -> str:
        word = self.word()
        start = self._random.randrange(len(word))
        return f"*{word[start : start + self._random.randint(1, 6)]}*"

    def foreign(self) -> str:
        if not self._foreign:
            return self.phrase()
        text = self._random.choice(self._foreign)
        start = self._random.randrange(len(text))
        return quote(text[start : start + self._random.randint(1, 6)])

    def filter(self) -> str:
        setting = self._random.choice(self._settings)
        name = self._random.choice(
            (
                "project",
                "session",
                "tool",
                "model",
                "role",
                "category",
                "branch",
                "file",
                "kind",
                "agent",
                "is",
                "after",
            )
        )
        if name == "is":
            return f"is:{self._random.choice(CHOICES['is'])}"
        if name == "after":
            moment = self._random.choice(("2026-01-15", "2026-06-01T12:00", "2025-11-11"))
            return f"{self._random.choice(('after', 'before'))}:{moment}"
        fields = {"session": "session_ids", "agent": "agents"}
        value = getattr(setting, fields.get(name, name))
        value = self._random.choice(value) if isinstance(value, tuple) and value else value
        if not isinstance(value, str) or not value:
            return self.filter()
        if name in ("project", "file", "branch", "session"):
            value = value[: self._random.randint(4, 40)]
        return f"{name}:{quote(value)}"

    def filtered(self) -> str:
        parts = [self.filter() for _ in range(self._random.randint(1, 2))]
        return " ".join([*parts, *(self.word() for _ in range(self._random.randint(0, 1)))])

    def either(self) -> str:
        return f"{self.word()} OR {self.phrase()}"

    def both(self) -> str:
        words = WORD.findall(self.text())
        return " ".join(bare(word) for word in self._random.choices(words, k=3))

    def without(self) -> str:
        return f"{self.word()} -{self.word()} -{self.filter()}"

    def cased(self) -> str:
        mode = self._random.choice(("case:yes", "accents:yes", "case:yes accents:yes"))
        return f"{self.word()} {mode}"


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def bare(text: str) -> str:
    return quote(text) if re.search(r'["():\\*]|^-|^OR$', text) else text


def search(store: Store, text: str, most: int, limit: int = 25) -> list[Hit]:
    """Return the hits of as many pages as it takes."""
    query = parse_query(text)
    hits: list[Hit] = []
    cursor = None
    while len(hits) < most:
        page = store.search(LOCAL, query, limit=limit, cursor=cursor)
        assert not page.unreadable
        hits += page.hits
        cursor = page.next
        if cursor is None:
            break
    return hits


def name(hit: Hit) -> tuple[object, ...]:
    return hit.source, hit.line, hit.ordinal, hit.delivery_id


def test_hits_equal_a_scan_of_all_passages(store: Store, scan: Scan) -> None:
    found = 0
    for text in Chooser(scan):
        expected = scan.search(parse_query(text), MOST * 2)
        compare(text, search(store, text, MOST), expected)
        found += bool(expected)
    assert found > QUERIES * 0.9


def test_all_pages_of_a_common_word_equal_a_scan(store: Store, scan: Scan) -> None:
    for text in ("the", "-the kind:tool-output"):
        expected = scan.search(parse_query(text))
        assert len(expected) > 1000
        compare(text, search(store, text, len(expected) + 1, 400), expected)


def compare(text: str, hits: list[Hit], expected: list[Hit]) -> None:
    assert len(set(map(name, hits))) == len(hits), text
    # Of those that have the time of the last one, any may have come.
    whole = len(hits) >= len(expected)
    last = 0 if whole else hits[-1].time or 0
    newest = [hit for hit in expected if whole or (hit.time or 0) > last]
    assert {name(hit): hit for hit in hits if whole or (hit.time or 0) > last} == {
        name(hit): hit for hit in newest
    }, text
    assert set(map(name, hits)) <= set(map(name, expected)), text
    assert [hit.time or 0 for hit in hits] == [hit.time or 0 for hit in expected][: len(hits)], text
