"""Two worlds: whoever may not see everything is answered as if there were nothing else.

A world of people, machines, sessions, rules and hook deliveries is made in a store; and once more, under
another owner, only what a viewer may see of it, by rules that the test knows itself. Every query must say the
same of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clickhouse_engine import make_place, open_filled
from postgres_server import make_archive
from store.visible_answers import ask_everything
from store.visible_worlds import World, list_seen, put_into, worlds
from turnlog.store.interface import ChangeKind, MaintainedStore
from turnlog.store.model import Place, Scope, ServerPlace, Viewer
from turnlog.store.opening import open_store

_EXAMPLES = settings.default.max_examples if settings.default else 300
_owners = count()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaintainedStore]:
    """Return one store for all worlds: each has an owner of its own."""
    with closing(open_store(tmp_path_factory.mktemp("worlds") / "turnlog.db")) as store:
        yield store


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaintainedStore]:
    """Return one store for all worlds, on a server."""
    with closing(open_store(ServerPlace(make_archive(), tmp_path_factory.mktemp("worlds")))) as store:
        yield store


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaintainedStore]:
    """Return one store for all worlds, on a server whose index is elsewhere."""
    with closing(open_filled(make_place(tmp_path_factory.mktemp("worlds")))) as store:
        yield store


viewers = st.builds(
    lambda kind, number: (kind, number),
    st.sampled_from(("person", "machine", "team", "link")),
    st.integers(0, 9),
)


@settings(max_examples=max(_EXAMPLES // 15, 1), suppress_health_check=list(HealthCheck))
@given(world=worlds, viewer=viewers)
def test_a_viewer_is_told_what_a_store_without_the_rest_would_tell(
    embedded: MaintainedStore, world: World, viewer: tuple[str, int]
) -> None:
    compare_worlds(embedded, world, *viewer)


@settings(max_examples=max(_EXAMPLES // 40, 1), suppress_health_check=list(HealthCheck))
@given(world=worlds, viewer=viewers)
def test_a_viewer_is_told_the_same_by_a_server(
    served: MaintainedStore, world: World, viewer: tuple[str, int]
) -> None:
    compare_worlds(served, world, *viewer)


@settings(max_examples=max(_EXAMPLES // 40, 1), suppress_health_check=list(HealthCheck))
@given(world=worlds, viewer=viewers)
def test_a_viewer_is_told_the_same_where_the_index_is_elsewhere(
    indexed: MaintainedStore, world: World, viewer: tuple[str, int]
) -> None:
    compare_worlds(indexed, world, *viewer)


def compare_worlds(store: MaintainedStore, world: World, kind: str, number: int) -> None:
    owner = f"w{next(_owners)}"
    put_into(store, owner, world)
    viewer = {
        "person": Viewer(person="ada", team=True),
        "machine": Viewer(person="ada"),
        "team": Viewer(person="eve", team=True),
        "link": Viewer(session=world.sessions[number % len(world.sessions)].key),
    }[kind]
    check(store, world, owner, f"{owner}seen", viewer)


def check(store: MaintainedStore, world: World, whole: str, part: str, viewer: Viewer) -> None:
    put_into(store, part, world, viewer)
    known = list(store.list_known(Scope(whole)))
    places = [
        Place(source.source, 0, 0) for session in known for source in session.sources if source.kind.has_lines
    ]
    seen = ask_everything(store, Scope(whole, viewer), known, places)
    alone = ask_everything(store, Scope(part), known, places)
    assert seen.keys() == alone.keys()
    # That something was delivered on one's own machine stays told, also if it was forgotten.
    history = [str((ChangeKind.HOOK_DELIVERED, name, 0)) for name in world.list_history(viewer)]
    for answers in (seen, alone):
        answers["changes"] = [each for each in answers["changes"] if each not in history]
    for query, found in seen.items():
        assert found == alone[query], query
    check_entries(store, world, Scope(whole, viewer))


def check_entries(store: MaintainedStore, world: World, scope: Scope) -> None:
    """Look at what is told of sessions that were forgotten or shared: that is history, of no world alone."""
    viewer = scope.viewer
    assert viewer is not None
    seen = {each.key for each in list_seen(world, viewer)[0]}
    persons = {
        each.key: {world.persons[each.origin], world.former[each.origin]} - {None} for each in world.sessions
    }
    for entry in store.read_feed(scope, 0).entries:
        may_be_told = viewer.person in persons.get(entry.session, ()) or entry.session in (
            *seen,
            viewer.session,
        )
        if entry.kind is ChangeKind.SESSION_FORGOTTEN:
            assert may_be_told, "nothing was shared yet when it was forgotten"
        elif entry.kind is ChangeKind.SESSION_ACCESS:
            assert may_be_told or viewer.team
    tombstones = store.list_tombstones(scope)
    assert {each.key for each in tombstones} == {
        each.key
        for each in world.sessions
        if each.forgotten and viewer.person is not None and world.find_person(each) == viewer.person
    }
