"""Nothing in a transcript acts on a terminal."""

from __future__ import annotations

import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.cli.terminal import clean, clean_line, escape_json, shorten

JOINERS = "\u200c\u200d"
VISIBLE_FORMATS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Signs that Unicode calls formats but that are drawn, as the Arabic sign for the end of a verse."""

any_text = st.text(st.characters()) | st.text(
    st.sampled_from("a\x1b[31m\x07\x9b\r\n\t\u202e\u200d\u200b\ud800é👩💻\U000e0041")
)


def is_unsafe(character: str) -> bool:
    category = unicodedata.category(character)
    if character in "\n\t" or character in VISIBLE_FORMATS:
        return False
    return category in ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(any_text)
def test_cleaned_text_has_nothing_that_acts(text: str) -> None:
    cleaned = clean(text)
    for index, character in enumerate(cleaned):
        if character in JOINERS:
            assert cleaned[index - 1] > "\x7f"
            assert cleaned[index + 1] > "\x7f"
        else:
            assert not is_unsafe(character)


@given(any_text)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_every_character_that_acts_is_escaped_and_no_other() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) == "Cn":
            continue
        assert (clean(character) != character) is is_unsafe(character), f"U+{code:04X}"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b]8;;http://evil\x1b\\link", "\\x1b]8;;http://evil\\x1b\\link"),
        ("\x9b31m", "\\x9b31m"),
        ("back\x08space\x7f", "back\\x08space\\x7f"),
        ("over\rwritten", "over\\x0dwritten"),
        ("two\r\nlines", "two\nlines"),
        ("a\tb\nc", "a\tb\nc"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("\u2066isolate\u2069", "\\u2066isolate\\u2069"),
        ("pass\u200bword", "pass\\u200bword"),
        ("pass\u200dword", "pass\\u200dword"),
        ("half \ud83d", "half \\ud83d"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("👩\u200d💻 é 日本 \u0645\u06cc\u200c\u062e", "👩\u200d💻 é 日本 \u0645\u06cc\u200c\u062e"),
        ("\u202e\u200d\u202e", "\\u202e\\u200d\\u202e"),
    ],
)
def test_what_acts_becomes_visible(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_a_line_has_no_breaks() -> None:
    assert clean_line("  one\n\ttwo\u2028three\x1b ") == "one two three\\x1b"


def test_short_text_is_kept_and_long_text_is_cut() -> None:
    assert shorten("short", 5) == "short"
    assert shorten("too long for this", 8) == "too lon…"
    assert shorten("\x1b" * 100, 9) == "\\x1b\\x1b…"
    assert len(shorten("x" * 10_000_000, 80)) == 80
    assert shorten("a" + " " * 1000 + "b", 10) == "a…"


@given(any_text.filter(lambda text: not re.search("[\ud800-\udfff]", text)))
def test_escaped_json_means_the_same_and_does_nothing(text: str) -> None:
    data = json.dumps({"text": text}, ensure_ascii=False).encode()
    escaped = escape_json(data)
    assert json.loads(escaped) == {"text": text}
    assert not any(is_unsafe(character) for character in escaped.decode())
