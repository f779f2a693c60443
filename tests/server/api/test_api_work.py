"""A window costs what is in it, wherever it is, and however long its session is. Work is counted, not timed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from turnlog.ingest.pipeline import sync
from turnlog.server.routes.timeline import list_notes, view_timeline
from turnlog.server.values import read_lines
from turnlog.server.windows import WindowQuery, find_window, read_titles, view_window
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.hooks import HookDelivery
from turnlog.transcripts.queries.chapters import EVERY_MESSAGE, MessageFilter
from turnlog.transcripts.queries.sessions import ActionPoint, SessionActions
from turnlog.transcripts.segments import SEGMENT

LONG, SHORT = 40 * SEGMENT, 2 * SEGMENT
"""Lines; four are three messages."""
BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
"""When sessions begin; there is a line each second."""
FRAME = "SELECT start, CAST(data AS BLOB) FROM frames"
TAIL = "SELECT start, CAST(data AS BLOB) FROM tail_frames"
NEWEST = "SELECT start, CAST(data AS BLOB) FROM ( SELECT id AS generation"
SEGMENTS = "SELECT CAST(d.packed AS BLOB)"
NAMES = {"long": f"{1:032x}", "short": f"{2:032x}"}

Ask = Callable[[MaintainedStore, StoredSession, SessionActions], Any]


class Work:
    """What SQLite did."""

    def __init__(self) -> None:
        self.statements: Counter[str] = Counter()

    def watch(self, connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._count)

    def _count(self, event: dict[str, Any]) -> None:
        self.statements[" ".join(event["sql"].split())] += 1

    def count(self, *beginnings: str) -> int:
        """Return how many statements began so."""
        return sum(count for text, count in self.statements.items() if text.startswith(beginnings))


@contextmanager
def watched(work: Work) -> Iterator[None]:
    apsw.connection_hooks.append(work.watch)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(work.watch)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with a long session and a short one."""
    home = tmp_path_factory.mktemp("long")
    place = home / "turnlog.db"
    store = open_store(place)
    for name, count in (("long", LONG), ("short", SHORT)):
        path = home / "claude" / "projects" / "p" / f"{NAMES[name]}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in make_lines(name, count)))
        store.add_deliveries(LOCAL, list(make_deliveries(name, count)))
    sync(store, place, locate_sessions([home / "claude"]).sessions, origin="test")
    store.close()
    return place


def make_lines(name: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield a prompt, a call, its result and an answer, again and again."""
    parent = None
    for number in range(count):
        call, uuid = f"{name}-call-{number - number % 4}", f"{name}-{number}"
        content: Any = f"line {number}"
        if number % 4 == 1:
            content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"ls {number}"}}]
        elif number % 4 == 2:
            content = [{"type": "tool_result", "tool_use_id": call, "content": f"line {number}"}]
        message = {"id": f"{name}-answer-{number}", "role": "assistant", "model": "claude", "content": content}
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "sessionId": NAMES[name],
            "type": "assistant" if number % 2 else "user",
            "message": message if number % 2 else {"role": "user", "content": content},
            "uuid": uuid,
            "timestamp": (BEGIN + timedelta(seconds=number)).isoformat(),
        }
        parent = uuid


def make_deliveries(name: str, count: int) -> Iterator[HookDelivery]:
    """Yield what hooks told of every other call, and every two minutes of none."""
    begin = int(BEGIN.timestamp()) * 1_000_000_000
    for number in range(0, count, 8):
        told: list[tuple[str, str | None]]
        told = [("PreToolUse", f"{name}-call-{number}"), ("PostToolUse", f"{name}-call-{number}")]
        told += [("Stop", None)] if number % 120 == 0 else []
        for event, call in told:
            yield HookDelivery(
                delivery_id=f"{name}-{number}-{event}",
                received_ns=begin + number * 1_000_000_000 + 1_500_000_000,
                payload=b"{}",
                session_id=NAMES[name],
                event_name=event,
                tool_use_id=call,
            )


def measure(place: Path, name: str, ask: Ask) -> tuple[int, int, int]:
    """Return how many statements a question took, how many segments were loaded, and how many frames."""
    work = Work()
    with watched(work):
        store = open_store(place)  # which remembers nothing
        [stored] = find_sessions(store, LOCAL, NAMES[name])
        work.statements.clear()
        with store.open_session(LOCAL, stored.key, hooks=NAMES[name]) as session:
            ask(store, stored, session)
        counts = work.count(""), work.count(SEGMENTS), work.count(FRAME, TAIL, NEWEST)
        store.close()
    return counts[0] - counts[1] - counts[2], counts[1], counts[2]


def ask_messages(where: MessageFilter = EVERY_MESSAGE, **asked: Any) -> Ask:
    wanted = {
        "source": None,
        "agent": None,
        "around": None,
        "before": None,
        "after": None,
        "limit": 100,
    } | asked

    def ask(store: MaintainedStore, stored: StoredSession, session: SessionActions) -> object:
        found = find_window(session, WindowQuery(**wanted), where)
        shown = view_window(store, LOCAL, stored, found)
        assert len(shown) == 100
        return found, shown

    return ask


PLACES: dict[str, dict[str, Any]] = {
    "the start": {"after": -1},
    "the middle": {"after": LONG // 3},
    "around the middle": {"around": str(LONG // 3)},
    "the end": {"around": "end"},
    "above the middle": {"before": LONG // 3},
}
FILTERS = [
    EVERY_MESSAGE,
    MessageFilter(roles=("user", "assistant")),
    MessageFilter(roles=("user",)),
    MessageFilter(lanes=("main",), active=True),
]


@pytest.mark.parametrize("where", FILTERS)
def test_a_window_costs_the_same_at_the_start_in_the_middle_and_at_the_end(
    place: Path, where: MessageFilter
) -> None:
    found = {name: measure(place, "long", ask_messages(where, **asked)) for name, asked in PLACES.items()}
    found["short"] = measure(place, "short", ask_messages(where, around="300"))
    counts = [statements for statements, _, _ in found.values()]
    assert max(counts) <= min(counts) + 4, found
    assert max(segments for _, segments, _ in found.values()) <= 3, found
    assert all(1 <= frames <= 2 for _, _, frames in found.values()), found


def test_a_window_of_the_timeline_costs_the_same_everywhere(place: Path) -> None:
    def ask_timeline(**asked: Any) -> Ask:
        def ask(store: MaintainedStore, stored: StoredSession, session: SessionActions) -> object:
            found, shown = ask_messages(**asked)(store, stored, session)
            chapter = found.selection.chapter
            behind = found.selection.list_after(shown[-1].index + 1, 1)
            notes = list_notes(chapter, found.rows, behind[0] if behind else None, shown[0].index == 0)
            items, omitted = view_timeline(session, chapter, found.rows, shown, False, notes)
            assert (len(items) > 130, omitted) == (True, 0)
            return items

        return ask

    found = {name: measure(place, "long", ask_timeline(**asked)) for name, asked in PLACES.items()}
    found["short"] = measure(place, "short", ask_timeline(around="300"))
    counts = [statements for statements, _, _ in found.values()]
    assert max(counts) <= min(counts) + 4, found
    assert max(segments for _, segments, _ in found.values()) <= 3, found


def test_a_page_of_actions_costs_the_same_everywhere(place: Path) -> None:
    def ask_actions(line: int) -> Ask:
        def ask(store: MaintainedStore, stored: StoredSession, session: SessionActions) -> object:
            at = int((BEGIN + timedelta(seconds=line)).timestamp()) * 1_000_000
            found = session.list_actions(after=ActionPoint(at, 0, ""), count=100)
            assert len(found) == 100
            return found

        return ask

    found = [measure(place, "long", ask_actions(line)) for line in (0, LONG // 3, LONG // 2, LONG - 500)]
    found.append(measure(place, "short", ask_actions(300)))
    assert max(segments for _, segments, _ in found) <= 3, found
    counts = [statements for statements, _, _ in found]
    assert max(counts) <= min(counts) + 4, found


def test_other_parts_do_not_look_at_the_whole_session(place: Path) -> None:
    def ask_turns(store: MaintainedStore, stored: StoredSession, session: SessionActions) -> None:
        assert session.main is not None
        turns = session.list_turns(LONG // 8, 100)
        assert len(read_titles(session.main, session.main.list_at(turn.prompt for turn in turns))) == 100
        assert len(session.list_turn_calls(LONG // 8, 100)) == 100

    def ask_lines(store: MaintainedStore, stored: StoredSession, session: SessionActions) -> None:
        assert session.main is not None
        [row] = session.main.list_at([LONG // 2])
        assert read_lines(session.main, row.lines)

    assert measure(place, "long", ask_turns)[1] <= 3
    assert measure(place, "long", ask_lines)[1] <= 2
