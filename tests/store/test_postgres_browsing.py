"""What lists, windows and timelines of the PostgreSQL store cost: statements, partitions and rows looked at."""

from __future__ import annotations

import re
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import msgspec
import psycopg
import pytest
from msgspec.structs import replace

from postgres_server import make_database
from turnlog.errors import CursorError, StoreError
from turnlog.store.actions import ActionFilter, ActionPoint
from turnlog.store.batch import DerivedRows
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL, Place, Scope, Viewer
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.store.marks import MarkChange, Marks
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.windows import MessageFilter
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.row_builders import TIME, make_session_row
from turnlog.transcripts.hooks.matching import Told

COUNT = 3000
ID = "session-1"
KEY = make_key(ID)
BEGIN = 1_767_312_000_000_000
"""When the first line was written, in microseconds since 1970."""
MIDDLE = COUNT // 2
SOME = range(MIDDLE, MIDDLE + 20)
_WORK = 1000
"""More rows than any of these queries needs to look at, and much fewer than the session has."""
MACHINE = make_batch({}).origin
SCOPES = {"everything": LOCAL, "of a person": Scope(LOCAL.owner, Viewer(person="ada", team=True))}
_Statement = tuple[str, Any]
Ask = Callable[[PostgresStore, Scope], object]


@pytest.fixture(scope="module")
def store() -> Iterator[PostgresStore]:
    """A store with a long session and hooks of it, and with others, before and after that."""
    store = PostgresStore.open(make_database())
    store.note_machine(LOCAL, MACHINE, person="ada", host="host", user="ada", at_ns=1)
    store.apply([make_batch({f"{ID}.jsonl": make_lines(COUNT)})])
    for month in (1, 2, 3):
        name = f"other-{month}"
        lines = [make_line(at, session_id=name, timestamp=f"2026-{month:02}-01T00:00:00Z") for at in range(3)]
        store.apply([make_batch({f"{name}.jsonl": b"".join(lines)}, session_id=name)])
    deliveries = [
        HookDelivery(
            delivery_id=f"{session}-{at}",
            received_ns=(BEGIN + month * 2_700_000_000_000 + at * 2_000_000) * 1000,
            payload=b"{}",
            session_id=session,
            event_name="PreToolUse" if at % 2 else "Stop",
            origin=MACHINE,
            tool_use_id=f"call-session-1-main-{2 * at + 1}" if at % 2 else None,
        )
        for session, month, count in ((ID, 0, MIDDLE), ("other-2", 1, 9), ("other-3", 2, 9))
        for at in range(count)
    ]
    store.add_deliveries(LOCAL, deliveries)
    yield store
    store.close()


@pytest.fixture(params=["uncounted", "counted"])
def either(store: PostgresStore, request: pytest.FixtureRequest) -> PostgresStore:
    """The store before and after the server has looked at what is in the tables."""
    if request.param == "counted":
        with store._database.asking() as connection:
            connection.execute("ANALYZE")
    return store


def list_statements(store: PostgresStore, ask: Ask, scope: Scope = LOCAL) -> list[_Statement]:
    """Return what a store asks the server for, but for beginnings and ends of transactions."""
    asked: list[_Statement] = []
    execute = psycopg.Cursor.execute

    def note(self: Any, query: Any, values: Any = None, **more: Any) -> Any:
        if isinstance(query, str) and query != "COMMIT":
            asked.append((query, values))
        return execute(self, query, values, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", note)
        assert ask(store, scope) not in (0, [], None)
    return asked


def explain(store: PostgresStore, statement: _Statement, scope: Scope = LOCAL) -> Iterator[dict[str, Any]]:
    """Yield the steps that the server takes."""
    query, values = statement
    with store._reading(scope) as connection:
        [(plan,)] = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).fetchall()
    steps = [plan[0]["Plan"]]
    while steps:
        step = steps.pop()
        steps += step.get("Plans", ())
        if step["Actual Loops"]:
            yield step


ACTIONS: dict[str, Ask] = {
    "a page": lambda store, scope: store.list_actions(scope, KEY, ID, after=_point(), count=20),
    "of a sort": lambda store, scope: store.list_actions(
        scope, KEY, ID, ActionFilter(categories=("builtin",)), after=_point(), count=20
    ),
}
WINDOWS: dict[str, Ask] = {
    "count_messages": lambda store, scope: store.count_messages(scope, KEY),
    "find_message": lambda store, scope: store.find_message(scope, KEY, f"session-1-main-{MIDDLE}"),
    "list_at": lambda store, scope: store.list_at(scope, KEY, SOME),
    "list_after": lambda store, scope: store.list_after(scope, KEY, first=MIDDLE, count=20),
    "list_after, some": lambda store, scope: store.list_after(
        scope, KEY, first=MIDDLE, count=20, where=MessageFilter(roles=("user",))
    ),
    "list_before": lambda store, scope: store.list_before(scope, KEY, last=MIDDLE, count=20),
    "list_calls_of": lambda store, scope: store.list_calls_of(scope, KEY, SOME),
    "list_calls_at": lambda store, scope: store.list_calls_at(scope, KEY, range(700, 720)),
    "list_outline": lambda store, scope: store.list_outline(scope, KEY, first=MIDDLE, count=20),
    "list_turns": lambda store, scope: store.list_turns(scope, KEY, first=700, count=20),
    "count_turns": lambda store, scope: store.count_turns(scope, KEY),
    "list_turn_calls": lambda store, scope: store.list_turn_calls(scope, KEY, first=700, count=20),
    "measure_lines": lambda store, scope: store.measure_lines(scope, _list_places()),
    "list_hooks_under": lambda store, scope: store.list_hooks_under(scope, KEY, ID, SOME),
    "list_hooks_under, agents": lambda store, scope: store.list_hooks_under(
        scope, KEY, ID, SOME, source="nobody's"
    ),
    "list_hooks_at": lambda store, scope: store.list_hooks_at(scope, ID, range(700, 720)),
    "find_hook_places": lambda store, scope: store.find_hook_places(scope, KEY, ID, range(700, 720)),
    "list_hooks_near": lambda store, scope: store.list_hooks_near(scope, ID, _list_told()),
    "list_hook_lines": lambda store, scope: store.list_hook_lines(scope, KEY, _list_told()),
    "list_events_at": lambda store, scope: store.list_events_at(scope, KEY, [(KEY, at) for at in SOME]),
    "find_turns": lambda store, scope: store.find_turns(scope, KEY, [BEGIN + at * 1_000_000 for at in SOME]),
}


def _point() -> ActionPoint:
    return ActionPoint(BEGIN + MIDDLE * 1_000_000, 0, KEY)


def _list_told() -> list[Told]:
    return [
        Told("PreToolUse", f"call-session-1-main-{at}" if at % 2 else None, BEGIN + at * 1_000_000)
        for at in SOME
    ]


def _list_places() -> list[Place]:
    """Return where the lines in the middle begin."""
    lines = make_lines(MIDDLE + 20).splitlines(keepends=True)
    begins = [*accumulate(map(len, lines), initial=0)]
    return [Place(KEY, 0, begins[at]) for at in SOME]


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize("name", WINDOWS)
def test_of_a_long_session_only_the_window_is_looked_at(either: PostgresStore, name: str, scope: Scope) -> None:
    for statement in list_statements(either, WINDOWS[name], scope):
        looked = sum(
            (step["Actual Rows"] + step.get("Rows Removed by Filter", 0)) * step["Actual Loops"]
            for step in explain(either, statement, scope)
            if "Relation Name" in step
        )
        assert looked < _WORK, statement[0]


@pytest.mark.parametrize("name", ACTIONS)
def test_of_a_long_action_log_only_the_page_is_looked_at(store: PostgresStore, name: str) -> None:
    with store._database.asking() as connection:
        connection.execute("ANALYZE")
    for statement in list_statements(store, ACTIONS[name]):
        looked = {
            step["Relation Name"]: step["Actual Rows"] * step["Actual Loops"]
            for step in explain(store, statement)
            if re.match("calls|placements", step.get("Relation Name", ""))
        }
        assert max(looked.values(), default=0) < _WORK, statement[0]


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize("name", [*WINDOWS, *ACTIONS])
def test_of_all_months_only_that_of_the_session_is_looked_at(
    store: PostgresStore, name: str, scope: Scope
) -> None:
    for query, values in list_statements(store, (WINDOWS | ACTIONS)[name], scope):
        with store._reading(scope) as connection:
            plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {query}", values))
        months = re.findall(r" on (?:messages|calls|placements|lines|turns|hook_deliveries)_(\d{6})", plan)
        assert set(months) <= {"202601"}, query


def test_there_are_other_months(store: PostgresStore) -> None:
    with store._database.asking() as connection:
        [(plan,)] = connection.execute("EXPLAIN (FORMAT JSON) SELECT * FROM messages").fetchall()
    assert len(plan[0]["Plan"]["Plans"]) >= 3


EVERY_FILTER = SessionFilter(
    project="/home/ada/project",
    project_text="ADA",
    under="/home",
    session="s",
    name="a",
    text="about",
    model="opus",
    branch="main",
    tags=("t", "u"),
    starred=True,
    archived=None,
    only_here=True,
    since=1,
    until=TIME * 2,
    errors=False,
    problems=True,
)


@pytest.mark.parametrize("order", SessionOrder)
@pytest.mark.parametrize("asked", [SessionFilter(), EVERY_FILTER])
def test_a_page_of_sessions_is_one_statement(
    store: PostgresStore, asked: SessionFilter, order: SessionOrder
) -> None:
    page = store.list_sessions(LOCAL, asked, order=order, limit=2)
    for cursor in {None, page.next}:
        asking: Ask = lambda store, scope: store.list_sessions(scope, asked, order=order, cursor=cursor)  # noqa: B023, E731
        for scope in SCOPES.values():
            assert len(list_statements(store, asking, scope)) == 1


def test_projects_and_facets_are_one_statement_each(store: PostgresStore) -> None:
    assert len(list_statements(store, lambda store, scope: store.list_projects(scope, text="ada"))) == 1
    assert len(list_statements(store, lambda store, scope: store.list_facets(scope, EVERY_FILTER))) == 1


def test_a_cursor_with_a_value_of_another_kind_is_refused(store: PostgresStore) -> None:
    for order, value in (
        (SessionOrder.NEWEST, "text"),
        (SessionOrder.NEWEST, 1.5),
        (SessionOrder.TITLE, 5),
        (SessionOrder.COST, "5"),
    ):
        cursor = urlsafe_b64encode(msgspec.json.encode([order, value, KEY])).decode().rstrip("=")
        with pytest.raises(CursorError, match=f"a list by {order}"):
            store.list_sessions(LOCAL, order=order, cursor=cursor)


def test_an_amount_that_is_none_is_refused(store: PostgresStore) -> None:
    rows = DerivedRows(session=make_session_row("much", cost="much"))
    batch = make_batch({"much.jsonl": make_line(session_id="much")}, session_id="much", rows=rows)
    with pytest.raises(StoreError, match="an amount of dollars, got 'much'"):
        store.apply([batch])
    assert store.find_sessions(LOCAL, "much") == []


def test_names_that_nothing_can_have_are_nowhere(store: PostgresStore) -> None:
    for name in ("a\0b", "half \ud83d"):
        assert store.count_messages(LOCAL, name) == 0
        assert store.list_after(LOCAL, KEY, source=name) == []
        assert store.list_after(LOCAL, KEY, where=MessageFilter(roles=(name,))) == []
        assert store.find_message(LOCAL, KEY, name) is None
        assert store.find_marks(LOCAL, name) is None
        assert store.find_sessions(LOCAL, name) == []
        assert store.mark(LOCAL, [name], MarkChange(starred=True)) == []
        assert store.list_actions(LOCAL, name, name) == []
        assert store.list_hooks_near(LOCAL, ID, [Told(name, name, 0)]) == []
        with pytest.raises(KeyError):
            store.measure_lines(LOCAL, [Place(name, 0, 0)])


def test_times_that_do_not_fit_into_nanoseconds_do_no_harm(store: PostgresStore) -> None:
    batch = make_batch({"far.jsonl": make_lines(3, session_id="far")}, session_id="far")
    assert batch.derived is not None
    [chapter] = batch.derived.chapters
    far = (-(1 << 62), 1 << 61, 1 << 62)
    messages = tuple(replace(row, reached=at) for row, at in zip(chapter.messages, far, strict=True))
    store.apply(
        [replace(batch, derived=replace(batch.derived, chapters=(replace(chapter, messages=messages),)))]
    )
    stop = HookDelivery(
        delivery_id="far", received_ns=1 << 62, payload=b"{}", session_id="far", event_name="Stop"
    )
    store.add_deliveries(LOCAL, [stop])
    found = store.list_hooks_under(LOCAL, batch.key, "far", range(3), above=True)
    assert [at for at, _ in found.hooks] == [0]
    assert store.list_hooks_near(LOCAL, "far", [Told("Stop", None, at) for at in far]) == []


def test_marks_of_several_processes_come_one_behind_the_other() -> None:
    address = make_database()
    stores = [PostgresStore.open(address) for _ in range(3)]
    stores[0].apply([make_batch({"s.jsonl": make_line(session_id="s")}, session_id="s")])
    key = make_key("s")

    def mark(number: int) -> None:
        for at in range(5):
            assert stores[number].mark(LOCAL, [key], MarkChange(tags=(f"t{number}-{at}",)))

    threads = [threading.Thread(target=mark, args=(number,)) for number in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores[0].list_tags(LOCAL)) == 15
    for left in range(14, -1, -1):
        [undone] = stores[1].undo_mark(LOCAL)
        assert len(undone.after.tags) == left
    assert stores[2].find_marks(LOCAL, key) == Marks()
    assert stores[2].undo_mark(LOCAL) == []
    seqs = [change.seq for change in stores[2].list_changes(LOCAL)]
    assert seqs == sorted(set(seqs))
    assert len(seqs) == 31
    for store in stores:
        store.close()


def test_when_hooks_told_of_a_session_is_forgotten_with_it() -> None:
    store = PostgresStore.open(make_database())
    store.apply([make_batch({"s.jsonl": make_line(session_id="s")}, session_id="s")])
    stop = HookDelivery(delivery_id="1", received_ns=5, payload=b"{}", session_id="s", event_name="Stop")
    store.add_deliveries(LOCAL, [stop, replace(stop, delivery_id="2", session_id="other", received_ns=7)])
    query = "SELECT first_ns, last_ns FROM hook_spans ORDER BY 1"
    with store._database.asking() as connection:
        assert connection.execute(query).fetchall() == [(5, 5), (7, 7)]
    store.forget(LOCAL, [make_key("s")])
    with store._database.asking() as connection:
        assert connection.execute(query).fetchall() == [(7, 7)]
    store.close()
