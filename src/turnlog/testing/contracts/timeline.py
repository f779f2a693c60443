"""The timeline and the action log: what is told of a part is what looking at everything gives."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec.structs import replace

from turnlog.store.actions import ActionFilter, ActionKind, ActionOutline, ActionTally
from turnlog.store.care import CaredStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.timeline import HooksUnder
from turnlog.testing.acting import ScannedSession
from turnlog.testing.builders import make_key, make_lines
from turnlog.testing.contracts.base import keep
from turnlog.testing.contracts.care import CareBase
from turnlog.transcripts.hooks.matching import NEAR

__all__ = ["TimelineContract"]

_ID = "session-1"
_OTHER = Scope("somebody else")
_BEGIN = 1_767_312_000_000_000
"""When the first line was written, in microseconds since 1970."""
_FILES = {
    "session-1.jsonl": make_lines(60),
    "session-1/subagents/agent-a1.jsonl": make_lines(24, agent_id="a1"),
}
_EVENTS = (
    "PreToolUse", "PostToolUse", "PermissionRequest", "Stop", "StopFailure", "PostToolUseFailure", "SessionEnd",
)  # fmt: skip
_FILTERS = (
    ActionFilter(),
    ActionFilter(categories=("hook",)),
    ActionFilter(categories=("builtin", "system")),
    ActionFilter(categories=()),
    ActionFilter(states=("failed",)),
    ActionFilter(states=("note", "ok")),
    ActionFilter(states=("running", "waiting")),
    ActionFilter(states=("unresolved",)),
    ActionFilter(name="PreToolUse"),
    ActionFilter(min_ms=5),
    ActionFilter(min_ms=0, states=("failed", "note"), categories=("hook", "error")),
)


class TimelineContract(CareBase):
    """Contracts of `turnlog.store.timeline` and `turnlog.store.actions`."""

    def test_hook_events_stand_where_looking_at_everything_puts_them(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            for seed in range(3):
                key = _fill(store, seed)
            scanned = ScannedSession(store, LOCAL, key, _ID)
            for chapter in scanned.chapters:
                expected = scanned.list_under(chapter.source)
                count = len(chapter.messages)
                for first, last in ((0, count), (5, 9), (count - 1, count), (3, 3)):
                    numbers = list(range(first, last))
                    found = store.list_hooks_under(
                        LOCAL, key, _ID, numbers, source=chapter.source, above=first == 0
                    )
                    wanted = ([None] if first == 0 else []) + numbers
                    assert [(at, hook.delivery_id) for at, hook in found.hooks] == [
                        (at, id) for at in wanted for id in expected.get(at, ())
                    ]
                    assert found.total == len(found.hooks)

    def test_each_hook_event_has_one_place(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            key = _fill(store)
            scanned = ScannedSession(store, LOCAL, key, _ID)
            hooks = {
                hook.delivery_id: hook.id
                for chapter in scanned.chapters
                for _, hook in _list_all(store, key, chapter.source, len(chapter.messages)).hooks
            }
            places = store.find_hook_places(LOCAL, key, _ID, list(hooks.values()))
            for delivery in scanned.deliveries:
                place = places[hooks[delivery.delivery_id]]
                assert (place.source, place.message) == scanned.find_place(delivery)

    def test_too_many_hook_events_are_counted(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            key = _fill(store)
            every = store.list_hooks_under(LOCAL, key, _ID, range(60), above=True)
            some = store.list_hooks_under(LOCAL, key, _ID, range(60), above=True, count=7)
            assert (len(some.hooks), some.total) == (7, every.total)
            first = sorted(every.hooks, key=lambda each: (each[1].received_ns, each[1].delivery_id))[:7]
            assert sorted(hook.id for _, hook in some.hooks) == sorted(hook.id for _, hook in first)

    def test_actions_come_in_pages_with_what_is_wanted(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            for seed in range(4):
                key = _fill(store, seed)
            scanned = ScannedSession(store, LOCAL, key, _ID)
            for where in _FILTERS:
                for slowest in (False, True):
                    expected = [_without_number(*each) for each in scanned.list_actions(where, slowest)]
                    for count in (13, 1000):
                        found = list(_page(store, key, where, slowest, count))
                        assert [_without_number(each, each.point.name[3:]) for each in found] == expected
                assert store.tally_actions(LOCAL, key, _ID, where, spans=10) == scanned.tally(where, 10)

    def test_the_order_in_which_things_came_is_not_seen(self, tmp_path: Path) -> None:
        def collect(name: str, seed: int) -> object:
            random = Random(seed)
            with self.cared(tmp_path / name) as store:
                deliveries = _make_deliveries()
                files = list(_FILES.items())
                random.shuffle(files)
                random.shuffle(deliveries)
                middle = random.randrange(len(deliveries))
                store.add_deliveries(LOCAL, deliveries[:middle])
                keep(store, dict(files[:1]))
                keep(store, dict(files))
                store.add_deliveries(LOCAL, deliveries[middle:])
                key = make_key()
                scanned = ScannedSession(store, LOCAL, key, _ID)
                hooks = [
                    [(at, hook.delivery_id) for at, hook in _list_all(store, key, each.source, 60).hooks]
                    for each in scanned.chapters
                ]
                actions = [_without_number(each, "") for each in _page(store, key, ActionFilter(), False, 50)]
                return hooks, actions

        (tmp_path / "0").mkdir()
        first = collect("0", 0)
        for seed in range(1, 5):
            (tmp_path / str(seed)).mkdir()
            assert collect(str(seed), seed) == first

    def test_another_owner_sees_no_hooks_and_no_actions(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            key = _fill(store)
            assert store.list_hooks_under(_OTHER, key, _ID, range(60), above=True) == HooksUnder((), 0)
            assert store.list_actions(_OTHER, key, _ID) == []
            nothing = ActionTally(total=0, counts={}, names={}, failed=0, spans=())
            assert store.tally_actions(_OTHER, key, _ID) == nothing
            assert store.find_turns(_OTHER, key, [1 << 60]) == {}

    def test_of_a_session_without_files_there_is_what_hooks_told(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            deliveries = _make_deliveries()
            store.add_deliveries(LOCAL, deliveries)
            under = store.list_hooks_under(LOCAL, _ID, _ID, (), above=True)
            assert under.total == len(under.hooks) > 0
            ids = [hook.id for _, hook in under.hooks]
            found = store.list_actions(LOCAL, _ID, _ID, count=1000)
            assert sorted(each.number for each in found) == sorted(ids)
            tally = store.tally_actions(LOCAL, _ID, _ID)
            assert tally.total == sum(tally.names.values()) == len(ids)
            assert {hook.id for hook in store.list_hooks_at(LOCAL, _ID, ids)} == set(ids)
            assert {place.message for place in store.find_hook_places(LOCAL, _ID, _ID, ids).values()} <= {None}
            assert store.list_hook_lines(LOCAL, _ID, [hook.told for _, hook in under.hooks]) == []
            assert store.find_turns(LOCAL, _ID, [1 << 60]) == {}

    def test_a_turn_is_under_way_until_the_next_begins(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            key = _fill(store)
            rows = store.list_messages(LOCAL, key)
            times = [row.reached or 0 for row in rows]
            found = store.find_turns(LOCAL, key, [0, *times])
            assert found == {time: row.turn for time, row in zip(times, rows, strict=True)}


def _fill(store: CaredStore, seed: int = 0) -> str:
    """Keep a session with deliveries of all sorts, and return its key."""
    keep(store, _FILES)
    store.add_deliveries(LOCAL, _make_deliveries(seed))
    return make_key()


def _make_deliveries(seed: int = 0) -> list[HookDelivery]:
    """Return deliveries near the lines of a session: about its calls, about none, in it and in its agent."""
    random = Random(seed)
    ids = [f"call-{each}" for each in (*(f"session-1-main-{at}" for at in range(60)), "nobody")]
    ids += [f"call-session-1-a1-{at}" for at in range(24)]
    found: list[HookDelivery] = []
    for number in range(120):
        at = _BEGIN + random.randrange(-20, 80) * 1_000_000 + random.choice((0, 0, 1, NEAR))
        found.append(
            HookDelivery(
                delivery_id=f"{seed}-{random.randrange(1 << 30)}-{number}",
                received_ns=at * 1000 + random.choice((0, 5)),
                payload=b"{}",
                session_id=_ID,
                event_name=random.choice(_EVENTS),
                notification_type="auth_success" if number % 17 == 5 else None,
                tool_use_id=random.choice(ids) if random.random() < 0.6 else None,
                agent_id=random.choice(("a1", "gone", None, None)),
            )
        )
    return found


def _list_all(store: CaredStore, key: str, source: str, count: int) -> HooksUnder:
    return store.list_hooks_under(LOCAL, key, _ID, range(count), source=source, above=True)


def _page(
    store: CaredStore, key: str, where: ActionFilter, slowest: bool, count: int
) -> Iterator[ActionOutline]:
    """Yield what all pages have."""
    last: ActionOutline | None = None
    while True:
        found = store.list_actions(
            LOCAL,
            key,
            _ID,
            where,
            after=None if last is None else last.point,
            after_ms=None if last is None else last.duration_ms,
            slowest=slowest,
            count=count,
        )
        yield from found
        if len(found) < count:
            return
        last = found[-1]


def _without_number(action: ActionOutline, id: str) -> ActionOutline:
    """Return an action whose number says nothing of the order in which deliveries came."""
    if action.kind is not ActionKind.HOOK:
        return action
    assert id in ("", action.point.name[3:])
    return replace(action, number=0)
