"""Hook deliveries: each is kept once, as it came, and told as spec 002 tells it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from contracts.base import EngineBase
from memory_session import MemorySession
from turnlog.store.interface import ChangeKind, MaintainedStore
from turnlog.store.model import LOCAL, Scope
from turnlog.testing.builders import make_lines
from turnlog.testing.checks import keep, read_file
from turnlog.transcripts.hooks import EVERY_DELIVERY, DeliveryFilter, HookDelivery, HookMention
from turnlog.transcripts.queries.sessions import HookPlace, SessionActions

_SECOND = 1_000_000_000
_BEGIN = 1_767_312_000 * _SECOND
"""When the first line was written."""
_LONG_CONTEXT = f'"{"x" * 70_000}"'
_OTHER = Scope("somebody else")
_SESSION = DeliveryFilter(session_id="session-1")


class HookContract(EngineBase):
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
        with self.opened_engine(tmp_path) as store:
            assert store.add_deliveries(LOCAL, deliveries) == 3
        with self.reopened_engine(tmp_path) as store:
            assert _list(store) == deliveries
            assert _list(store, _SESSION) == deliveries[:2]

    def test_a_delivery_that_comes_again_is_kept_once(self, tmp_path: Path) -> None:
        first = _make("Stop", 1)
        again = replace(first, received_ns=2)
        with self.opened_engine(tmp_path) as store:
            assert store.add_deliveries(LOCAL, [first, again, _make("Stop", 3)]) == 2
            seq = store.read_feed(LOCAL).last
            assert store.add_deliveries(LOCAL, [again]) == 0
            assert store.read_feed(LOCAL).last == seq
            assert [each.received_ns for each in store.list_deliveries(LOCAL)] == [1, 3]

    def test_each_new_delivery_is_in_the_feed(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", 5), _make("PreToolUse", 4)])
            entries = store.read_feed(LOCAL, 0).entries
            assert [(each.kind, each.session, each.at_ns) for each in entries] == [
                (ChangeKind.HOOK_DELIVERED, "session-1", 5),
                (ChangeKind.HOOK_DELIVERED, "session-1", 4),
            ]

    def test_deliveries_come_without_what_is_not_asked_for(self, tmp_path: Path) -> None:
        deliveries = [_make("Stop", at, payload=b'{"a":1}', context='"' + "x" * at + '"') for at in (1, 2, 3)]
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, deliveries)
            bare = [replace(each, payload=b"") for each in deliveries]
            assert _list(store, DeliveryFilter(payloads=False)) == bare
            short, *long = deliveries
            cut = [short, *(replace(each, context=None) for each in long)]
            assert _list(store, DeliveryFilter(longest_context=3)) == cut
            assert [each.context for each in _list(store, DeliveryFilter(longest_context=0))] == [None] * 3

    def test_deliveries_of_one_moment_come_in_the_same_order_whatever_came_first(self, tmp_path: Path) -> None:
        deliveries = [replace(_make("Stop", 1), delivery_id=name) for name in "abc"]
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, [deliveries[1], deliveries[2], deliveries[0]])
            assert _list(store) == _list(store, _SESSION) == deliveries

    def test_deliveries_and_events_come_by_time_in_windows(self, tmp_path: Path) -> None:
        deliveries = [_make(f"Event{number}", number) for number in range(6)]
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, deliveries[3:])
            store.add_deliveries(LOCAL, deliveries[:3])
            assert _list(store) == deliveries
            for first, count in ((0, 2), (2, 3), (5, 4), (6, 1), (1, 0)):
                for events_only in (False, True):
                    which = replace(_SESSION, first=first, count=count, events_only=events_only)
                    assert _list(store, which) == deliveries[first : first + count]
            assert _list(store, DeliveryFilter(session_id="nobody")) == []

    def test_deliveries_between_two_times_have_the_first_and_not_the_second(self, tmp_path: Path) -> None:
        deliveries = [_make(f"Event{number}", number) for number in range(6)]
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, [*reversed(deliveries), _of_another_session("e", 2)])
            for since, until, count in ((0, 6, 9), (2, 4, 9), (2, 2, 9), (5, 99, 9), (1, 5, 2), (7, 9, 9)):
                which = replace(_SESSION, since_ns=since, until_ns=until, count=count)
                assert _list(store, which) == deliveries[since:until][:count]
            assert _list(store, replace(_SESSION, since_ns=4)) == deliveries[4:]
            assert store.list_deliveries(_OTHER, replace(_SESSION, since_ns=0)) == []

    def test_deliveries_are_found_by_their_calls(self, tmp_path: Path) -> None:
        begun, ended = (_make(name, at, tool_use_id="c1") for name, at in (("Pre", 5), ("Post", 7)))
        other, none = _make("Pre", 6, tool_use_id="c2"), _make("Stop", 8)
        foreign = replace(_of_another_session("e", 2), tool_use_id="c1")
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, [none, ended, other, begun, foreign])
            for calls, found in (
                ({"c1", "nothing"}, [begun, ended]),
                (["c2", "c1", "c1"], [begun, other, ended]),
                (["\udc80", "c2"], [other]),
                ((), []),
            ):
                assert _list(store, replace(_SESSION, tool_use_ids=calls)) == found
            assert _list(store, DeliveryFilter(tool_use_ids={"c1"})) == [foreign, begun, ended]
            assert store.list_deliveries(_OTHER, replace(_SESSION, tool_use_ids={"c1"})) == []

    def test_deliveries_are_found_by_their_names_and_numbers(self, tmp_path: Path) -> None:
        deliveries = [_make("Stop", at) for at in (3, 1, 2)]
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, deliveries)
            named = DeliveryFilter(delivery_ids=["Stop-1", "Stop-2", "Stop-2", "nothing"])
            found = store.list_deliveries(LOCAL, named)
            assert [each.delivery_id for each in found] == ["Stop-1", "Stop-2"]
            numbers = [each.id for each in store.list_deliveries(LOCAL)]
            assert len({*numbers} - {0}) == 3
            assert numbers[:2] == [each.id for each in found]
            assert store.list_deliveries(LOCAL, DeliveryFilter(ids=numbers[:2])) == found
            assert store.list_deliveries(LOCAL, replace(_SESSION, ids=numbers[:2])) == found
            assert store.list_deliveries(LOCAL, DeliveryFilter(ids=[])) == []
            assert store.list_deliveries(LOCAL, DeliveryFilter(delivery_ids=[])) == []
            assert store.list_deliveries(_OTHER, named) == []
            assert store.list_deliveries(_OTHER, DeliveryFilter(ids=numbers)) == []

    def test_deliveries_are_counted(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            assert store.count_deliveries(LOCAL) == store.count_deliveries(LOCAL, "session-1") == 0
            store.add_deliveries(LOCAL, [_make("Stop", 1), _make("Stop", 1), _of_another_session("e", 2)])
            assert store.count_deliveries(LOCAL) == 2
            assert store.count_deliveries(LOCAL, "session-1") == 1
            assert store.count_deliveries(LOCAL, "nobody") == store.count_deliveries(_OTHER) == 0

    def test_the_end_of_a_session_and_a_sign_in_are_kept_but_are_no_events(self, tmp_path: Path) -> None:
        deliveries = [
            _make("SessionEnd", 1),
            _make("Notification", 2, notification_type="auth_success"),
            _make("Notification", 3, notification_type="idle_prompt"),
            _make("Notification", 4),
        ]
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, deliveries)
            assert _list(store, _SESSION) == deliveries
            assert _list(store, replace(_SESSION, events_only=True)) == deliveries[2:]
            assert _list(store, replace(_SESSION, events_only=True, first=1, count=1)) == deliveries[3:]

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
        with self.opened_engine(tmp_path) as store:
            agent = make_lines(4, agent_id="a1")
            batch = keep(store, {"session-1.jsonl": make_lines(9), "session-1/subagents/agent-a1.jsonl": agent})
            store.add_deliveries(LOCAL, deliveries)
            own = store.list_deliveries(LOCAL, _SESSION)
            numbers = [each.id for each in own]
            with store.open_session(LOCAL, batch.key, hooks="session-1") as session:
                chapters = {file.facts: read_file(file) for file in session.files}
                plain = SessionActions(MemorySession.build(chapters, hooks=own))
                assert session.list_actions(count=1000) == plain.list_actions(count=1000)
                assert session.list_actions(after=plain.list_actions()[3].point) == plain.list_actions()[4:]
                assert session.tally_actions() == plain.tally_actions()
                assert session.list_hooks_at(numbers) == plain.list_hooks_at(numbers) != []
                for own_file, plain_file in zip(session.chapters, plain.chapters, strict=True):
                    under = session.list_hooks_under(own_file, range(9), above=True)
                    assert under == plain.list_hooks_under(plain_file, range(9), above=True)
                    assert under.total > 0
                told = [
                    HookMention("PreToolUse", "call-session-1-main-1", None),
                    HookMention("Stop", None, _BEGIN // 1000),
                ]
                assert session.list_hooks_near(told) == plain.list_hooks_near(told) != []
            with store.open_session(LOCAL, batch.key) as session:
                assert session.list_hooks_at(numbers) == []
            with store.open_session(_OTHER, batch.key, hooks="session-1") as session:
                assert session.list_actions() == []

    def test_of_a_session_without_files_there_is_what_hooks_told(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", at) for at in range(1, 30)])
            with store.open_session(LOCAL, "nothing", hooks="session-1") as session:
                under = session.list_hooks_under(None, (), above=True, count=7)
                assert (under.total, len(under.hooks)) == (29, 7)
                assert len(session.list_actions(count=1000)) == session.tally_actions().total == 29
                places = session.find_hook_places([hook for _, hook in under.hooks])
                assert {*places.values()} == {HookPlace(None, None)}

    def test_another_owner_sees_no_deliveries(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", 1)])
            assert store.list_deliveries(_OTHER) == store.list_deliveries(_OTHER, _SESSION) == []
            assert store.read_feed(_OTHER, 0).entries == ()

    def test_what_a_forgotten_session_was_told_is_forgotten_and_not_taken_again(self, tmp_path: Path) -> None:
        other = replace(_make("Stop", 1), session_id="session-2", delivery_id="other")
        with self.opened_engine(tmp_path) as store:
            key = keep(store, {"session-1.jsonl": make_lines(2)}).key
            store.add_deliveries(LOCAL, [_make("UserPromptSubmit", 2), other])
            assert store.forget(LOCAL, [key]).deliveries == 1
            assert _list(store) == [other]
            assert store.add_deliveries(LOCAL, [_make("Stop", 3)]) == 0
            store.delete_tombstones(LOCAL, [key])
            assert store.add_deliveries(LOCAL, [_make("Stop", 3)]) == 1

    def test_sessions_that_hooks_told_of_lately_are_listed(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            store.add_deliveries(LOCAL, [_make("Stop", 1), _make("Stop", 7), _of_another_session("other", 5)])
            store.add_deliveries(LOCAL, [replace(_make("Stop", 9), delivery_id="nobody", session_id="")])
            assert store.list_hook_sessions(LOCAL, 5) == ["session-1", "session-2"]
            assert store.list_hook_sessions(LOCAL, 6) == ["session-1"]
            assert store.list_hook_sessions(LOCAL, 0, 1) == ["session-1"]
            assert store.list_hook_sessions(Scope("somebody"), 0) == []


def _list(store: MaintainedStore, which: DeliveryFilter = EVERY_DELIVERY) -> list[HookDelivery]:
    """Return deliveries as they were given: without their numbers."""
    return [replace(each, id=0) for each in store.list_deliveries(LOCAL, which)]


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


def _of_another_session(delivery_id: str, at: int) -> HookDelivery:
    return replace(_make("Stop", at), delivery_id=delivery_id, session_id="session-2")
