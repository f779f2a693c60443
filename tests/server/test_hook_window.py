"""The window of spec 002: 5,000 events of a session, the oldest 100 dropped, flushed at the end."""

from __future__ import annotations

import pytest

from turnlog.server.routes.hooks import LiveWindow
from turnlog.transcripts.hooks import HookDelivery


def make(
    number: int, session: str = "s1", name: str = "PreToolUse", context: str | None = None
) -> HookDelivery:
    return HookDelivery(
        delivery_id=f"{session}-{number}",
        received_ns=number,
        payload=b"large",
        session_id=session,
        event_name=name,
        context=context,
    )


@pytest.mark.parametrize(("count", "first"), [(1, 0), (5_000, 0), (5_001, 100), (5_100, 100), (5_101, 200)])
def test_the_oldest_hundred_go_when_there_are_more_than_five_thousand(count: int, first: int) -> None:
    window = LiveWindow()
    for number in range(count):
        window.add(make(number), stored=False)
    events = window.list_events("s1")
    assert [event.received_ns for event in events] == list(range(first, count))
    assert window.list_pending("s1") == events
    assert window.list_events("s2") == window.list_pending("s2") == []


def test_payloads_are_not_held_in_memory() -> None:
    window = LiveWindow()
    window.add(make(1), stored=True)
    assert [event.payload for event in window.list_events("s1")] == [b""]


def test_what_the_store_has_is_no_longer_pending() -> None:
    window = LiveWindow()
    deliveries = [make(number) for number in range(3)]
    for delivery in deliveries:
        window.add(delivery, stored=False)
    window.note_stored([deliveries[1], make(7, "another")])
    assert [event.received_ns for event in window.list_pending("s1")] == [0, 2]
    assert len(window.list_events("s1")) == 3


def test_a_session_that_ended_is_let_go_when_the_store_has_all_of_it() -> None:
    window = LiveWindow()
    deliveries = [make(1), make(2, name="SessionEnd")]
    for delivery in deliveries:
        window.add(delivery, stored=False)
    window.note_stored(deliveries[1:])
    assert [event.received_ns for event in window.list_pending("s1")] == [1]
    window.note_stored(deliveries[:1])
    assert window.list_events("s1") == []
    assert window.count() == (0, 0)
    window.add(make(3, name="SessionEnd"), stored=True)
    assert window.count() == (0, 0)


def test_a_session_that_goes_on_after_its_end_stays() -> None:
    window = LiveWindow()
    end, start = make(1, name="SessionEnd"), make(2, name="SessionStart")
    window.add(end, stored=False)
    window.add(start, stored=False)
    window.note_stored([end, start])
    assert [event.event_name for event in window.list_events("s1")] == ["SessionEnd", "SessionStart"]


def test_the_session_that_was_silent_longest_makes_room() -> None:
    window = LiveWindow(sessions=2)
    for number, session in enumerate(["a", "b", "a", "c"]):
        window.add(make(number, session), stored=True)
    assert [len(window.list_events(session)) for session in "abc"] == [2, 0, 1]


def test_memory_is_bounded_whatever_the_events_hold() -> None:
    window = LiveWindow(size=1 << 20)
    for number in range(1_000):
        window.add(make(number, f"s{number % 3}", context="x" * 100_000), stored=True)
    assert window.count()[1] <= 10
    for number in range(1_000):
        window.add(make(number, "alone", context="x" * 100_000), stored=True)
    assert [event.received_ns for event in window.list_events("alone")] == list(range(990, 1_000))
    window.add(make(1, "huge", context="x" * (2 << 20)), stored=True)
    assert window.count()[1] == 0
