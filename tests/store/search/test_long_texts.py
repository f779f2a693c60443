"""Very long texts, taken in pieces, give the cells that they give as a whole."""

from __future__ import annotations

import random

import pytest

from turnlog.store.search import long_texts
from turnlog.store.search.cells import cut_cells
from turnlog.store.search.indexing import index_form
from turnlog.store.search.long_texts import LongText, clean, cut_text
from turnlog.store.search.packing import TextPacker, build_text, unpack_texts
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


@pytest.mark.parametrize("size", [1, 700, 5_000])
def test_cells_are_the_same_wherever_a_text_is_cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_texts, "_PIECE", 600)
    monkeypatch.setattr(long_texts, "_NEAR", 100)
    for number in range(120):
        text = make_text(number)[: 40_000 if size > 1 else 4_000]
        whole = LongText([text[at : at + size] for at in range(0, len(text), size)], 12)
        assert list(whole) == cut_cells(clean(index_form(text)))
        assert whole.length == len(clean(index_form(text)))


def test_a_very_long_text_is_unpacked_as_any_other() -> None:
    packer = TextPacker()
    short = Passage(PassageKind.PROMPT, 0, "how do you do?")
    long = Passage(PassageKind.TOOL_OUTPUT, 1, "".join(f"line {number} of it\n" for number in range(200_000)))
    expected = [
        build_text(1, 0, short, 7),
        build_text(1, 1, long, 7),
        build_text(2, 0, long, None),
        build_text(3, 0, short, 8),
    ]
    packer.add(expected[0])
    packer.add_long(1, 1, long, 7, cut_text(long.text))
    packer.add_long(2, 0, long, None, [long.text])
    packer.add(expected[3])
    chunks = packer.finish()
    for given in (chunks, iter(chunks)):
        for fact, text in zip(unpack_texts(given), expected, strict=True):
            assert [getattr(fact, name) for name in fact.__struct_fields__[:7]] == [
                getattr(text, name) for name in fact.__struct_fields__[:7]
            ]
            assert len(fact.cells) == len(text.cells)
            assert tuple(fact.cells) == tuple(fact.cells) == tuple(text.cells)
            assert (fact.cells[-1], tuple(fact.cells[:2])) == (text.cells[-1], tuple(text.cells[:2]))
