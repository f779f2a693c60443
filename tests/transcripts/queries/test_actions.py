"""The timeline and the action log: what is told of a part is what looking at everything gives."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from action_reference import ScannedSession
from memory_session import MemorySession
from turnlog.store.model import SourceKind
from turnlog.testing.builders import FileRecords, make_batch, make_lines
from turnlog.testing.checks import get_derived, unpack_files
from turnlog.transcripts.hooks import NEAR, HookDelivery
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.queries.sessions import (
    Action,
    ActionFilter,
    ActionTally,
    HookPlace,
    HooksUnder,
    SessionActions,
)
from turnlog.transcripts.segments import SEGMENT

BEGIN = 1_767_312_000_000_000
"""When the first line was written, in microseconds since 1970."""
SECOND = 1_000_000
EVENTS = (
    "PreToolUse", "PostToolUse", "PermissionRequest", "Stop", "StopFailure", "PostToolUseFailure", "SessionEnd",
)  # fmt: skip
FILTERS = (
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
Chapters = dict[ChapterFacts, FileRecords]


def make_chapters(count: int) -> Chapters:
    """Return a session whose transcript has so many lines, and whose agent has a file."""
    batch = make_batch(
        {
            "session-1.jsonl": make_lines(count),
            "session-1/subagents/agent-a1.jsonl": make_lines(24, agent_id="a1"),
        }
    )
    records = unpack_files(get_derived(batch))
    return {
        ChapterFacts(
            source=source.source,
            generation=0,
            is_main=source.kind is SourceKind.TRANSCRIPT,
            agent_id=source.agent_id,
        ): records[source.source]
        for source in batch.sources
    }


def make_hooks(seed: int, spread: int, count: int = 120) -> list[HookDelivery]:
    """Return deliveries near the lines of a session: about its calls, about none, in it and in its agent."""
    random = Random(seed)
    ids = [f"call-{each}" for each in (*(f"session-1-main-{at}" for at in range(spread)), "nobody")]
    ids += [f"call-session-1-a1-{at}" for at in range(24)]
    found: list[HookDelivery] = []
    for number in range(count):
        at = BEGIN + random.randrange(-20, spread + 20) * SECOND + random.choice((0, 0, 1, NEAR))
        found.append(
            HookDelivery(
                id=number + 1,
                delivery_id=f"{seed}-{random.randrange(1 << 30)}-{number}",
                received_ns=at * 1000 + random.choice((0, 5)),
                event_name=random.choice(EVENTS),
                notification_type="auth_success" if number % 17 == 5 else None,
                tool_name=None,
                label=None,
                group_name=None,
                context=f'{{"n":{number}}}',
                tool_use_id=random.choice(ids) if random.random() < 0.6 else None,
                agent_id=random.choice(("a1", "gone", None, None)),
            )
        )
    return found


SHORT, LONG = make_chapters(60), make_chapters(2 * SEGMENT + 76)
WORLDS = [(SHORT, make_hooks(seed, 60)) for seed in range(6)]
WORLDS += [(LONG, make_hooks(seed, 2 * SEGMENT + 76, 300)) for seed in range(2)]
WORLDS += [(SHORT, []), ({}, [])]


@pytest.fixture(params=range(len(WORLDS)))
def world(request: pytest.FixtureRequest) -> tuple[SessionActions, ScannedSession]:
    """A session, and one that is looked at as a whole for each question."""
    chapters, hooks = WORLDS[request.param]
    return SessionActions(MemorySession.build(chapters, hooks=hooks)), ScannedSession(chapters, hooks)


def test_hook_events_stand_where_looking_at_everything_puts_them(
    world: tuple[SessionActions, ScannedSession],
) -> None:
    session, scanned = world
    for chapter in session.chapters:
        expected = scanned.list_under(chapter.source)
        count = chapter.count_messages
        for first, last in ((0, count), (5, 9), (count - 1, count), (3, 3), (count // 2, count // 2 + 20)):
            numbers = list(range(first, last))
            found = session.list_hooks_under(chapter, numbers, above=first == 0)
            wanted = ([None] if first == 0 else []) + numbers
            assert [(at, hook.delivery_id) for at, hook in found.hooks] == [
                (at, id) for at in wanted for id in expected.get(at, ())
            ]
            assert found.total == len(found.hooks)
            assert all(hook.context is not None for _, hook in found.hooks)


def test_each_hook_event_has_one_place(world: tuple[SessionActions, ScannedSession]) -> None:
    session, scanned = world
    places = session.find_hook_places(scanned.deliveries)
    assert len(places) == len(scanned.deliveries)
    for delivery in scanned.deliveries:
        place = places[delivery.id]
        assert (place.source, place.message) == scanned.find_place(delivery)


def test_too_many_hook_events_are_counted() -> None:
    chapters, hooks = WORLDS[0]
    session = SessionActions(MemorySession.build(chapters, hooks=hooks))
    every = session.list_hooks_under(session.main, range(60), above=True)
    some = session.list_hooks_under(session.main, range(60), above=True, count=7)
    assert (len(some.hooks), some.total) == (7, every.total)
    first = sorted(every.hooks, key=lambda each: (each[1].received_ns, each[1].delivery_id))[:7]
    assert sorted(hook.id for _, hook in some.hooks) == sorted(hook.id for _, hook in first)


def list_pages(session: SessionActions, where: ActionFilter, slowest: bool, count: int) -> Iterator[Action]:
    """Yield what all pages have."""
    last: Action | None = None
    while True:
        found = session.list_actions(
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


@pytest.mark.parametrize("where", FILTERS, ids=repr)
def test_actions_come_in_pages_with_what_is_wanted(
    world: tuple[SessionActions, ScannedSession], where: ActionFilter
) -> None:
    session, scanned = world
    for slowest in (False, True):
        expected = scanned.list_actions(where, slowest)
        for count in (37, 5000):
            assert [*list_pages(session, where, slowest, count)] == expected
    for spans in (1, 10, 120):
        assert session.tally_actions(where, spans=spans) == scanned.tally(where, spans)


def test_a_page_far_below_loads_no_segment_above_it() -> None:
    [facts] = [facts for facts in LONG if facts.is_main]
    records = LONG[facts]
    resolved = tuple(replace(call, state="resolved") for call in records.calls)
    quiet = {facts: replace(records, calls=resolved, events=())}
    every = SessionActions(MemorySession.build(quiet)).list_actions(count=5000)
    reader = MemorySession.build(quiet)
    assert SessionActions(reader).list_actions(after=every[-5].point) == every[-4:]
    assert {number for _, number in reader.loaded} == {2}


def test_deliveries_of_one_moment_are_all_told() -> None:
    """More of them than are asked for at once, at the same time as others before and behind."""
    moments = [0] * 3 + [5] * 2500 + [5, 6, 6, 7]
    hooks = [
        replace(
            make_hooks(0, 60, 1)[0],
            id=number + 1,
            delivery_id=f"d{number:05}",
            received_ns=at,
            event_name="Stop",
        )
        for number, at in enumerate(moments)
    ]
    hooks = [replace(hook, notification_type=None, tool_use_id=None) for hook in hooks]
    session = SessionActions(MemorySession.build({}, hooks=hooks))
    assert [action.number for action in session.list_actions(count=5000)] == [hook.id for hook in hooks]
    assert session.tally_actions().total == len(hooks)


def test_the_order_in_which_deliveries_came_is_not_seen() -> None:
    chapters, hooks = WORLDS[1]
    expected = SessionActions(MemorySession.build(chapters, hooks=hooks)).list_actions(count=1000)
    for seed in range(4):
        mixed = [*hooks]
        Random(seed).shuffle(mixed)
        numbered = [replace(hook, id=number + 1) for number, hook in enumerate(mixed)]
        session = SessionActions(MemorySession.build(chapters, hooks=numbered))
        found = session.list_actions(count=1000)
        assert [replace(action, number=0) for action in found if action.kind == "hook"] == [
            replace(action, number=0) for action in expected if action.kind == "hook"
        ]
        assert [action for action in found if action.kind != "hook"] == [
            action for action in expected if action.kind != "hook"
        ]


def test_lines_and_deliveries_of_the_same_event_find_each_other(
    world: tuple[SessionActions, ScannedSession],
) -> None:
    session, scanned = world
    events = [event for chapter in session.chapters for event in chapter.list_events(hooks_only=True)]
    near = {hook.id for hook in session.list_hooks_near(event.told for event in events)}
    lines = {(chapter.source, event.line) for chapter, event in session.list_hook_lines(scanned.deliveries)}
    told = scanned.match()
    assert {delivery.id for delivery in told.values()} <= near
    assert set(told) <= lines


def test_of_a_session_without_files_there_is_what_hooks_told() -> None:
    hooks = make_hooks(3, 60)
    session = SessionActions(MemorySession.build({}, hooks=hooks))
    under = session.list_hooks_under(None, (), above=True)
    assert under.total == len(under.hooks) > 0
    ids = {hook.id for _, hook in under.hooks}
    assert {action.number for action in session.list_actions(count=1000)} == ids
    assert session.tally_actions().total == len(ids)
    assert {*session.find_hook_places([hook for _, hook in under.hooks]).values()} == {HookPlace(None, None)}
    assert session.list_hook_lines(hooks) == []
    assert session.find_turns([1 << 60]) == {}


def test_where_nothing_happened_there_is_nothing() -> None:
    session = SessionActions(MemorySession({}, {}))
    assert session.list_hooks_under(None, (), above=True) == HooksUnder((), 0)
    assert session.list_actions() == session.list_actions(slowest=True) == []
    assert session.list_hooks_at([1]) == []
    assert session.tally_actions() == ActionTally(total=0, counts={}, names={}, failed=0, spans=())


def test_a_turn_is_under_way_until_the_next_begins() -> None:
    session = SessionActions(MemorySession.build(SHORT))
    assert session.main is not None
    messages = [*session.main.list_messages()]
    times = [message.reached or 0 for message in messages]
    found = session.find_turns([0, *times, times[-1] + 99])
    expected = {time: message.turn for time, message in zip(times, messages, strict=True)}
    assert found == expected | {times[-1] + 99: messages[-1].turn}


def test_what_is_of_no_turn_is_under_way_with_the_turn_above() -> None:
    chapters = {
        facts: replace(
            records,
            messages=tuple(
                replace(message, turn=None if message.index % 4 else message.index // 4)
                for message in records.messages
            ),
        )
        for facts, records in SHORT.items()
    }
    session = SessionActions(MemorySession.build(chapters))
    assert session.main is not None
    times = [message.reached or 0 for message in session.main.list_messages()]
    assert session.find_turns(times) == {time: at // 4 for at, time in enumerate(times)}
