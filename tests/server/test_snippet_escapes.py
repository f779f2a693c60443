"""Snippets without what only a terminal understands."""

from __future__ import annotations

import pytest

from turnlog.server.routes.sessions import strip_escapes
from turnlog.store.search.matcher import Snippet


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.marks]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing to do [1m]", "nothing to do [1m]"),
        ("\x1b[31mred\x1b[0m and \x1b[1;4mbold\x1b[m", "red and bold"),
        ("\x1b[2K\x1b[1Gline", "line"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bMup \x1b(Bplain", "up plain"),
        ("at the end \x1b", "at the end "),
        ("at the end \x1b[3…", "at the end …"),
        ("…[31mcut off\x1b[0m", "…cut off"),
    ],
)
def test_escapes_are_taken_out(text: str, shown: str) -> None:
    assert strip_escapes(Snippet(text)).text == shown


def test_marks_stay_with_what_they_mark() -> None:
    text = "\x1b[31merror\x1b[0m: two err\x1b[1mors here"
    marks = ((5, 10), (20, 30))
    assert [text[start:end] for start, end in marks] == ["error", "err\x1b[1mors"]
    assert marked(strip_escapes(Snippet(text, marks))) == ["error", "errors"]


def test_a_mark_within_an_escape_goes_with_it() -> None:
    found = strip_escapes(Snippet("\x1b[31mred", ((2, 5), (5, 8))))
    assert (found.text, marked(found)) == ("red", ["red"])


def test_what_has_no_escapes_stays_the_same() -> None:
    snippet = Snippet("plain", ((0, 5),))
    assert strip_escapes(snippet) is snippet
