"""Lists of ten thousand sessions: one query for a page, and no look at sessions that are not on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from turnlog.errors import CursorError, StoreError
from turnlog.store.batch import Derived
from turnlog.store.catalogue.sqlite_engine import SqliteEngine
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.identity import LOCAL
from turnlog.store.interface import find_known
from turnlog.store.lists import Cursor, SessionFilter, SessionOrder, decode_cursor, encode_cursor
from turnlog.store.marks import MarkChange
from turnlog.testing.builders import make_batch, make_key, make_line
from turnlog.testing.row_builders import TIME, make_session_row

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
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogueStore]:
    """A store with one session, of which the lists have ten thousand copies, half of them of 20 series."""
    store = open_file(tmp_path_factory.mktemp("lists") / "turnlog.db")
    derived = Derived(session=make_session_row("session", summary=b"{%s}" % (b" " * 2000)))
    store.apply(
        [make_batch({"session.jsonl": make_line(session_id="session")}, session_id="session", derived=derived)]
    )
    with store._writing() as connection:
        for table, columns in (
            ("sessions", "id, owner, key, origin, session_id, project_folder, revision, derivation"),
            ("summaries", None),
        ):
            names = columns or ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
            changed = {
                "id": "id + n",
                "session": "session + n",
                "key": "key || n",
                "last_time": "last_time + n",
                "title_key": "title_key || (n % 997)",
                "project": "project || (n % 80)",
                "series": "CASE n % 2 WHEN 0 THEN n % 40 END",
            }
            values = ", ".join(changed.get(name, name) for name in names.split(", "))
            connection.execute(
                f"WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {COUNT - 1}) "
                f"INSERT INTO {table} ({names}) SELECT {values} FROM {table}, many"
            )
    yield store
    store.close()


@contextmanager
def counting(store: CatalogueStore) -> Iterator[list[dict[str, int]]]:
    """Yield what each query did that is asked meanwhile, when it has ended."""
    connection = store._ask().connection
    done: list[dict[str, int]] = []
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda told: done.append(told["stmt_status"]))
    yield done
    connection.trace_v2(0, None)


@pytest.mark.parametrize("order", SessionOrder)
@pytest.mark.parametrize("asked", [SessionFilter(), EVERY_FILTER, SessionFilter(text="9")])
def test_a_page_is_one_query(store: CatalogueStore, asked: SessionFilter, order: SessionOrder) -> None:
    with counting(store) as done:
        page = store.list_sessions(LOCAL, asked, order=order, limit=50)
    assert len(done) == 1
    if page.next is not None:
        with counting(store) as done:
            store.list_sessions(LOCAL, asked, order=order, limit=50, cursor=page.next)
        assert len(done) == 1


def test_projects_are_one_query(store: CatalogueStore) -> None:
    with counting(store) as done:
        projects = store.list_projects(LOCAL)
    assert len(done) == 1
    assert sum(project.sessions for project in projects) == COUNT


@pytest.mark.parametrize("order", SessionOrder)
@pytest.mark.parametrize("asked", [SessionFilter(), EVERY_FILTER])
@pytest.mark.parametrize("grouped", [False, True])
def test_wide_rows_are_read_for_the_page_alone(
    store: CatalogueStore, asked: SessionFilter, order: SessionOrder, grouped: bool
) -> None:
    connection = store._ask().connection
    queries: list[str] = []
    with counting(store) as done:
        store.list_sessions(LOCAL, asked, order=order, limit=50, grouped=grouped)
    # What is looked up without an index of its own are the groups, which are few.
    assert done[0]["SQLITE_STMTSTATUS_AUTOINDEX"] <= (20 if grouped else 0)
    connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda told: queries.append(told["sql"]))
    store.list_sessions(LOCAL, asked, order=order, limit=50, grouped=grouped)
    connection.trace_v2(0, None)
    names = dict.fromkeys(re.findall(r":(\w+)", queries[0]))
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {queries[0]}", names)]
    of_lists = [step for step in plan if step.split()[1] == "t"]
    covered = [step for step in of_lists if "COVERING INDEX summaries_listed" in step]
    # the page, the total, what is alike, and the rows of the page
    assert (len(of_lists), len(covered)) == (4, 3)


def test_of_a_session_that_is_forgotten_it_is_not_kept_that_it_was_gone(tmp_path: Path) -> None:
    store = open_file(tmp_path / "turnlog.db")
    key = make_key("session")
    store.apply([make_batch({"session.jsonl": make_line(session_id="session")}, session_id="session")])
    store.apply([make_batch({}, session_id="session", known=find_known(store, LOCAL, key))])
    query = "SELECT count(*) FROM absent_sessions"
    assert store._ask().connection.execute(query).fetchall() == [(1,)]
    store.forget(LOCAL, [key])
    assert store._ask().connection.execute(query).fetchall() == [(0,)]
    store.close()


def test_all_pages_together_are_the_list(store: CatalogueStore) -> None:
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
    store = open_file(tmp_path / "turnlog.db")
    derived = Derived(session=make_session_row("session", cost="much"))
    store.apply(
        [make_batch({"session.jsonl": make_line(session_id="session")}, session_id="session", derived=derived)]
    )
    with pytest.raises(StoreError, match="'much' is no amount"):
        store.list_projects(LOCAL)
    store.close()


def test_the_total_leaves_out_what_was_put_away(store: CatalogueStore) -> None:
    store.mark(LOCAL, [store.list_sessions(LOCAL, limit=1).sessions[0].key], MarkChange(archived=True))
    assert store.list_sessions(LOCAL, limit=1).total == COUNT - 1
    store.undo_mark(LOCAL)
    assert store.list_sessions(LOCAL, limit=1).total == COUNT
