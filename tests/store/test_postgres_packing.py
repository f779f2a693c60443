"""Values come back from cells as they were, whatever they are."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.store.identity import Place
from turnlog.store.packing import (
    pack_row,
    pack_text,
    pack_uuid,
    unpack_row,
    unpack_text,
    unpack_uuid,
)
from turnlog.store.rows import CallRow, MessageRow, PlacementRow, SessionRow
from turnlog.testing.row_builders import make_message_row, make_session_row

_ANY_TEXT = st.text(st.characters())  # with halves of characters


@given(_ANY_TEXT)
def test_text_comes_back(text: str) -> None:
    assert unpack_text(pack_text(text)) == text


@given(_ANY_TEXT, _ANY_TEXT)
def test_text_is_in_the_same_order_packed(one: str, other: str) -> None:
    assert (one < other) == (pack_text(one) < pack_text(other))


@given(st.one_of(_ANY_TEXT, st.uuids().map(str), st.uuids().map(lambda each: str(each).upper())))
def test_uuids_come_back(text: str) -> None:
    assert unpack_uuid(pack_uuid(text)) == text


@given(_ANY_TEXT, st.uuids().map(str))
def test_no_other_text_is_taken_for_a_uuid(text: str, uuid: str) -> None:
    packed = pack_uuid(uuid)
    assert packed is not None
    assert len(packed) == 16
    assert text == uuid or pack_uuid(text) != packed
    for other in (packed.decode("latin-1"), "x" * 15, "x" * 16):
        assert pack_uuid(other) != packed
        assert unpack_uuid(pack_uuid(other)) == other


@given(_ANY_TEXT, _ANY_TEXT, st.binary(max_size=40))
def test_rows_come_back(one: str, other: str, data: bytes) -> None:
    message = make_message_row(
        3, one, 0, id=other, types=(one, other), lines=(Place(one, 0, 2), Place(other, 1, 3))
    )
    assert unpack_row(MessageRow, pack_row(message)) == message
    session = make_session_row(title=one, project=other, summary=data)
    assert unpack_row(SessionRow, pack_row(session)) == session
    call = CallRow(
        index=0,
        source=one,
        id=None,
        name=other,
        category="builtin",
        state="done",
        at=Place(one, 0, 0),
        block=0,
        result_at=Place(other, 0, 9),
    )
    assert unpack_row(CallRow, pack_row(call)) == call


def test_nothing_stays_nothing() -> None:
    assert pack_text(None) is unpack_text(None) is pack_uuid(None) is unpack_uuid(None) is None


@pytest.mark.parametrize("data", [b"", b"\xff", msgspec.msgpack.encode([1, 2, 3]), b"\xc7\x01\x07x"])
def test_bytes_that_are_no_row_are_refused(data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        unpack_row(PlacementRow, data)
