"""A file and a server that are given the same real sessions give the same answers.

A handful of sessions is compared: those in which most of something odd is. `TURNLOG_CORPUS_ALL=1` compares all.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from postgres_server import make_archive
from session_records import list_records
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import KnownSession, MaintainedStore, count_files
from turnlog.store.lists import ProjectOrder, SessionFilter, SessionOrder, SessionPage
from turnlog.store.model import LOCAL, Scope, ServerPlace, StorePlace, Viewer, Visibility
from turnlog.store.opening import open_store
from turnlog.store.search.language import Query, parse_query
from turnlog.store.search.paging import Hit, SearchOrder
from turnlog.store.usage_cells import merge_cells
from turnlog.testing.checks import read_bytes, sort_sources
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.sessions import ActionFilter
from turnlog.transcripts.session_files import SessionFiles, locate_path

EVERY = "TURNLOG_CORPUS_ALL" in os.environ
ODDITIES = (
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
LARGEST = 2 << 20
HOOKED = 15
"""How many calls of a file, and turns of a session, hooks told of."""
SCOPES = {
    "all": LOCAL,
    "mine": Scope(LOCAL.owner, Viewer(person="ada", team=True)),
    "shared": Scope(LOCAL.owner, Viewer(person="bob", team=True)),
}
QUERIES = (
    "error",
    '"no such file"',
    "func*",
    "*tion",
    "src/*",
    "test -error",
    "(read OR write) kind:tool-output",
    "is:error",
    "role:user the",
    "tool:Bash",
    "kind:hook",
    "的 OR です",
)
SEARCHES = [("all", text) for text in QUERIES] + [
    (scope, text) for scope in ("mine", "shared") for text in ("error", "func*", "kind:hook")
]


class Engines(Struct, frozen=True):
    """The same in two stores."""

    one: MaintainedStore
    other: MaintainedStore

    def agree(self, name: str, scope: Scope, *given: Any, **named: Any) -> Any:
        """Expect the same answer of both, and return it."""
        one, other = (getattr(store, name)(scope, *given, **named) for store in (self.one, self.other))
        assert _clean(one) == _clean(other), (name, given, named)
        return one

    def list_known(self, scope: Scope = LOCAL) -> list[KnownSession]:
        """Return all sessions, which must be the same."""
        one, other = (
            [replace(sort_sources(each), revision=0) for each in store.list_known(scope)]
            for store in (self.one, self.other)
        )
        assert one == other
        assert one
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
    places: tuple[StorePlace, ...] = (home / "turnlog.db", ServerPlace(make_archive(), home))
    with closing(open_store(places[0])) as one, closing(open_store(places[1])) as other:
        for store, place in zip((one, other), places, strict=True):
            for origin, own in (("ada", sessions[::2]), ("bob", sessions[1::2])):
                store.save_machine(LOCAL, origin, person=origin, at_ns=1)
                sync(store, place, own, origin=origin, workers=0)
            for session in one.list_known(LOCAL):
                store.add_deliveries(LOCAL, make_deliveries(one, session))
            keys = sorted(session.key for session in one.list_known(LOCAL))
            store.set_visibility(LOCAL, keys[::3], Visibility.TEAM)
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


def make_deliveries(store: MaintainedStore, session: KnownSession) -> list[HookDelivery]:
    """Return what hooks might have told of a session: of its first calls, and of its turns."""
    found: list[HookDelivery] = []
    with store.open_session(LOCAL, session.key) as opened:
        for chapter in opened.chapters:
            for call in [*chapter.list_calls()][:HOOKED]:
                for name, at in (("PreToolUse", call.started), ("PostToolUse", call.ended)):
                    if at is not None and call.id is not None:
                        found.append(_deliver(session, name, at, f"{chapter.source}-{call.index}", call.id))
        for turn in opened.list_turns(count=HOOKED):
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
        origin=session.origin,
    )


def test_records_and_bytes_agree(engines: Engines) -> None:
    for session in engines.list_known():
        stores = engines.one, engines.other
        one, other = (list_records(store, session.key) for store in stores)
        assert one == other, session.session_id
        for source in session.sources:
            for generation in range(source.generation + 1):
                data = [read_bytes(store, LOCAL, source.source, generation) for store in stores]
                assert data[0] is not None
                assert data[0] == data[1]
        hooked = session.session_id
        views = []
        for store in stores:
            with store.open_session(LOCAL, session.key, hooks=hooked) as opened:
                wanted = ActionFilter(), ActionFilter(states=("failed",)), ActionFilter(min_ms=1000)
                views.append(
                    [
                        *(opened.tally_actions(where) for where in wanted),
                        *(
                            [replace(each, number=0) for each in opened.list_actions(where, slowest=slowest)]
                            for where in wanted
                            for slowest in (False, True)
                        ),
                    ]
                )
        assert views[0] == views[1]
    assert engines.agree("count_deliveries", LOCAL) > 0
    listed = [
        [replace(each, id=None) for each in store.list_deliveries(LOCAL, DeliveryFilter(count=500))]
        for store in (engines.one, engines.other)
    ]
    assert listed[0] == listed[1]


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_lists_and_the_feed_agree(engines: Engines, scope: Scope) -> None:
    [first, *_] = engines.list_known(scope)
    for order in SessionOrder:
        page = engines.agree("list_sessions", scope, order=order, limit=3, grouped=True)
        while page.next is not None:
            page = engines.agree("list_sessions", scope, order=order, limit=3, grouped=True, cursor=page.next)
    for asked in (
        SessionFilter(model="SONNET"),
        SessionFilter(branch="m"),
        SessionFilter(text="e"),
        SessionFilter(project_text="/"),
        SessionFilter(errors=True),
        SessionFilter(problems=True),
        SessionFilter(under="/"),
        SessionFilter(persons=("ada", "")),
        SessionFilter(visibility=Visibility.TEAM),
        SessionFilter(session=first.session_id[:2]),
        SessionFilter(since=1_750_000_000_000_000, until=1_770_000_000_000_000),
    ):
        engines.agree("list_sessions", scope, asked, summaries=True)
        engines.agree("list_facets", scope, asked)
    for by in ProjectOrder:
        engines.agree("list_projects", scope, order=by)
    engines.agree("list_access", scope)
    engines.agree("list_hook_sessions", scope, 0)
    assert count_files(engines.one, scope) == count_files(engines.other, scope)
    feeds = [store.read_feed(scope, 0) for store in (engines.one, engines.other)]
    told = [sorted({(str(each.kind), each.session) for each in feed.entries}) for feed in feeds]
    assert told[0] == told[1]
    assert all([each.seq for each in feed.entries][-1] == feed.last for feed in feeds)


@pytest.mark.parametrize(("seen", "text"), SEARCHES)
def test_searches_find_the_same(engines: Engines, seen: str, text: str) -> None:
    scope, query = SCOPES[seen], parse_query(text)
    one, other = (_list_hits(store, scope, query) for store in (engines.one, engines.other))
    assert one
    assert sorted(one, key=_name) == sorted(other, key=_name)
    assert [hit.time for hit in one] == [hit.time for hit in other]
    ranked = [
        store.search(scope, query, order=SearchOrder.RELEVANCE, limit=2000).hits
        for store in (engines.one, engines.other)
    ]
    assert sorted(ranked[0], key=_name) == sorted(ranked[1], key=_name)


def _list_hits(store: MaintainedStore, scope: Scope, query: Query) -> list[Hit]:
    found: list[Hit] = []
    cursor: str | None = None
    while True:
        page = store.search(scope, query, limit=200, cursor=cursor)
        found += page.hits
        cursor = page.next
        if cursor is None:
            return found


def _name(hit: Hit) -> tuple[str, str, int, int, str]:
    return hit.session or hit.session_id or "", hit.source or "", hit.line or 0, hit.ordinal, str(hit)


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_usage_agrees(engines: Engines, scope: Scope) -> None:
    one, other = (store.read_usage(scope) for store in (engines.one, engines.other))
    assert merge_cells(one.list_cells()) == merge_cells(other.list_cells()) != []
    answers = [sorted(usage.list_answers(), key=lambda answer: answer.message) for usage in (one, other)]
    assert answers[0] == answers[1]
    assert sorted(one.list_calls(), key=str) == sorted(other.list_calls(), key=str)
    assert sorted(one.list_reported(), key=str) == sorted(other.list_reported(), key=str)
    ids = [answer.message for answer in answers[0][:200]]
    assert one.find_answers(ids) == other.find_answers(ids) != []
    assert (one.find_prices(), one.count_files()) == (other.find_prices(), other.count_files())
