"""Lists of ten thousand sessions: one query for a page, and no look at sessions that are not on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from turnlog.errors import CursorError, StoreError
from turnlog.store.batch import Derived
from turnlog.store.interface import MaintainedStore
from turnlog.store.lists import Cursor, MarkChange, SessionFilter, SessionOrder, decode_cursor, encode_cursor
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import TIME, make_batch, make_line, make_session_row

COUNT = 10_000
EVERY_FILTER = SessionFilter(
    project_text="tea",
    under="/home/ada",
    session="s",
    text="about",
    model="opus",
    branch="main",
    tags=("t",),
    starred=True,
    archived=None,
    only_here=True,
    since=1,
    until=TIME * 2,
    errors=False,
    problems=True,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lists") / "turnlog.db"


@pytest.fixture(scope="module")
def store(path: Path) -> Iterator[MaintainedStore]:
    """A store with one session, of which the lists have ten thousand copies, half of them of 20 series."""
    store = open_store(path)
    derived = Derived(session=make_session_row("session", summary=b"{%s}" % (b" " * 2000)))
    store.apply(
        [make_batch({"session.jsonl": make_line(session_id="session")}, session_id="session", derived=derived)]
    )
    changed = {
        "id": "id + n",
        "session": "session + n",
        "key": "key || n",
        "last_time": "last_time + n",
        "title_key": "CAST(title_key || (n % 997) AS BLOB)",
        "project": "CAST(project || (n % 80) AS BLOB)",
        "series": "CASE n % 2 WHEN 0 THEN CAST(n % 40 AS BLOB) END",
    }
    with closing(apsw.Connection(str(path))) as connection:
        for table in ("sessions", "summaries"):
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            values = ", ".join(changed.get(name, name) for name in names)
            connection.execute(
                f"WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {COUNT - 1}) "
                f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table}, many"
            )
    yield store
    store.close()


class Watched(NamedTuple):
    """A reader of that store, and what it asked: each query with what that did."""

    store: MaintainedStore
    queries: list[tuple[str, dict[str, int]]]


@pytest.fixture(scope="module")
def watched(store: MaintainedStore, path: Path) -> Iterator[Watched]:
    watched = Watched(open_store(path, read_only=True), [])

    def note(told: dict[str, Any]) -> None:
        if told["sql"] not in ("BEGIN", "COMMIT"):
            watched.queries.append((told["sql"], told["stmt_status"]))

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)

    apsw.connection_hooks.append(watch)
    try:
        watched.store.list_sessions(LOCAL)  # by a connection that it keeps
    finally:
        apsw.connection_hooks.remove(watch)
    yield watched
    watched.store.close()


CHOSEN_BY_TEXT = 4
"""What `EVERY_FILTER` asks that is decided for each distinct value: project, branch, model and tags."""


@pytest.mark.parametrize("order", SessionOrder)
@pytest.mark.parametrize(
    ("asked", "choices"), [(SessionFilter(), 0), (EVERY_FILTER, CHOSEN_BY_TEXT), (SessionFilter(text="9"), 0)]
)
def test_a_page_is_one_query(watched: Watched, asked: SessionFilter, choices: int, order: SessionOrder) -> None:
    """And one before it for each text that is looked for in whatever its case."""
    watched.queries.clear()
    page = watched.store.list_sessions(LOCAL, asked, order=order, limit=50)
    assert len(watched.queries) == 1 + choices
    if page.next is not None:
        watched.queries.clear()
        watched.store.list_sessions(LOCAL, asked, order=order, limit=50, cursor=page.next)
        assert len(watched.queries) == 1 + choices


def test_projects_are_one_query(watched: Watched) -> None:
    watched.queries.clear()
    projects = watched.store.list_projects(LOCAL)
    assert len(watched.queries) == 1
    assert sum(project.sessions for project in projects) == COUNT


@pytest.mark.parametrize("order", SessionOrder)
@pytest.mark.parametrize("asked", [SessionFilter(), EVERY_FILTER])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("summaries", [False, True])
def test_what_is_wide_is_read_for_the_page_alone(
    watched: Watched, path: Path, asked: SessionFilter, order: SessionOrder, grouped: bool, summaries: bool
) -> None:
    watched.queries.clear()
    watched.store.list_sessions(LOCAL, asked, order=order, limit=50, grouped=grouped, summaries=summaries)
    query, did = watched.queries[-1]
    # What is looked up without an index of its own are the groups, which are few.
    assert did["SQLITE_STMTSTATUS_AUTOINDEX"] <= (20 if grouped else 0)
    names = dict.fromkeys(re.findall(r":(\w+)", query))
    with closing(apsw.Connection(str(path))) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", names)]
    scanned = {step.split()[1] for step in plan if step.startswith("SCAN ")}
    assert scanned.isdisjoint({"u", "s", "m"}), plan
    of_summaries = [step for step in plan if step.split()[1:2] == ["u"]]
    assert len(of_summaries) == int(summaries)
    assert set(of_summaries) <= {"SEARCH u USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"}, plan


def test_all_pages_together_are_the_list(store: MaintainedStore) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = store.list_sessions(LOCAL, order=SessionOrder.TITLE, limit=999, cursor=cursor)
        seen += (stored.key for stored in page.sessions)
        cursor = page.next
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == COUNT


def test_a_cursor_is_text_that_goes_through_an_address() -> None:
    for value in (None, 5, -3, 2.5, "ä / ? & 茶"):
        cursor = Cursor(SessionOrder.TITLE, value, "k" * 32)
        text = encode_cursor(cursor)
        assert text.isascii()
        assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        assert decode_cursor(text, SessionOrder.TITLE) == cursor
    with pytest.raises(CursorError, match="a list by cost, got one by title"):
        decode_cursor(text, SessionOrder.COST)


def test_an_amount_that_is_none_is_damage_and_said(tmp_path: Path) -> None:
    store = open_store(tmp_path / "turnlog.db")
    derived = Derived(session=make_session_row("session", cost="much"))
    store.apply(
        [make_batch({"session.jsonl": make_line(session_id="session")}, session_id="session", derived=derived)]
    )
    with pytest.raises(StoreError, match="'much' is no amount"):
        store.list_projects(LOCAL)
    store.close()


def test_the_total_leaves_out_what_was_put_away(store: MaintainedStore) -> None:
    store.mark(LOCAL, [store.list_sessions(LOCAL, limit=1).sessions[0].key], MarkChange(archived=True))
    assert store.list_sessions(LOCAL, limit=1).total == COUNT - 1
    store.undo_mark(LOCAL)
    assert store.list_sessions(LOCAL, limit=1).total == COUNT
