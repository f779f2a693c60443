"""People, and what is kept besides sessions: hook deliveries, and what was forgotten."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from turnlog.store.interface import CaredStore, ChangeKind, find_known, is_visible
from turnlog.store.lists import SessionFilter
from turnlog.store.model import LOCAL, Scope, Viewer, Visibility
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import SearchOrder
from turnlog.testing.builders import make_batch, make_lines
from turnlog.testing.contracts.care import CareBase
from turnlog.testing.contracts.people import ADA, BOB, EVE, keep_of, link_to
from turnlog.testing.scanning import Scan
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, HookDelivery, Told
from turnlog.transcripts.queries.actions import ActionKind

_FAR = 1 << 61
_TELLING = parse_query("*elling*")


class PeopledCareContract(CareBase):
    """Contracts of what a viewer learns of hook deliveries, and may forget."""

    def test_what_hooks_told_is_seen_by_whose_machine_it_was(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            key = keep_of(store, "ada", "one")
            keep_of(store, "bob", "two")
            own, claimed = _tell("ada", "one", 1), _tell("bob", "one", 2)
            alone, nobodys = _tell("ada", "three", 3), _tell(None, "one", 4)
            store.add_deliveries(LOCAL, [own, claimed, alone, nobodys])
            every = [own, claimed, alone, nobodys]
            self._expect(store, LOCAL, key, every)
            self._expect(store, ADA, key, [own, alone])
            self._expect(store, BOB, key, [claimed])
            self._expect(store, EVE, key, [])
            self._expect(store, link_to(key), key, [own])
            store.set_visibility(ADA, [key], Visibility.TEAM)
            self._expect(store, EVE, key, [own])
            self._expect(store, BOB, key, [own, claimed])
            store.save_machine(LOCAL, "machine-of-ada", person="eve", reassign=True)
            self._expect(store, ADA, key, [own])
            self._expect(store, EVE, key, [own, alone])

    def _expect(self, store: CaredStore, scope: Scope, key: str, seen: list[HookDelivery]) -> None:
        of_one = [each for each in seen if each.session_id == "one"]
        own = DeliveryFilter(session_id="one")
        every = store.list_deliveries(LOCAL, own)
        assert {each.delivery_id for each in every} == {f"{who}-one-{at}" for who, at in _ALL_OF_ONE}
        numbers = sorted(each.id for each in every)
        assert [replace(each, id=0) for each in store.list_deliveries(scope)] == seen
        for which in (
            own,
            replace(own, since_ns=0, until_ns=_FAR),
            replace(own, tool_use_ids=["call"]),
            replace(own, events_only=True),
            DeliveryFilter(ids=numbers),
            DeliveryFilter(delivery_ids=[each.delivery_id for each in every]),
        ):
            assert [replace(each, id=0) for each in store.list_deliveries(scope, which)] == of_one
        found = {each.id for each in store.list_deliveries(scope, own)}
        assert (store.count_deliveries(scope), store.count_deliveries(scope, "one")) == (len(seen), len(of_one))
        assert {*store.list_hook_sessions(scope, 0)} == {each.session_id for each in seen}
        changes = store.read_feed(scope, 0).entries
        hooks = [each.session for each in changes if each.kind is ChangeKind.HOOK_DELIVERED]
        assert hooks == [each.session_id for each in seen]
        for order in SearchOrder:
            hits = store.search(scope, _TELLING, order=order).hits
            assert {each.delivery_id for each in hits} == {each.delivery_id for each in seen}
        visible = {each for each in ("one", "three", "four", "") if is_visible(store, scope, each)}
        assert visible == {each.session_id for each in seen}
        with store.open_session(scope, key, hooks="one") as session:
            hooks_at = session.list_hooks_at(numbers)
            assert [each.id for each in hooks_at] == sorted(found)
            assert {*session.find_hook_places(hooks_at)} == found
            near = session.list_hooks_near([Told("Stop", "call", 0)])
            assert {each.id for each in near} == found
            actions = session.list_actions()
            assert {each.number for each in actions if each.kind is ActionKind.HOOK} == found
            under = session.list_hooks_under(session.main, range(4), above=True)
            assert {each.id for _, each in under.hooks} == found

    def test_search_asks_for_persons_and_machines(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            keys = {who: keep_of(store, who, f"of-{who}", count=1) for who in ("ada", "bob", None)}
            told = [_tell(who, f"of-{who}", at) for at, who in enumerate(("ada", "bob", None, ""), 1)]
            store.add_deliveries(LOCAL, told)
            store.set_visibility(LOCAL, [keys["bob"]], Visibility.TEAM)
            for text, persons in (
                ("person:ada", {"ada"}),
                ("person:ADA,b*", {"ada", "bob"}),
                ("-person:ada", {"bob", None, ""}),
                ("machine:host-ada", {"ada"}),
                ("machine:HOST-*", {"ada", "bob", None}),
                ("machine:machine-of-b", {"bob"}),
                ("-machine:machine-of-", {""}),
                ("machine:ada", set()),
                ("person:ada OR machine:host-bob", {"ada", "bob"}),
            ):
                for scope, seen in ((LOCAL, {"ada", "bob", None, ""}), (ADA, {"ada", "bob"}), (EVE, {"bob"})):
                    query = parse_query(f"({text}) *l*")
                    hits = store.search(scope, query, limit=100).hits
                    sessions = {hit.session for hit in hits if hit.delivery_id is None}
                    assert sessions == {keys[who] for who in persons & seen - {""}}, (text, scope)
                    hooks = {hit.delivery_id for hit in hits if hit.delivery_id is not None}
                    expected = [each for each in told if _name(each) in persons & seen]
                    assert hooks == {each.delivery_id for each in expected}, (text, scope)
                    assert {(hit.session, hit.delivery_id, hit.ordinal) for hit in hits} == {
                        (hit.session, hit.delivery_id, hit.ordinal) for hit in Scan(store, scope).search(query)
                    }

    def test_only_ones_own_sessions_can_be_forgotten(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            one, two = keep_of(store, "ada", "one"), keep_of(store, "bob", "two")
            store.set_visibility(LOCAL, [one, two], Visibility.TEAM)
            assert store.forget(ADA, [one, two], dry_run=True).sessions == 1
            assert (
                store.forget(link_to(two), [two], dry_run=True).sessions
                == store.forget(EVE, [one, two]).sessions
                == 0
            )
            after = store.read_feed(LOCAL).last
            assert store.forget(ADA, [two, one]).sessions == 1
            assert [each.key for each in store.list_known(LOCAL)] == [two]
            gone = [(ChangeKind.SESSION_FORGOTTEN, one)]
            for scope in (ADA, BOB, EVE, link_to(one)):
                assert [(each.kind, each.session) for each in store.read_feed(scope, after).entries] == gone
            store.set_visibility(BOB, [two], Visibility.PRIVATE)
            after = store.read_feed(LOCAL).last
            store.forget(LOCAL, [two])
            assert store.read_feed(ADA, after).entries == ()
            assert [each.session for each in store.read_feed(BOB, after).entries] == [two]
            [first] = store.list_tombstones(ADA)
            assert (first.key, first.person, first.origin) == (one, "ada", "machine-of-ada")
            assert [each.key for each in store.list_tombstones(BOB)] == [two]
            assert store.list_tombstones(EVE) == store.list_tombstones(link_to(one)) == []
            assert len(store.list_tombstones(LOCAL)) == 2
            store.save_machine(LOCAL, "machine-of-bob", person="eve", reassign=True)
            assert [each.key for each in store.list_tombstones(EVE)] == [two]
            assert store.delete_tombstones(ADA, [two]) == store.delete_tombstones(link_to(two), [two]) == 0
            assert store.delete_tombstones(EVE, [two]) == 1
            assert store.list_flaws(LOCAL) == []

    def test_forgetting_takes_what_ones_own_hooks_told_and_leaves_others(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            one, other = keep_of(store, "ada", "one"), keep_of(store, "bob", "one")
            own, claimed, here = _tell("ada", "one", 1), _tell("bob", "one", 2), _tell("", "one", 3)
            store.add_deliveries(LOCAL, [own, claimed, here])
            assert store.forget(ADA, [one]).deliveries == 1
            assert [replace(each, id=0) for each in store.list_deliveries(LOCAL)] == [claimed, here]
            assert store.add_deliveries(LOCAL, [_tell("ada", "one", 4), _tell("bob", "one", 5)]) == 1
            assert store.forget(LOCAL, [other]).deliveries == 3
            assert store.list_deliveries(LOCAL) == []

    def test_a_copy_of_somebody_elses_session_is_not_said_to_be_one(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
            one, two = keep_of(store, "ada", "one"), keep_of(store, "bob", "two")
            three = keep_of(store, "ada", "three")
            for key, name, origin in ((two, "two", "bob"), (three, "three", "ada")):
                files = {f"{name}.jsonl": make_lines(6, session_id=name)}
                known = find_known(store, LOCAL, key)
                batch = make_batch(files, session_id=name, origin=f"machine-of-{origin}", known=known)
                [source] = batch.sources
                store.apply([replace(batch, sources=(replace(source, copied_from=one),))])
            store.set_visibility(LOCAL, [one, two], Visibility.TEAM)

            def tell(scope: Scope) -> dict[str, str | None]:
                return {each.key: each.copied_from for each in store.list_sessions(scope).sessions}

            assert tell(LOCAL) == {one: None, two: one, three: one}
            assert tell(ADA) == {one: None, two: None, three: one}
            store.set_visibility(LOCAL, [one], Visibility.PRIVATE)
            store.set_visibility(LOCAL, [three], Visibility.TEAM)
            assert tell(BOB) == {two: None, three: None}
            [known] = [each for each in store.list_known(BOB) if each.key == three]
            assert [each.copied_from for each in known.sources] == [None]
            machine = Scope(LOCAL.owner, Viewer(person="bob"))
            begun = [
                store.list_sessions(machine, SessionFilter(heads=(f"{name}-main-0",)))
                for name in ("two", "three")
            ]
            assert [[each.key for each in page.sessions] for page in begun] == [[two], []]


def _name(delivery: HookDelivery) -> str | None:
    name = delivery.origin.removeprefix("machine-of-")
    return None if name == "None" else name


_ALL_OF_ONE = (("ada", 1), ("bob", 2), ("None", 4))


def _tell(person: str | None, session_id: str, at: int) -> HookDelivery:
    """Return what a hook told on a person's machine; without a name, on the store's own."""
    return HookDelivery(
        delivery_id=f"{person}-{session_id}-{at}",
        received_ns=at,
        payload=b'{"message":"telling something"}',
        session_id=session_id,
        event_name="Stop",
        tool_use_id="call",
        origin="" if person == "" else f"machine-of-{person}",
    )
