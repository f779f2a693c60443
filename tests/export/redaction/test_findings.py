"""Patterns are tried where their words stand, and find there what they find anywhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.export.secret_patterns import Kind, find_homes, match_words

PATTERNS = {
    r"(?:ab|b-)[ab]{1,3}": ("ab", "b-"),
    r"\bab(?:ab)?(?!b)": ("ab",),
    r"(?<![a-z])(?:aba|ab)(?![a-z])": ("aba", "ab"),
}


@pytest.mark.parametrize("form", PATTERNS)
@given(text=st.text("ab- AB", max_size=40))
def test_what_begins_with_a_word_is_found_as_if_every_place_was_tried(form: str, text: str) -> None:
    words = PATTERNS[form]
    found = [match.span() for match in match_words(re.compile(form), text, words)]
    assert found == [match.span() for match in re.finditer(form, text)]
    anyhow = re.compile(form, re.IGNORECASE)
    found = [match.span() for match in match_words(anyhow, text, words, text.lower())]
    assert found == [match.span() for match in anyhow.finditer(text)]


@pytest.mark.parametrize(
    ("text", "homes"),
    [
        ("cd /home/ada/x; ls /home/bob", ["/home/ada", "/home/bob"]),
        ("C:/Users/ada/x and d:/Users/bob", ["C:/Users/ada", "d:/Users/bob"]),
        ("file:///Users/ada, é:/Users/bob", ["/Users/ada", "/Users/bob"]),
        ("/Users/adaC:/Users/bob", ["/Users/adaC", "/Users/bob"]),
        (r"C:\Users\ada or C:\\Users\\bob", [r"C:\Users\ada", r"C:\\Users\\bob"]),
        ("/home//x /home/", []),
    ],
)
def test_homes_are_found_with_the_letter_of_their_drive(text: str, homes: list[str]) -> None:
    found = [each for each in find_homes(text) if each.kind is Kind.HOME]
    assert [text[each.start : each.end] for each in found] == homes
