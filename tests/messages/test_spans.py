"""Places in JSON text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from strategies import json_lines, json_values
from turnlog.messages.spans import Path, Span, find_span, list_items, list_members, list_values, render_path

TEXT = rb' { "a" : [1, {"b":"x\"}]"}, "q" ] ,"b":{"c":null,"c":2.50},"d\u0041":"\ud800", "e":{} ,"f":[ ]} '


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), TEXT.strip()),
        (("a", 0), b"1"),
        (("a", 1, "b"), rb'"x\"}]"'),
        (("a", 2), b'"q"'),
        (("b", "c"), b"2.50"),
        (("dA",), rb'"\ud800"'),
        (("e",), b"{}"),
        (("f",), b"[ ]"),
        (("z",), None),
        (("a", 3), None),
        (("a", "b"), None),
        (("b", 0), None),
        (("e", "x"), None),
        (("f", 0), None),
    ],
)
def test_values_are_found_by_path(path: Path, found: bytes | None) -> None:
    span = find_span(TEXT, path)
    assert (None if span is None else TEXT[slice(*span)]) == found


def every_path(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    inner: list[tuple[Path, Any]] = [(path, value)]
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, item in items:
        inner += every_path(item, (*path, step))
    return inner


@given(json_lines(json_values))
def test_every_value_is_where_it_is_found(text: bytes) -> None:
    for path, value in every_path(json.loads(text)):
        span = find_span(text, path)
        assert span is not None
        assert json.loads(text[slice(*span)]) == value


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a" 1}',
        b'{"a":1 "b":2}',
        b"{1:2}",
        b'["a',
        b"[1",
        b"}",
        b'{"\xff\\u":1}',
    ],
)
def test_text_that_is_not_json_holds_nothing(text: bytes) -> None:
    assert find_span(text, ("a",)) is None
    assert list_members(text) == []
    assert list_items(text) == []


def test_members_are_listed_in_order_with_repeats() -> None:
    text = b'{"b":1,"a":[2],"b":{"x":3}}'
    assert [(member.key, text[slice(*member.value)]) for member in list_members(text)] == [
        ("b", b"1"),
        ("a", b"[2]"),
        ("b", b'{"x":3}'),
    ]


def test_values_behind_each_other_are_told_apart() -> None:
    assert list_values(b' {"a":1}{"b":"}{"} [3]') == [Span(1, 8), Span(8, 18), Span(19, 22)]
    assert list_values(b'{"a":1}{"b"') == [Span(0, 7)]
    assert list_values(b"") == []


def test_depth_costs_no_stack() -> None:
    text = b'{"a":' + b"[" * 300_000 + b"]" * 300_000 + b"}"
    assert find_span(text, ("a",)) == Span(5, len(text) - 1)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ((), "$"),
        (("message", "content", 0, "text"), "$.message.content[0].text"),
        (("modelUsage", "claude 4"), '$.modelUsage["claude 4"]'),
        (("-B", ""), '$["-B"][""]'),
    ],
)
def test_paths_are_shown_as_json_paths(path: Path, shown: str) -> None:
    assert render_path(path) == shown
