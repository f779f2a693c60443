"""docs/search.md is true: its examples are hits or not, its errors are said, its lists are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turnlog.errors import QueryError
from turnlog.store.search.language import CHOICES, FILTERS, parse_query
from turnlog.store.search.matcher import Matcher

PAGE = (Path(__file__).parents[3] / "docs" / "search.md").read_text()
EXAMPLES = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (yes|no) \|$", PAGE, re.MULTILINE)
ERRORS = re.findall(r"^\| `(.+?)` \| (Expected .+?) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("query", "text", "found"), EXAMPLES)
def test_examples(query: str, text: str, found: str) -> None:
    assert Matcher(parse_query(query)).matches(text) is (found == "yes")


@pytest.mark.parametrize(("query", "message"), ERRORS)
def test_errors(query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(query)
    assert str(caught.value) == message


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 20
    assert len(ERRORS) > 5


def test_every_filter_and_every_choice_is_explained() -> None:
    assert [name for name in (*FILTERS, "case", "accents") if f"`{name}:" not in PAGE] == []
    for name in ("role", "category", "kind"):
        [row] = re.findall(rf"^\| `{name}:.*$", PAGE, re.MULTILINE)
        assert [choice for choice in CHOICES[name] if f"`{choice}`" not in row] == []
