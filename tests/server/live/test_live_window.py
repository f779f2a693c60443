"""What was told lately: each thing once, in the order of its last change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnlog.server.live import EventWindow


def test_each_thing_is_told_once_where_it_was_told_last() -> None:
    window = EventWindow()
    for about in ("a", "b", "a", "c"):
        window.put(about, about.encode())
    assert window.read(0) == [b"b", b"a", b"c"]
    assert window.read(2) == [b"a", b"c"]
    assert window.read(window.at) == []


def test_who_falls_behind_is_told_so() -> None:
    window = EventWindow(most=2)
    for about in ("a", "b", "c"):
        window.put(about, about.encode())
    assert window.read(0) is None
    assert window.read(1) == [b"b", b"c"]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60),
    st.integers(1, 6),
)
def test_whoever_reads_now_and_then_knows_the_last_of_everything(
    told: list[tuple[int, bool]], most: int
) -> None:
    """As long as it is never told that it fell behind."""
    window = EventWindow(most)
    known: dict[bytes, bytes] = {}
    true: dict[bytes, bytes] = {}
    place = 0
    for number, (about, reads) in enumerate(told):
        name, value = b"%d" % about, b"%d" % number
        window.put(about, name + b"=" + value)
        true[name] = value
        if reads:
            found = window.read(place)
            if found is None:
                return
            known |= dict(each.split(b"=") for each in found)
            place = window.at
            assert known == true
