"""A line around what was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.search.search_strategies import needles, texts
from turnlog.store.search.language import Form, Query, Term
from turnlog.store.search.matcher import Matcher, Snippet, build_snippet
from turnlog.store.search.normal_form import normalise


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.marks]


def test_a_short_text_is_shown_as_a_whole() -> None:
    assert build_snippet("one two", [(4, 7)]) == Snippet("one two", ((4, 7),))


def test_without_a_span_the_beginning_is_shown() -> None:
    assert build_snippet("a " * 200, width=20).text == "a a a a a a a a a…"


def test_white_space_becomes_one_space() -> None:
    assert build_snippet("\n\n a\n\n\tb  c \n", [(7, 8), (10, 11)]) == Snippet("a b c", ((2, 3), (4, 5)))


def test_it_is_cut_between_words_around_the_span() -> None:
    text = "word " * 100 + "needle" + " tail" * 100
    snippet = build_snippet(text, [(500, 506)], width=40)
    assert snippet == Snippet("…word word needle tail tail tail tail…", ((11, 17),))
    for width in range(30, 60):  # wherever the cut would fall
        words = build_snippet(text, [(500, 506)], width=width).text.strip("…").split()
        assert set(words) == {"word", "needle", "tail"}


def test_a_long_word_is_cut_anywhere() -> None:
    snippet = build_snippet("x" * 500, [(250, 253)], width=40)
    assert len(snippet.text) == 40
    assert marked(snippet) == ["xxx"]


def test_where_most_spans_are_is_shown() -> None:
    text = "a " + "x " * 300 + "b c" + " x" * 300
    snippet = build_snippet(text, [(0, 1), (602, 603), (604, 605)], width=40)
    assert marked(snippet) == ["b", "c"]


def test_a_span_that_is_too_long_is_cut() -> None:
    snippet = build_snippet("y" * 100, [(10, 90)], width=30)
    assert len(snippet.text) <= 30
    assert snippet.marks[0][1] - snippet.marks[0][0] <= 28


@pytest.mark.parametrize("width", [16, 40, 160])
@given(texts, needles, st.integers(0, 60))
def test_every_hit_is_marked_in_a_line_that_fits(width: int, text: str, needle: str, filler: int) -> None:
    if not normalise(needle).strip() or len(needle) > 8:
        return
    body = f"{text} lorem ipsum " * filler + needle + "\n dolor sit amet" * filler
    spans = Matcher(Query(Term(needle, Form.SUBSTRING))).find_spans(body)
    snippet = build_snippet(body, spans, width)
    assert len(snippet.text) <= width
    assert "\n" not in snippet.text
    assert spans
    assert snippet.marks
    last = 0
    for start, end in snippet.marks:
        assert last <= start <= end <= len(snippet.text)
        last = end
