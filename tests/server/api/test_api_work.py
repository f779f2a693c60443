"""A window costs what is in it, wherever it is, and however long its session is. Work is counted, not timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from server_app import Served, serving
from turnlog.store.actions import ActionPoint
from turnlog.store.batch import SessionBatch
from turnlog.store.care import CaredStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_batch, make_key, make_lines

LONG, SHORT = 60_000, 1_000
BEGIN = 1_767_312_000_000_000
"""When sessions begin, in microseconds; there is a line each second."""
FRAME = "SELECT CAST(data AS BLOB)"
"""How a frame of the archive is read; windows may be in one or across two."""
POLL = "SELECT seq FROM changes"
"""How the server looks for changes every now and then, whoever asks for what."""


class Work:
    """What SQLite did: statements, and the steps that they took."""

    store: CaredStore

    def __init__(self) -> None:
        self.statements: Counter[str] = Counter()
        self.steps = 0

    def watch(self, connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._count)

    def _count(self, event: dict[str, Any]) -> None:
        text = " ".join(event["sql"].split())
        if text.startswith(POLL):
            return
        self.statements[text] += 1
        if not text.startswith(FRAME):
            self.steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    @contextmanager
    def counted(self) -> Iterator[Work]:
        """Count anew."""
        done = Work()
        self.statements, self.steps = done.statements, 0
        yield done
        done.steps = self.steps

    @property
    def frames(self) -> int:
        return sum(count for text, count in self.statements.items() if text.startswith(FRAME))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Work]]:
    """A server whose connections are watched, with a long session and a short one."""
    home = tmp_path_factory.mktemp("long")
    work = Work()
    apsw.connection_hooks.append(work.watch)
    try:
        store = work.store = open_store(home / "turnlog.db")
        for name, count in (("long", LONG), ("short", SHORT)):
            lines = make_lines(count, session_id=name)
            store.apply([tell_time(make_batch({f"{name}.jsonl": lines}, session_id=name))])
            store.add_deliveries(LOCAL, list(make_deliveries(name, count)))
        assert store.count_messages(LOCAL, make_key("long")) == LONG
        with serving(home / "home", store=store) as running:
            yield running, work
        store.close()
    finally:
        apsw.connection_hooks.remove(work.watch)


def tell_time(batch: SessionBatch) -> SessionBatch:
    """Return a batch whose rows say when they are: the clock of the lines begins anew each day."""
    assert batch.derived is not None
    [rows] = batch.derived.chapters
    told = replace(
        rows,
        messages=tuple(replace(row, reached=BEGIN + row.index * 1_000_000) for row in rows.messages),
        calls=tuple(replace(row, reached=BEGIN + row.line * 1_000_000) for row in rows.calls),
        placements=tuple(
            row if row.category is None else replace(row, reached=BEGIN + row.index * 1_000_000)
            for row in rows.placements
        ),
    )
    return replace(batch, derived=replace(batch.derived, chapters=(told,)))


def make_deliveries(name: str, count: int) -> Iterator[HookDelivery]:
    """Yield what hooks told of every fourth call, and every two minutes of none."""
    for number in range(1, count, 8):
        at = (BEGIN + number * 1_000_000) * 1000
        for event, more in (("PreToolUse", 1000), ("PostToolUse", 3000)):
            yield HookDelivery(
                delivery_id=f"{name}-{number}-{event}",
                received_ns=at + more,
                payload=b"{}",
                session_id=name,
                event_name=event,
                tool_use_id=f"call-{name}-main-{number}",
            )
        if number % 120 == 1:
            yield HookDelivery(
                delivery_id=f"{name}-{number}",
                received_ns=at,
                payload=b"{}",
                session_id=name,
                event_name="Stop",
            )


def measure(
    watched: tuple[Served, Work], name: str, query: str, part: str = "messages"
) -> tuple[int, int, int]:
    """Return how many statements a window took, how many steps, and how many frames were opened."""
    served, work = watched
    path = f"/api/sessions/{make_key(name)}/{part}"
    where = query.partition("&")[2]
    # Words are learned once; elsewhere, so that what is counted has its frames still to open.
    served.get(f"{path}?around={LONG // 4 if name == 'long' else 0}&{where}")
    with work.counted() as done:
        window = served.get(f"{path}?{query}").json
    assert sum(item.get("kind") != "hook" for item in window["items"]) == 100
    return sum(done.statements.values()) - done.frames, done.steps, done.frames


def measure_often(
    watched: tuple[Served, Work], name: str, query: str, part: str = "messages"
) -> tuple[int, int, int]:
    """Return what a window takes for itself: a thread that opens its connection meanwhile adds statements."""
    return min(measure(watched, name, query, part) for _ in range(3))


FILTERS = ["", "&role=user&role=assistant", "&role=user", "&lane=main", "&category=builtin"]


@pytest.mark.parametrize("where", FILTERS)
def test_a_window_costs_the_same_at_the_start_in_the_middle_and_at_the_end(
    watched: tuple[Served, Work], where: str
) -> None:
    places = [
        "after=-1",
        f"after={LONG // 2}",
        f"around={LONG // 2}",
        f"before={LONG}",
        "around=end",
        f"before={LONG // 2}",
    ]
    found = {place: measure(watched, "long", f"{place}{where}") for place in places}
    # By now all words of these windows are known, whichever test came first.
    again = {place: measure_often(watched, "long", f"{place}{where}") for place in places}
    short = measure_often(watched, "short", f"around={SHORT // 2}{where}")
    statements = [statements for statements, _, _ in (*again.values(), short)]
    steps = [steps for _, steps, _ in (*again.values(), short)]
    assert max(statements) <= min(statements) * 1.1, again
    assert max(steps) <= min(steps) * 1.25, again
    opened = [frames for _, _, frames in found.values()]
    assert max(opened) <= 2, found
    assert where or max(opened) >= 1, "the first windows are read, not remembered"


def test_a_window_of_the_timeline_costs_the_same_everywhere(watched: tuple[Served, Work]) -> None:
    places = ["after=-1", f"after={LONG // 2}", f"around={LONG // 2}", "around=end", f"before={LONG // 2}"]
    found = {place: measure_often(watched, "long", place, "timeline") for place in places}
    short = measure_often(watched, "short", f"around={SHORT // 2}", "timeline")
    statements = [statements for statements, _, _ in (*found.values(), short)]
    steps = [steps for _, steps, _ in (*found.values(), short)]
    assert max(statements) <= min(statements) * 1.1, (found, short)
    assert max(steps) <= min(steps) * 1.5, (found, short)
    plain = measure(watched, "long", f"around={LONG // 2}")
    assert max(steps) <= plain[1] * 4, "hook events cost no more than the messages that they stand under"


def test_a_page_of_actions_costs_the_same_everywhere(watched: tuple[Served, Work]) -> None:
    work = watched[1]
    store = work.store

    def count(name: str, at: int) -> int:
        key = make_key(name)
        begin = ActionPoint(BEGIN + at * 1_000_000, 0, "")
        store.list_actions(LOCAL, key, name, after=begin, count=100)
        with work.counted() as done:
            assert len(store.list_actions(LOCAL, key, name, after=begin, count=100)) == 100
        return done.steps

    steps = [count("long", at) for at in (0, 18_000, 36_000, 59_000)] + [count("short", 500)]
    assert max(steps) <= min(steps) * 1.5, steps


def test_a_window_around_a_uuid_is_found_without_looking_at_others(watched: tuple[Served, Work]) -> None:
    known = measure(watched, "long", f"around={LONG // 2}")
    by_uuid = measure(watched, "long", f"around=long-main-{LONG // 2}")
    assert by_uuid[1] <= known[1] * 1.1


@pytest.mark.parametrize("part", ["turns?limit=100", "turns?limit=100&cursor=24000", "messages/59999/raw"])
def test_other_parts_do_not_look_at_the_whole_session(watched: tuple[Served, Work], part: str) -> None:
    served, work = watched
    served.get(f"/api/sessions/{make_key('long')}/{part}")
    with work.counted() as done:
        assert served.get(f"/api/sessions/{make_key('long')}/{part}").status == 200
    assert done.steps < LONG / 2
