"""Very long texts, taken in pieces, give the cells that they give as a whole; what is repeated is cut once."""

from __future__ import annotations

import random

import pytest

from turnlog.store.batch import TextFact
from turnlog.store.search import texts
from turnlog.store.search.texts import CellCache, LongText, build_text, cut_cells
from turnlog.transcripts.lines.passages import Passage, PassageKind

PARTS = (
    *("a", "B", "é", "e\u0301", "漢", "한", "\u1112\u1161\u11ab", "\u05d0\u05b0", "İ", "ß", "🎉", "\u0301"),
    *(" ", "\n", "\t", "_", "-", "0", "\0", "\ud800", "word ", " " * 30, "x" * 50, "漢字" * 40),
    *("z" * 9_000, "q1" * 4_500),
)


def make_text(number: int) -> str:
    choose = random.Random(number)
    some = choose.sample(PARTS, choose.randrange(1, 8))
    return "".join(choose.choices(some, k=choose.randrange(1, 80))) * choose.choice((1, 1, 1, 20))


@pytest.mark.parametrize("size", [150, 600, 5_000])
def test_cells_are_the_same_wherever_a_text_is_cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_PIECE", size)
    monkeypatch.setattr(texts, "_NEAR", 100)
    for number in range(120):
        text = make_text(number)[:40_000]
        cells = LongText(text)
        assert list(cells) == cut_cells(text)
        assert len(cells) == len(list(cells))


def test_a_very_long_text_is_what_it_would_be_if_it_were_short(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Passage(PassageKind.TOOL_OUTPUT, 1, "".join(f"line {number} of it\n" for number in range(100_000)))
    found = build_text(1, 1, long, 7)
    assert isinstance(found.cells, LongText)
    monkeypatch.setattr(texts, "_LONG", 1 << 30)
    whole = build_text(1, 1, long, 7)
    names = [name for name in TextFact.__struct_fields__ if name != "cells"]
    assert [getattr(found, name) for name in names] == [getattr(whole, name) for name in names]
    assert tuple(found.cells) == whole.cells


def test_what_was_said_lately_is_not_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []

    def count(text: str) -> list[str]:
        cut.append(text)
        return cut_cells(text)

    monkeypatch.setattr(texts, "cut_cells", count)
    monkeypatch.setattr(texts, "_KEPT", 16_000)
    cache = CellCache()
    said = [f"{number} {'was said before ' * 60}" for number in range(100)]
    for text in said:
        assert cache.cut(text) == cache.cut(text) == tuple(cut_cells(text))
    assert cut == said
    cache.cut(said[-1])
    assert cut == said
    cache.cut(said[0])  # so much is not kept
    assert cut == [*said, said[0]]
    long = "x " * 1000
    assert cache.cut(long) == cache.cut(long)
    assert cut[-2:] == [long, long]
