"""The laws of the normal form."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.search.matching_reference import compares
from store.search.search_strategies import texts
from turnlog.store.search.normal_form import is_word, normalise, restore_spans

modes = st.fixed_dictionaries({"case": st.booleans(), "accents": st.booleans()})


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Foo BAR", "foo bar"),
        ("Straße STRAẞE", "straße straße"),
        ("İstanbul ısı", "istanbul ısı"),
        ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
        ("Tiếng Việt", "tieng viet"),
        ("e\u0323\u0302 e\u0302\u0323", "e e"),
        ("x\u0302", "x"),
        ("Ёлка Йод", "елка иод"),
        ("ſ µ K Å", "s μ k a"),
        ("ø đ ł ı", "ø đ ł ı"),
        ("שָׁלוֹם", "שלום"),
        ("أَب", "اب"),
        ("が か\u3099 ガ", "が が ガ"),
        ("한국 \u1112\u1161\u11ab", "한국 한"),
        ("กี่", "กี่"),
        ("क\u093c \u0958", "क\u093c क\u093c"),
        ("≠ =\u0338 =", "≠ ≠ ="),
        ("⚠\ufe0f", "⚠"),
        ("\ud83d É", "\ud83d e"),
        ("\u1112\u0301\u1161", "하"),
        ("", ""),
    ],
)
def test_normal_forms(text: str, normal: str) -> None:
    assert normalise(text) == normal


def test_what_is_asked_for_stays() -> None:
    assert normalise("É Ä", case=True) == "E A"
    assert normalise("É E\u0301", accents=True) == "é é"
    assert normalise("É e\u0301", case=True, accents=True) == "É é"


@given(texts, modes)
def test_it_is_what_the_reference_says(text: str, mode: dict[str, bool]) -> None:
    assert normalise(text, **mode) == compares(text, **mode)


@given(texts, modes)
def test_a_normal_form_is_its_own(text: str, mode: dict[str, bool]) -> None:
    normal = normalise(text, **mode)
    assert normalise(normal, **mode) == normal
    assert normalise(normal) == normalise(text), "what is stricter loses nothing that the plain form needs"


@given(texts, modes)
def test_texts_that_are_canonically_equal_are_equal(text: str, mode: dict[str, bool]) -> None:
    for form in ("NFC", "NFD"):
        assert normalise(unicodedata.normalize(form, text), **mode) == normalise(text, **mode)


@given(texts, texts, modes)
def test_parts_are_normalised_by_themselves(first: str, second: str, mode: dict[str, bool]) -> None:
    joins = second[:1] and (unicodedata.category(second[0])[0] == "M" or "\u1161" <= second[0] <= "\u11c2")
    if not joins:
        assert normalise(first + second, **mode) == normalise(first, **mode) + normalise(second, **mode)


@given(st.lists(st.sampled_from([*"aÉ漢x日本語éüñçøåæœþðžšč"]), min_size=60, max_size=80).map("".join))
def test_many_different_characters_are_changed_as_few_are(text: str) -> None:
    assert normalise(text) == "".join(map(normalise, text))


@given(texts, modes, st.data())
def test_spans_lead_back(text: str, mode: dict[str, bool], data: st.DataObject) -> None:
    normal = normalise(text, **mode)
    if not normal:
        return
    start = data.draw(st.integers(0, len(normal) - 1))
    end = data.draw(st.integers(start + 1, len(normal)))
    ((first, last),) = restore_spans(text, [(start, end)], **mode)
    assert 0 <= first < last <= len(text)
    assert normal[start:end] in normalise(text[first:last], **mode)
    assert restore_spans(text, [(0, len(normal))], **mode)[0][1] == len(text) or not normalise(text[-1], **mode)


def test_nothing_leads_back_to_nothing() -> None:
    assert restore_spans("é", []) == []


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("x e\u0301 y", (2, 3), (2, 4)),
        ("x e\u0301 y", (4, 5), (5, 6)),
        ("x e\u0301 y", (0, 5), (0, 6)),
        ("\u0301x", (0, 1), (1, 2)),
        ("ab\u0301", (0, 2), (0, 3)),
        ("a\u0301b\u0301c", (1, 2), (2, 4)),
        ("x" * 9 + "\u1100\u1161\u11a8" + "y", (9, 11), (9, 13)),
    ],
)
def test_spans_grow_to_whole_characters(text: str, span: tuple[int, int], expected: tuple[int, int]) -> None:
    assert restore_spans(text, [span]) == [expected]


def test_whether_a_character_makes_a_word_does_not_depend_on_its_form() -> None:
    """Else words of an index that knows one form were not those of a query that asks for another."""
    for code in range(128, 0x30000):
        character = chr(code)
        normal = normalise(character)
        if len(normal) == 1:
            assert is_word(normal) is is_word(character), hex(code)
        elif not normal:
            assert is_word(character), hex(code)
