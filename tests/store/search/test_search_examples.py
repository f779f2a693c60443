"""The language of searches by examples: what a query finds and what it does not, and what its errors say."""

from __future__ import annotations

import pytest

from turnlog.errors import QueryError
from turnlog.store.search.language import parse_query
from turnlog.store.search.matcher import Matcher

EXAMPLES = [
    ("parser", "The PARSER failed.", True),
    ("parser", "parsers", False),
    ("pars*", "parsers", True),
    ("*sers", "parsers", True),
    ("*arse*", "parsers", True),
    ("bar", "foo_bar", True),
    ("foo_bar", "xfoo_barx", True),
    ("--no-verify", "git commit --no-verify", True),
    ("print(x)", "print(x)", True),
    ("std::vector", "std::vector<int>", True),
    ('"to be"', "to   be", True),
    ('"to be"', "to become", False),
    ('"to be"*', "to become", True),
    ('"C++ is"', "C++ is", True),
    ("東京", "私は東京へ行く", True),
    ("Python", "Pythonで書く", True),
    ("각", "각자", True),
    ("가", "각", False),
    ("cafe", "CAFÉ", True),
    ("cafe accents:yes", "CAFÉ", False),
    ("Foo case:yes", "foo", False),
    ("strasse", "Straße", False),
    ("a b", "b and a", True),
    ("a -b", "b and a", False),
    ("x a OR b", "x b", True),
    ("x a OR b", "b", False),
    ('"x a" OR b', "b", True),
    ("-(a OR b)", "c", True),
    ('"OR"', "this or that", True),
]
ERRORS = [
    ("parser -", "Expected a term directly after -, got nothing - at character 8"),
    ('say "hello', 'Expected a closing " for this quote, got the end - at character 5'),
    ("(a b", "Expected ) for this parenthesis, got the end - at character 1"),
    ("a OR", "Expected a term after OR, got nothing - at character 3"),
    ("is:broken", "Expected is: to be one of error, sidechain, got broken - at character 4"),
    (
        "after:soon",
        "Expected a time like 2026-03-14, 2026-03-14T15:09, today or 7d (min, h, d, w, mo, y), got soon"
        " - at character 7",
    ),
    ("tool:", "Expected a value for tool:, got nothing - at character 6"),
    ("*", "Expected something to look for, got * - at character 1"),
]


@pytest.mark.parametrize(("query", "text", "found"), EXAMPLES)
def test_examples(query: str, text: str, found: bool) -> None:
    assert Matcher(parse_query(query)).matches(text) is found


@pytest.mark.parametrize(("query", "message"), ERRORS)
def test_errors(query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(query)
    assert str(caught.value) == message
