"""Hook deliveries: each is kept once, as it came, and told as spec 002 tells it."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from turnlog.store.hooks import HookDelivery, HookEvent
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.interface import ChangeKind
from turnlog.testing.builders import make_lines
from turnlog.testing.contracts.base import keep, read_file
from turnlog.testing.contracts.care import CareBase
from turnlog.testing.memory_session import MemorySession
from turnlog.transcripts.hooks.matching import Told
from turnlog.transcripts.queries.actions import SessionActions
from turnlog.transcripts.queries.timeline import HookFact, HookPlace

__all__ = ["HookContract"]

_SECOND = 1_000_000_000
_BEGIN = 1_767_312_000 * _SECOND
"""When the first line was written."""
_LONG_CONTEXT = f'"{"x" * 70_000}"'
_OTHER = Scope("somebody else")


class HookContract(CareBase):
    """Contracts of `add_deliveries` and what is asked about them."""

    def test_a_delivery_comes_back_as_it_came(self, tmp_path: Path) -> None:
        deliveries = [
            _make("Stop", 1, payload=b"\xff\x00 no text, no JSON"),
            HookDelivery(
                delivery_id="d2",
                received_ns=2,
                payload=b"{}",
                session_id="session-1",
                event_name="Notification",
                notification_type="idle_prompt",
                tool_name="Bash",
                label="what is said",
                group_name="needs_you",
                context='{"a":1}',
                tool_use_id="toolu_1",
                agent_id="agent-1",
            ),
            HookDelivery(delivery_id="d3", received_ns=3, payload=b""),
        ]
        with self.cared(tmp_path) as store:
            assert store.add_deliveries(LOCAL, deliveries) == 3
        with self.cared_again(tmp_path) as store:
            assert store.list_deliveries(LOCAL) == deliveries
            assert store.list_deliveries(LOCAL, "session-1") == deliveries[:2]

    def test_a_delivery_that_comes_again_is_kept_once(self, tmp_path: Path) -> None:
        first = _make("Stop", 1)
        again = replace(first, received_ns=2)
        with self.cared(tmp_path) as store:
            assert store.add_deliveries(LOCAL, [first, again, _make("Stop", 3)]) == 2
            seq = store.find_feed(LOCAL).last
            assert store.add_deliveries(LOCAL, [again]) == 0
            assert store.find_feed(LOCAL).last == seq
            assert [each.received_ns for each in store.list_deliveries(LOCAL)] == [1, 3]

    def test_each_new_delivery_is_in_the_feed(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", 5), _make("PreToolUse", 4)])
            entries = store.list_changes(LOCAL)
            assert [(each.kind, each.session, each.at_ns) for each in entries] == [
                (ChangeKind.HOOK_DELIVERED, "session-1", 5),
                (ChangeKind.HOOK_DELIVERED, "session-1", 4),
            ]

    def test_deliveries_and_events_come_by_time_in_windows(self, tmp_path: Path) -> None:
        deliveries = [_make(f"Event{number}", number) for number in range(6)]
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, deliveries[3:])
            store.add_deliveries(LOCAL, deliveries[:3])
            assert store.list_deliveries(LOCAL) == deliveries
            events = store.list_hook_events(LOCAL, "session-1")
            assert [event.event_name for event in events] == [f"Event{number}" for number in range(6)]
            for first, count in ((0, 2), (2, 3), (5, 4), (6, 1), (1, 0)):
                window = store.list_deliveries(LOCAL, "session-1", first=first, count=count)
                assert window == deliveries[first : first + count]
                found = store.list_hook_events(LOCAL, "session-1", first=first, count=count)
                assert found == events[first : first + count]
            assert store.list_hook_events(LOCAL, "nobody") == []

    def test_deliveries_between_two_times_have_the_first_and_not_the_second(self, tmp_path: Path) -> None:
        deliveries = [_make(f"Event{number}", number) for number in range(6)]
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, [*reversed(deliveries), _of_another_session("e", 2)])
            for since, until, count in ((0, 6, 9), (2, 4, 9), (2, 2, 9), (5, 99, 9), (1, 5, 2), (7, 9, 9)):
                found = store.list_deliveries_between(LOCAL, "session-1", since, until, count)
                assert found == deliveries[since:until][:count]
            assert store.list_deliveries_between(_OTHER, "session-1", 0, 9, 9) == []

    def test_deliveries_are_found_by_their_calls(self, tmp_path: Path) -> None:
        begun, ended = (_make(name, at, tool_use_id="c1") for name, at in (("Pre", 5), ("Post", 7)))
        other, none = _make("Pre", 6, tool_use_id="c2"), _make("Stop", 8)
        foreign = replace(_of_another_session("e", 2), tool_use_id="c1")
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, [none, ended, other, begun, foreign])
            assert store.list_deliveries_of(LOCAL, "session-1", {"c1", "nothing"}) == [begun, ended]
            assert store.list_deliveries_of(LOCAL, "session-1", ["c2", "c1", "c1"]) == [begun, other, ended]
            assert store.list_deliveries_of(LOCAL, "session-1", ()) == []
            assert store.list_deliveries_of(_OTHER, "session-1", {"c1"}) == []

    def test_deliveries_are_numbered_as_their_events_are(self, tmp_path: Path) -> None:
        deliveries = [_make("Stop", at) for at in (3, 1, 2)]
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, deliveries)
            numbers = store.number_deliveries(LOCAL, ["Stop-1", "Stop-2", "Stop-2", "nothing"])
            assert set(numbers) == {"Stop-1", "Stop-2"}
            events = store.list_hook_events(LOCAL, "session-1")
            assert [event.id for event in events[:2]] == [numbers["Stop-1"], numbers["Stop-2"]]
            assert store.number_deliveries(_OTHER, ["Stop-1"]) == store.number_deliveries(LOCAL, []) == {}

    def test_deliveries_are_counted(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            assert store.count_deliveries(LOCAL) == store.count_deliveries(LOCAL, "session-1") == 0
            store.add_deliveries(LOCAL, [_make("Stop", 1), _make("Stop", 1), _of_another_session("e", 2)])
            assert store.count_deliveries(LOCAL) == 2
            assert store.count_deliveries(LOCAL, "session-1") == 1
            assert store.count_deliveries(LOCAL, "nobody") == store.count_deliveries(_OTHER) == 0

    def test_events_are_told_as_the_spec_tells_them(self, tmp_path: Path) -> None:
        said = _make("PreToolUse", 7 * _SECOND + 5, tool_name="Bash", label="Running Bash", context='{"a":1}')
        grouped = _make("Stop", 8 * _SECOND - 1, label="Stopped", group_name="needs_you")
        silent = _make("SomethingNew", 9 * _SECOND)
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, [said, grouped, silent])
            events = store.list_hook_events(LOCAL, "session-1")
            ids = [event.id for event in events]
            assert ids == sorted(set(ids))
            assert [replace(event, id=0) for event in events] == [
                _event(7, "PreToolUse", "Running Bash", tool_name="Bash", context='{"a":1}'),
                _event(7, "Stop", "Stopped", group_name="needs_you"),
                _event(9, "SomethingNew", "SomethingNew"),
            ]

    def test_the_end_of_a_session_and_a_sign_in_are_kept_but_are_no_events(self, tmp_path: Path) -> None:
        deliveries = [
            _make("SessionEnd", 1),
            _make("Notification", 2, notification_type="auth_success"),
            _make("Notification", 3, notification_type="idle_prompt"),
            _make("Notification", 4),
        ]
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, deliveries)
            assert store.list_deliveries(LOCAL, "session-1") == deliveries
            events = store.list_hook_events(LOCAL, "session-1")
            assert [event.event_name for event in events] == ["Notification", "Notification"]

    def test_a_session_is_read_with_what_hooks_told(self, tmp_path: Path) -> None:
        """What an engine finds by time, by call and by number is what looking at all of it gives."""
        deliveries = [
            _make("SessionStart", 10 * _SECOND),
            _make("PreToolUse", _BEGIN, tool_use_id="call-session-1-main-1", context='{"a":1}'),
            _make("PostToolUse", _BEGIN + _SECOND, tool_use_id="call-session-1-main-1", context=_LONG_CONTEXT),
            replace(_make("PreToolUse", _BEGIN + 5, tool_use_id="call-session-1-a1-1"), agent_id="a1"),
            replace(_make("Notification", _BEGIN + 2 * _SECOND), agent_id="a1"),
            *(replace(_make("Stop", _BEGIN + 4 * _SECOND), delivery_id=f"stop-{at}") for at in (2, 1, 3)),
            _make("SessionEnd", _BEGIN + 5 * _SECOND),
            replace(_make("Notification", _BEGIN + 6 * _SECOND), notification_type="auth_success"),
            _of_another_session("other", _BEGIN),
        ]
        with self.cared(tmp_path) as store:
            agent = make_lines(4, agent_id="a1")
            batch = keep(store, {"session-1.jsonl": make_lines(9), "session-1/subagents/agent-a1.jsonl": agent})
            store.add_deliveries(LOCAL, deliveries)
            numbers = store.number_deliveries(LOCAL, [each.delivery_id for each in deliveries])
            own = [
                _tell(each, numbers[each.delivery_id]) for each in deliveries if each.session_id == "session-1"
            ]
            with store.open_session(LOCAL, batch.key, hooks="session-1") as session:
                chapters = {file.facts: read_file(file) for file in session.files}
                plain = SessionActions(MemorySession.build(chapters, hooks=own))
                assert session.list_actions(count=1000) == plain.list_actions(count=1000)
                assert session.list_actions(after=plain.list_actions()[3].point) == plain.list_actions()[4:]
                assert session.tally_actions() == plain.tally_actions()
                assert session.list_hooks_at([*numbers.values()]) == plain.list_hooks_at([*numbers.values()])
                for own_file, plain_file in zip(session.chapters, plain.chapters, strict=True):
                    under = session.list_hooks_under(own_file, range(9), above=True)
                    assert under == plain.list_hooks_under(plain_file, range(9), above=True)
                    assert under.total > 0
                told = [Told("PreToolUse", "call-session-1-main-1", None), Told("Stop", None, _BEGIN // 1000)]
                assert session.list_hooks_near(told) == plain.list_hooks_near(told) != []
            with store.open_session(LOCAL, batch.key) as session:
                assert session.list_hooks_at([*numbers.values()]) == []
            with store.open_session(_OTHER, batch.key, hooks="session-1") as session:
                assert session.list_actions() == []

    def test_of_a_session_without_files_there_is_what_hooks_told(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", at) for at in range(1, 30)])
            with store.open_session(LOCAL, "nothing", hooks="session-1") as session:
                under = session.list_hooks_under(None, (), above=True, count=7)
                assert (under.total, len(under.hooks)) == (29, 7)
                assert len(session.list_actions(count=1000)) == session.tally_actions().total == 29
                places = session.find_hook_places([hook for _, hook in under.hooks])
                assert {*places.values()} == {HookPlace(None, None)}

    def test_another_owner_sees_no_deliveries(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", 1)])
            assert store.list_deliveries(_OTHER) == store.list_deliveries(_OTHER, "session-1") == []
            assert store.list_hook_events(_OTHER, "session-1") == []
            assert store.list_changes(_OTHER) == []

    def test_what_a_forgotten_session_was_told_is_forgotten_and_not_taken_again(self, tmp_path: Path) -> None:
        other = replace(_make("Stop", 1), session_id="session-2", delivery_id="other")
        with self.cared(tmp_path) as store:
            key = keep(store, {"session-1.jsonl": make_lines(2)}).key
            store.add_deliveries(LOCAL, [_make("UserPromptSubmit", 2), other])
            assert store.forget(LOCAL, [key]).deliveries == 1
            assert store.list_deliveries(LOCAL) == [other]
            assert store.add_deliveries(LOCAL, [_make("Stop", 3)]) == 0
            store.delete_tombstones(LOCAL, [key])
            assert store.add_deliveries(LOCAL, [_make("Stop", 3)]) == 1

    def test_sessions_that_hooks_told_of_lately_are_listed(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", 1), _make("Stop", 7), _of_another_session("other", 5)])
            store.add_deliveries(LOCAL, [replace(_make("Stop", 9), delivery_id="nobody", session_id="")])
            found = [(each.session_id, each.last_ns) for each in store.list_hook_sessions(LOCAL, 5)]
            assert found == [("session-1", 7), ("session-2", 5)]
            assert [each.session_id for each in store.list_hook_sessions(LOCAL, 6)] == ["session-1"]
            assert [each.session_id for each in store.list_hook_sessions(LOCAL, 0, 1)] == ["session-1"]
            assert store.list_hook_sessions(Scope("somebody"), 0) == []


def _make(
    name: str,
    at: int,
    *,
    payload: bytes = b"{}",
    notification_type: str | None = None,
    tool_name: str | None = None,
    label: str | None = None,
    group_name: str | None = None,
    context: str | None = None,
    tool_use_id: str | None = None,
) -> HookDelivery:
    return HookDelivery(
        delivery_id=f"{name}-{at}",
        received_ns=at,
        payload=payload,
        session_id="session-1",
        event_name=name,
        notification_type=notification_type,
        tool_name=tool_name,
        label=label,
        group_name=group_name,
        context=context,
        tool_use_id=tool_use_id,
    )


def _tell(delivery: HookDelivery, number: int) -> HookFact:
    """Return a delivery as a session tells of it: a context that is too long is left out."""
    context = delivery.context
    return HookFact(
        id=number,
        delivery_id=delivery.delivery_id,
        received_ns=delivery.received_ns,
        event_name=delivery.event_name,
        notification_type=delivery.notification_type,
        tool_name=delivery.tool_name,
        label=delivery.label,
        group_name=delivery.group_name,
        context=None if context is not None and len(context) > 60_000 else context,
        tool_use_id=delivery.tool_use_id,
        agent_id=delivery.agent_id,
    )


def _of_another_session(delivery_id: str, at: int) -> HookDelivery:
    return replace(_make("Stop", at), delivery_id=delivery_id, session_id="session-2")


def _event(
    timestamp: int,
    name: str,
    label: str,
    *,
    tool_name: str | None = None,
    group_name: str = "autonomous",
    context: str | None = None,
) -> HookEvent:
    return HookEvent(
        id=0,
        session_id="session-1",
        timestamp=timestamp,
        event_name=name,
        tool_name=tool_name,
        label=label,
        group_name=group_name,
        context=context,
    )
