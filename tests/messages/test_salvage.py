"""Tolerant decoding of any declared type, on its own."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given

from strategies import json_lines, json_values
from turnlog.messages import ProblemKind, Unknown, View, view
from turnlog.messages.base import UNSET, Camel, Open, OpenEnum, Raw, UnknownBlock, UnsetType
from turnlog.messages.blocks import ContentBlock, TextBlock
from turnlog.messages.message import Usage


class Colour(OpenEnum):
    RED = "red"


class Pot(Camel, tag_field="type", tag="pot"):
    name: str
    colour: Colour | UnsetType = UNSET
    lids: tuple[Open[Pot, UnknownBlock], ...] | UnsetType = UNSET
    sizes: dict[str, int] | UnsetType = UNSET
    any_thing: Raw | UnsetType = UNSET
    count: int | float | None | UnsetType = UNSET


def kinds(seen: View[Any]) -> list[tuple[ProblemKind, str]]:
    return [(problem.kind, problem.path) for problem in seen.problems]


def test_what_fits_has_no_problems() -> None:
    seen = view(Pot, b'{"type":"pot","name":"a","lids":[{"type":"pot","name":"b"}],"sizes":{"x":1}}')
    assert seen.value == Pot(name="a", lids=(Pot(name="b"),), sizes={"x": 1})
    assert seen.problems == ()


def test_each_piece_is_rescued_by_itself() -> None:
    raw = (
        b'{"type":"pot","name":"a","colour":"blue","lids":[{"type":"pan"},{"type":"pot","name":"b","x":1},5],'
        b'"sizes":{"x":1,"y":"big"},"anyThing":[1, 2],"count":"many","new":0}'
    )
    seen = view(Pot, raw)
    assert seen.value == Pot(
        name="a",
        colour=Colour.of("blue"),
        lids=(UnknownBlock(b'{"type":"pan"}', "pan"), Pot(name="b"), UnknownBlock(b"5", None)),
        sizes={"x": 1},
        any_thing=Raw(b"[1, 2]"),
    )
    assert kinds(seen) == [
        (ProblemKind.UNKNOWN_FIELD, "$.new"),
        (ProblemKind.UNKNOWN_VALUE, "$.colour"),
        (ProblemKind.UNKNOWN_TYPE, "$.lids[0]"),
        (ProblemKind.UNKNOWN_FIELD, "$.lids[1].x"),
        (ProblemKind.WRONG_TYPE, "$.lids[2]"),
        (ProblemKind.WRONG_TYPE, "$.sizes.y"),
        (ProblemKind.WRONG_TYPE, "$.count"),
    ]


@pytest.mark.parametrize(
    ("type_", "raw", "expected"),
    [
        (Usage, b'{"input_tokens":"1"}', "an integer or null"),
        (Pot, b"[]", "an object"),
        (str | int | None, b"[]", "a string or an integer or null"),
        (tuple[str, ...], b'"x"', "an array"),
        (dict[str, bool], b"1", "an object"),
        (Colour, b"1", "a string"),
    ],
)
def test_problems_say_what_was_expected(type_: Any, raw: bytes, expected: str) -> None:
    assert view(type_, raw).problems[0].expected == expected


def test_nothing_can_be_made_of_what_is_not_json() -> None:
    seen = view(Pot, b'{"type":"pot"')
    assert seen.value == Unknown(b'{"type":"pot"')
    assert kinds(seen) == [(ProblemKind.WRONG_TYPE, "$")]


def test_bad_text_is_mended_in_views_too() -> None:
    seen = view(TextBlock, b'{"type":"text","text":"a\\udc00"}')
    assert seen.value == TextBlock(text="a\ufffd")
    assert kinds(seen) == [(ProblemKind.BAD_TEXT, "$")]


def test_a_view_too_deep_to_decode_keeps_its_bytes() -> None:
    raw = b'{"type":"pot","name":"a","sizes":' + b'{"x":' * 3000 + b"1" + b"}" * 3000 + b"}"
    seen = view(Pot, raw)
    assert isinstance(seen.value, Pot)
    assert seen.value.name == "a"
    assert seen.raw == raw
    assert seen.problems


@given(json_lines(json_values))
def test_any_json_can_be_viewed_as_anything(raw: bytes) -> None:
    for type_ in (Pot, ContentBlock, Usage):
        seen = view(type_, raw)
        assert seen.raw == raw
        assert not isinstance(seen.value, Unknown) or seen.problems


def test_unknown_things_are_immutable_and_equal_by_content() -> None:
    block = UnknownBlock(b"1", "x")
    assert block == UnknownBlock(b"1", "x")
    assert block != UnknownBlock(b"1", "y")
    assert block != Unknown(b"1")
    assert len({block, UnknownBlock(b"1", "x")}) == 1
    assert repr(block) == "UnknownBlock(b'1', type='x')"
    with pytest.raises(AttributeError, match="cannot be changed"):
        block.type = "z"


class Kettle(Camel):
    lid: Literal["on", "off"]


@pytest.mark.parametrize(
    ("type_", "raw"),
    [
        (tuple[str, ...], b"[1"),
        (Colour, b'"\\x"'),
        (Colour, b'"red'),
        (dict[str, int], b'{"a":'),
        (Kettle, b'{"lid":"ajar"}'),
        (tuple[tuple[int, ...], ...], b"[" * 3000 + b"]" * 3000),
        (tuple[int, ...], b"[" * 3000),
    ],
)
def test_what_no_type_fits_is_an_unknown_with_its_bytes(type_: Any, raw: bytes) -> None:
    seen = view(type_, raw)
    assert seen.value == Unknown(raw)
    assert seen.problems


def test_the_values_of_a_literal_are_named() -> None:
    assert view(Kettle, b'{"lid":"ajar"}').problems[0].expected == "`on` or `off`"
