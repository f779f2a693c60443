"""Engines that are given the same real sessions give the same answers: each as the embedded one.

A handful of sessions is compared: the largest, and those in which most of something odd is; with
`TURNLOG_CORPUS_ALL=1`, all of them.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from postgres_server import make_database
from turnlog.ingest.pipeline import sync
from turnlog.store.actions import ActionFilter
from turnlog.store.care import CaredStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.interface import KnownSession
from turnlog.store.lists import ProjectOrder, SessionFilter, SessionOrder, SessionPage
from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace, StorePlace
from turnlog.store.search.parsing import parse_query
from turnlog.store.usage.cells import merge_cells
from turnlog.store.windows import CallFilter, MessageFilter
from turnlog.testing.answers import read_bytes, sort_sources
from turnlog.transcripts.files.locate import locate_path
from turnlog.transcripts.files.session_files import SessionFiles

EVERY = "TURNLOG_CORPUS_ALL" in os.environ
ODDITIES = (
    "bytes",
    "branch_points",
    "prompt_forks",
    "missing_parents",
    "child_before_parent",
    "compact_boundaries",
    "sidechain_entries",
    "invalid_lines",
    "cjk_chars",
    "windows_cwd",
)
"""Columns of the corpus's manifest: of each, the session with the most is taken, if it is not too large."""
LARGEST = 5 << 20
WINDOW = 40
QUERIES = (
    "error",
    '"no such file"',
    "func*",
    "*tion",
    "/*src/*",
    "test -error",
    "(read OR write) kind:tool-output",
    "is:error",
    "role:user the",
    "tool:Bash",
    "的 OR です",
)


class Engines(Struct, frozen=True):
    """The same in two stores."""

    one: CaredStore
    other: CaredStore

    def agree(self, name: str, *given: Any, **named: Any) -> Any:
        """Expect the same answer of both, and return it."""
        one, other = (getattr(store, name)(LOCAL, *given, **named) for store in (self.one, self.other))
        assert _clean(one) == _clean(other), (name, given, named)
        return one


def _clean(answer: Any) -> Any:
    """Return an answer without revisions: copies are told as such when they are written, or after that."""
    if isinstance(answer, SessionPage):
        return replace(answer, sessions=tuple(replace(each, revision=0) for each in answer.sessions))
    return answer


@pytest.fixture(scope="module")
def engines(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    sessions = [*choose(corpus)]
    home = tmp_path_factory.mktemp("engines")
    places: tuple[StorePlace, ...] = (home / "turnlog.db", ServerPlace(make_database(), home))
    with closing(open_store(places[0])) as one, closing(open_store(places[1])) as other:
        for store, place in zip((one, other), places, strict=True):
            sync(store, place, sessions, origin="test", workers=0 if not EVERY else None)
            for session in store.list_known(LOCAL):
                store.add_deliveries(LOCAL, make_deliveries(one, session))
        yield Engines(one, other)


def choose(corpus: Path) -> Iterator[SessionFiles]:
    """Yield the sessions that are compared."""
    wanted: set[Path] = set()
    with (corpus / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"].startswith("session")]
    for column in ODDITIES:
        fit = [row for row in rows if int(row["bytes"]) <= LARGEST and int(row[column] or 0) > 0]
        if fit:
            wanted.add(corpus / max(fit, key=lambda row: (int(row[column]), row["file"]))["file"])
    for session in locate_path(corpus / "sessions").sessions:
        files = {session.path, *(agent.path for agent in session.agents)}
        if EVERY or not wanted.isdisjoint(files):
            yield session


def make_deliveries(store: CaredStore, session: KnownSession) -> list[HookDelivery]:
    """Return what hooks might have told of a session: of its first calls, and of its turns."""
    found: list[HookDelivery] = []
    for call in store.find_calls(LOCAL, session.key, count=WINDOW).calls:
        for name, at in (("PreToolUse", call.started), ("PostToolUse", call.ended)):
            if at is not None and call.id is not None:
                found.append(_deliver(session, name, at, f"{call.source}-{call.index}", call.id))
    for turn in store.list_turns(LOCAL, session.key, count=WINDOW):
        if turn.ended is not None:
            found.append(_deliver(session, "Stop", turn.ended + 1, str(turn.index), None))
    return found


def _deliver(session: KnownSession, name: str, at: int, number: str, call: str | None) -> HookDelivery:
    return HookDelivery(
        delivery_id=f"{session.key}-{name}-{number}",
        received_ns=at * 1000,
        payload=b'{"hook_event_name":"%s"}' % name.encode(),
        session_id=session.session_id,
        event_name=name,
        tool_use_id=call,
    )


def list_all(engines: Engines) -> list[KnownSession]:
    one, other = (
        [replace(sort_sources(each), revision=0) for each in store.list_known(LOCAL)]
        for store in (engines.one, engines.other)
    )
    assert one == other
    assert one
    return one


def test_lists_agree(engines: Engines) -> None:
    [first, *_] = list_all(engines)
    for order in SessionOrder:
        page = engines.agree("list_sessions", order=order, limit=7)
        while page.next is not None:
            page = engines.agree("list_sessions", order=order, limit=7, cursor=page.next)
    for asked in (
        SessionFilter(model="SONNET"),
        SessionFilter(branch="m"),
        SessionFilter(text="e"),
        SessionFilter(project_text="/"),
        SessionFilter(errors=True),
        SessionFilter(problems=True),
        SessionFilter(under="/"),
        SessionFilter(session=first.session_id[:2]),
        SessionFilter(since=1_750_000_000_000_000, until=1_770_000_000_000_000),
    ):
        engines.agree("list_sessions", asked)
        engines.agree("list_facets", asked)
    for by in ProjectOrder:
        engines.agree("list_projects", order=by)
    engines.agree("count_files")


def test_rows_trees_and_windows_agree(engines: Engines) -> None:
    for session in list_all(engines):
        key = session.key
        engines.agree("list_turns", key)
        engines.agree("list_agents", key)
        engines.agree("list_flawed", key)
        engines.agree("list_turn_calls", key, count=1000)
        engines.agree("list_calls", key)
        for asked in (CallFilter(), CallFilter(states=("failed",)), CallFilter(name="Bash")):
            engines.agree("find_calls", key, asked, first=3, count=WINDOW)
        for source in session.sources:
            if source.kind.has_lines:
                _compare_chapter(engines, key, source.source, source.generation)


def _compare_chapter(engines: Engines, key: str, source: str, generation: int) -> None:
    lines = engines.agree("list_lines", source, generation)
    rows = engines.agree("list_messages", key, source=source)  # with parents, branches and turns
    engines.agree("list_placements", key, source)
    engines.agree("list_outline", key, source=source)
    engines.agree("list_call_outline", key, source=source)
    engines.agree("list_branches", key, source=source)
    assert [row.index for row in rows] == [*range(engines.agree("count_messages", key, source=source))]
    middle = len(rows) // 2
    for where in (MessageFilter(), MessageFilter(lanes=("main",)), MessageFilter(active=False)):
        engines.agree("list_after", key, source=source, first=middle, count=WINDOW, where=where)
        engines.agree("list_before", key, source=source, last=middle, count=WINDOW, where=where)
    window = range(middle, min(middle + WINDOW, len(rows)))
    engines.agree("list_calls_of", key, window, source=source)
    places = [place for at in window for place in rows[at].lines]
    engines.agree("read_lines", places)
    for row in rows[:: max(len(rows) // 5, 1)]:
        assert engines.agree("find_message", key, row.id).id == row.id
    assert read_bytes(engines.one, LOCAL, source, generation) == read_bytes(
        engines.other, LOCAL, source, generation
    )
    assert len(lines) >= len({place for row in rows for place in row.lines if place.source == source})


def test_timelines_and_action_logs_agree(engines: Engines) -> None:
    for session in list_all(engines):
        key, id = session.key, session.session_id
        for where in (ActionFilter(), ActionFilter(states=("failed",)), ActionFilter(min_ms=1000)):
            engines.agree("tally_actions", key, id, where)
            for slowest in (False, True):
                one, other = (
                    [
                        replace(each, number=0)
                        for each in store.list_actions(LOCAL, key, id, where, slowest=slowest)
                    ]
                    for store in (engines.one, engines.other)
                )
                assert one == other, (key, where, slowest)
        for first in (0, 2 * WINDOW):
            hooks = [
                store.list_hooks_under(LOCAL, key, id, range(first, first + WINDOW), above=first == 0)
                for store in (engines.one, engines.other)
            ]
            seen = [([(at, replace(hook, id=0)) for at, hook in under.hooks], under.total) for under in hooks]
            assert seen[0] == seen[1], key
            places = [
                {hook.delivery_id: each[hook.id] for _, hook in under.hooks}
                for under, each in zip(hooks, _find_places(engines, key, id, hooks), strict=True)
            ]
            assert places[0] == places[1]
        times = [turn.started for turn in engines.one.list_turns(LOCAL, key) if turn.started is not None]
        engines.agree("find_turns", key, times)


def _find_places(engines: Engines, key: str, id: str, hooks: Sequence[Any]) -> list[dict[int, Any]]:
    return [
        store.find_hook_places(LOCAL, key, id, [hook.id for _, hook in under.hooks])
        for store, under in zip((engines.one, engines.other), hooks, strict=True)
    ]


@pytest.mark.parametrize("text", QUERIES)
def test_searches_find_the_same(engines: Engines, text: str) -> None:
    query = parse_query(text)
    one, other = (
        sorted(
            (
                (hit.session or "", hit.source or "", hit.line or 0, hit.ordinal, hit.kind, hit)
                for hit in _list_hits(store, query)
            ),
            key=lambda each: each[:5],
        )
        for store in (engines.one, engines.other)
    )
    assert [each[:5] for each in one] == [each[:5] for each in other]
    assert one == other


def _list_hits(store: CaredStore, query: Any) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = store.search(LOCAL, query, limit=200, cursor=cursor)
        found += page.hits
        cursor = page.next
        if cursor is None or (len(found) >= 1000 and not EVERY):
            return found


def test_usage_agrees(engines: Engines) -> None:
    one, other = (store.read_usage(LOCAL) for store in (engines.one, engines.other))
    assert merge_cells(one.list_cells()) == merge_cells(other.list_cells())
    answers = [sorted(usage.list_answers(), key=lambda answer: answer.message) for usage in (one, other)]
    assert answers[0] == answers[1]
    assert sorted(one.list_calls(), key=str) == sorted(other.list_calls(), key=str)
    assert sorted(one.list_reported(), key=str) == sorted(other.list_reported(), key=str)
    engines.agree("find_answers", [answer.message for answer in answers[0][:200]])
