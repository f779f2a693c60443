"""Whose sessions are whose: machines, rules, what others see of them, and forgetting a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import time_ns

from msgspec.structs import replace

from contracts.base import EngineBase
from turnlog.errors import TakenMachineError
from turnlog.store.interface import ChangeKind, MaintainedStore, Store, count_files, find_known, is_visible
from turnlog.store.lists import MarkChange, Marks, SessionFilter
from turnlog.store.model import LOCAL, Machine, ProjectRule, Scope, Viewer, Visibility, find_access
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import SearchOrder
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.checks import Answers, ContractBase, Scan, collect_answers, keep
from turnlog.testing.store_contract import find_marks
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery, HookMention
from turnlog.transcripts.queries.sessions import ActionKind

ADA = Scope(LOCAL.owner, Viewer(person="ada", team=True))
BOB = Scope(LOCAL.owner, Viewer(person="bob", team=True))
EVE = Scope(LOCAL.owner, Viewer(person="eve", team=True))
_ADAS_MACHINE = Scope(LOCAL.owner, Viewer(person="ada"))
_STRANGER = Scope(LOCAL.owner, Viewer())
_TEAM, _PRIVATE = Visibility.TEAM, Visibility.PRIVATE


def link_to(key: str) -> Scope:
    """Return what somebody sees who has a link to a session."""
    return Scope(LOCAL.owner, Viewer(session=key))


def keep_of(
    store: Store,
    person: str | None,
    name: str,
    *,
    count: int = 4,
    folder: str = "-work-project",
    series: str | None = None,
) -> str:
    """Keep a session of a person's machine, which is called after them; return its key."""
    origin = f"machine-of-{person}"
    store.save_machine(LOCAL, origin, person=person, host=f"host-{person}", user="user", at_ns=7)
    files = {f"{name}.jsonl": make_lines(count, session_id=name)}
    batch = make_batch(files, session_id=name, origin=origin, project_folder=folder)
    if series is not None:
        assert batch.derived is not None
        derived = replace(batch.derived, session=replace(batch.derived.session, series=series))
        batch = replace(batch, derived=derived)
    store.apply([batch])
    return batch.key


def _ask_all(store: Store, scope: Scope, keys: Sequence[str]) -> Answers:
    """Ask everything within a scope, about sessions that are there, seen or not; numbers of the feed aside."""
    known = [found for key in keys if (found := find_known(store, LOCAL, key)) is not None]
    answers = collect_answers(store, scope, known)
    feed = store.read_feed(scope, 0)
    changes = [(each.kind, each.session, each.revision) for each in feed.entries]
    answers["read_feed"] = [*changes, bool(feed.last)]
    answers["list_facets"] = [store.list_facets(scope)]
    ids = [f"msg-{name}-main-1" for name in ("one", "two")]
    answers["find_answers"] = [*store.read_usage(scope).find_answers(ids)]
    answers["count_files"] = [count_files(store, scope)]
    return answers


def _list_keys(store: Store, scope: Scope, keys: Sequence[str] | None) -> list[str]:
    """Return the sessions of which a store says who may see them."""
    return [each.key for each in store.list_access(scope, keys)]


class PeopleContract(ContractBase):
    """Contracts of `PeopleStore`, and of all queries with a viewer."""

    @contextmanager
    def peopled(self, tmp_path: Path) -> Iterator[Store]:
        """Yield an empty store, and close it behind the test."""
        tmp_path.mkdir(exist_ok=True)
        with closing(self.make_store(tmp_path)) as store:
            yield store

    def test_a_viewer_is_answered_as_if_there_were_nothing_else(self, tmp_path: Path) -> None:
        people = {"one": "ada", "two": "bob", "three": "bob", "four": None, "five": None}
        with self.peopled(tmp_path) as store:
            keys = {name: keep_of(store, person, name) for name, person in people.items()}
            for name in ("three", "five"):
                store.set_visibility(LOCAL, [keys[name]], _TEAM)
            store.mark(LOCAL, [*keys.values()], MarkChange(tags=("seen",)))
            for number, (scope, seen) in enumerate(
                (
                    (ADA, ("one", "three", "five")),
                    (BOB, ("two", "three", "five")),
                    (EVE, ("three", "five")),
                    (_ADAS_MACHINE, ("one",)),
                    (link_to(keys["two"]), ("two",)),
                    (link_to("nothing"), ()),
                    (_STRANGER, ()),
                    (Scope("somebody else", ADA.viewer), ()),
                )
            ):
                with self.peopled(tmp_path / f"world-{number}") as other:
                    for name in seen:
                        keep_of(other, people[name], name)
                    for name in {"three", "five"}.intersection(seen):
                        other.set_visibility(LOCAL, [keys[name]], _TEAM)
                    other.mark(LOCAL, [keys[name] for name in seen], MarkChange(tags=("seen",)))
                    here, there = (
                        _ask_all(store, scope, [*keys.values()]),
                        _ask_all(other, LOCAL, [*keys.values()]),
                    )
                    assert here.keys() == there.keys()
                    for query, found in here.items():
                        assert sorted(map(repr, found)) == sorted(map(repr, there[query])), query

    def test_what_is_asked_bit_by_bit_stays_with_who_asked(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            own = [keep_of(store, "ada", f"a{number}") for number in range(3)]
            keep_of(store, "bob", "b")
            begun = [
                (scope, iter(store.list_known(scope))) for scope in (ADA, BOB, EVE, _STRANGER, link_to(own[0]))
            ]
            found: dict[Scope, list[str]] = {scope: [] for scope, _ in begun}
            for _ in range(4):
                for scope, known in begun:
                    found[scope] += [each.key for each in [next(known, None)] if each is not None]
            assert {scope: len(keys) for scope, keys in found.items()} == {
                ADA: 3, BOB: 1, EVE: 0, _STRANGER: 0, link_to(own[0]): 1,
            }  # fmt: skip
            usage = store.read_usage(ADA)
            assert len(store.read_usage(BOB).list_answers()) == 2
            assert len(usage.list_answers()) == 6

    def test_sessions_are_private_until_their_person_or_a_rule_says_otherwise(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            key = keep_of(store, "ada", "one")
            access = find_access(store, ADA, key)
            assert access is not None
            assert (access.origin, access.person, access.chosen, access.rule, access.visibility) == (
                "machine-of-ada", "ada", None, None, _PRIVATE,
            )  # fmt: skip
            assert find_access(store, BOB, key) is find_access(store, LOCAL, "nothing") is None
            assert store.set_visibility(BOB, [key], _TEAM) == []
            assert store.set_rule(LOCAL, "*/-work-project", _TEAM) == 1
            found = find_access(store, BOB, key)
            assert found is not None
            assert (found.rule, found.visibility) == ("*/-work-project", _TEAM)
            [changed] = store.set_visibility(ADA, [key, key, "nothing"], _PRIVATE)
            assert (changed.chosen, changed.rule, changed.visibility) == (_PRIVATE, "*/-work-project", _PRIVATE)
            assert store.set_visibility(ADA, [key], _PRIVATE) == []
            assert find_access(store, BOB, key) is None
            [changed] = store.set_visibility(ADA, [key], None)
            assert (changed.chosen, changed.visibility) == (None, _TEAM)
        with closing(self.reopen(tmp_path)) as store:
            assert find_access(store, BOB, key) == changed

    def test_of_several_rules_the_longest_counts(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            site, tool = (keep_of(store, "ada", name, folder=name) for name in ("website", "tool"))
            assert store.set_rule(LOCAL, "/home/*", _TEAM, dry_run=True) == 2
            assert store.list_rules(LOCAL) == []
            assert store.set_rule(LOCAL, "/home/*", _TEAM) == 2
            assert store.set_rule(LOCAL, "website", _PRIVATE) == 0  # as long as the other, and behind it
            assert (
                store.set_rule(LOCAL, "websit*e", _PRIVATE, dry_run=True)
                == store.set_rule(LOCAL, "websit*e", _PRIVATE)
                == 1
            )
            assert [each.key for each in store.list_sessions(BOB).sessions] == [tool]
            later = keep_of(store, "bob", "later", folder="tool")
            assert {each.key for each in store.list_sessions(EVE).sessions} == {tool, later}
            assert store.list_rules(EVE) == [
                ProjectRule("/home/*", _TEAM),
                ProjectRule("websit*e", _PRIVATE),
                ProjectRule("website", _PRIVATE),
            ]
            assert (
                store.set_rule(LOCAL, "/home/*", None, dry_run=True)
                == store.set_rule(LOCAL, "/home/*", None)
                == 2
            )
            assert store.set_rule(LOCAL, "WEBSITE", _TEAM) == store.set_rule(LOCAL, "nothing", None) == 0
            found = find_access(store, LOCAL, site)
            assert found is not None
            assert found.rule == "websit*e"

    def test_a_machine_is_the_persons_who_had_it_first(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            key = keep(store, {"session-1.jsonl": make_lines(2)}, origin="m").key
            [unknown] = store.list_machines(LOCAL)
            assert (unknown.origin, unknown.person, unknown.host, unknown.sessions) == ("m", None, "", 1)
            assert store.list_sessions(ADA).sessions == ()
            noted = store.save_machine(LOCAL, "m", person="ada", host="h", user="u", at_ns=1 << 61)
            assert (noted.person, noted.host, noted.user, noted.sessions) == ("ada", "h", "u", 1)
            assert (noted.first_ns, noted.last_ns) == (unknown.first_ns, 1 << 61)
            assert [each.key for each in store.list_sessions(ADA).sessions] == [key]
            again = store.save_machine(LOCAL, "m", person=None, host="", user="v", at_ns=9)
            assert (again.person, again.host, again.user, again.first_ns) == ("ada", "h", "v", 9)
            assert again.last_ns == 1 << 61
            try:
                store.save_machine(LOCAL, "m", person="bob", host="x", user="", at_ns=1)
            except TakenMachineError:
                pass
            else:
                raise AssertionError("another person's machine was taken")
            assert store.list_machines(LOCAL) == store.list_machines(ADA) == [again]
            assert store.list_machines(BOB) == []

    def test_without_a_time_a_machine_came_just_now(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            before = time_ns()
            noted = store.save_machine(LOCAL, "m")
            assert (noted.person, noted.host, noted.user, noted.sessions) == (None, "", "", 0)
            assert before <= noted.first_ns == noted.last_ns <= time_ns()

    def test_a_machine_can_be_assigned_to_somebody_else(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            key = keep_of(store, "ada", "one")
            store.save_machine(LOCAL, "other", person=None, host="a", user="", at_ns=3)
            assert store.save_machine(LOCAL, "other", person="bob", reassign=True) == Machine(
                origin="other", person="bob", host="a", first_ns=3, last_ns=3
            )
            [before] = [each for each in store.list_machines(LOCAL) if each.person == "ada"]
            assigned = replace(before, person="bob")
            assert store.save_machine(LOCAL, "machine-of-ada", person="bob", reassign=True) == assigned
            last = store.read_feed(LOCAL).last
            again = store.save_machine(
                LOCAL, "machine-of-ada", person="bob", host="x", user="y", at_ns=1, reassign=True
            )
            assert (again, again.sessions) == (assigned, 1)
            assert store.read_feed(LOCAL).last == last
            assert store.list_sessions(ADA).sessions == ()
            [stored] = store.list_sessions(BOB).sessions
            assert (stored.key, stored.person, stored.origin, stored.visibility) == (
                key, "bob", "machine-of-ada", _PRIVATE,
            )  # fmt: skip
            assert [(each.origin, each.sessions) for each in store.list_machines(BOB)] == [
                ("other", 0), ("machine-of-ada", 1),
            ]  # fmt: skip
            assert store.save_machine(LOCAL, "machine-of-ada", reassign=True) == replace(before, person=None)
            assert store.list_machines(BOB) == [
                Machine(origin="other", person="bob", host="a", first_ns=3, last_ns=3)
            ]
            try:
                store.save_machine(LOCAL, "nothing", person="ada", reassign=True)
            except KeyError:
                return
            raise AssertionError("a machine that is not known was assigned")

    def test_lists_tell_and_ask_whose_sessions_they_are(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            one, two, three = (
                keep_of(store, who, name) for who, name in (("ada", "a"), ("bob", "b"), (None, "c"))
            )
            store.set_visibility(LOCAL, [two], _TEAM)

            def find(scope: Scope, asked: SessionFilter) -> set[str]:
                return {each.key for each in store.list_sessions(scope, asked).sessions}

            assert find(LOCAL, SessionFilter(persons=("ada", "bob"))) == {one, two}
            assert find(LOCAL, SessionFilter(persons=("",))) == {three}
            assert find(LOCAL, SessionFilter(machines=("machine-of-bob", "x"))) == {two}
            assert find(LOCAL, SessionFilter(visibility=_TEAM)) == {two}
            assert find(LOCAL, SessionFilter(visibility=_PRIVATE)) == {one, three}
            assert find(ADA, SessionFilter(persons=("ada", "bob", ""))) == {one, two}
            assert find(ADA, SessionFilter(machines=("machine-of-None",))) == set()
            facets = store.list_facets(LOCAL)
            assert facets.persons == (("", 1), ("ada", 1), ("bob", 1))
            assert facets.machines == (("machine-of-None", 1), ("machine-of-ada", 1), ("machine-of-bob", 1))
            assert store.list_facets(EVE).persons == (("bob", 1),)
            assert store.list_facets(EVE).machines == (("machine-of-bob", 1),)
            assert _list_keys(store, ADA, [one, two, three, "nothing", one]) == sorted([one, two])
            assert _list_keys(store, LOCAL, [three, one, "nothing"]) == sorted([one, three])
            assert _list_keys(store, LOCAL, []) == []
            assert _list_keys(store, ADA, None) == sorted([one, two])
            assert _list_keys(store, LOCAL, None) == sorted([one, two, three])

    def test_a_group_counts_what_its_viewer_sees_of_one_person(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            keys: dict[str, list[str]] = {}
            for who in ("ada", "bob"):
                keys[who] = [keep_of(store, who, f"{who}-{at}", series="nightly") for at in range(4)]
            store.set_visibility(LOCAL, keys["bob"][:3], _TEAM)

            def find(scope: Scope) -> dict[str | None, int]:
                page = store.list_sessions(scope, grouped=True)
                assert page.rows == len(page.sessions)
                return {each.person: each.alike for each in page.sessions}

            assert find(LOCAL) == {"ada": 4, "bob": 4}
            assert find(ADA) == {"ada": 4, "bob": 3}
            assert find(EVE) == {"bob": 3}
            store.set_visibility(LOCAL, keys["bob"][:1], _PRIVATE)
            page = store.list_sessions(EVE, grouped=True)
            assert ([each.alike for each in page.sessions], page.total, page.rows) == ([1, 1], 2, 2)

    def test_who_could_see_a_session_or_can_now_is_told(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            key = keep_of(store, "ada", "one")
            keep_of(store, "bob", "two")

            def told(scope: Scope, after: int) -> list[tuple[ChangeKind, str]]:
                return [(each.kind, each.session) for each in store.read_feed(scope, after).entries]

            change = ChangeKind.SESSION_ACCESS, key
            for share in (_TEAM, _PRIVATE):
                after = store.read_feed(LOCAL).last
                store.set_visibility(ADA, [key], share)
                assert told(ADA, after) == told(BOB, after) == told(LOCAL, after) == [change]
                assert told(link_to(key), after) == [change]
                assert told(_ADAS_MACHINE, after) == [change]
            assert ChangeKind.SESSION_ADDED not in [each.kind for each in store.read_feed(EVE, 0).entries]
            after = store.read_feed(LOCAL).last
            store.save_machine(LOCAL, "machine-of-ada", person="bob", reassign=True)
            assert told(ADA, after) == told(BOB, after) == [change]
            assert told(EVE, after) == told(_STRANGER, after) == []

    def test_a_viewer_marks_and_takes_back_only_what_is_theirs(self, tmp_path: Path) -> None:
        with self.peopled(tmp_path) as store:
            one, two = keep_of(store, "ada", "one"), keep_of(store, "bob", "two")
            store.set_visibility(LOCAL, [one, two], _TEAM)
            assert [each.key for each in store.mark(ADA, [two, one], MarkChange(tags=("a",)))] == [one]
            assert find_marks(store, BOB, two) == Marks()
            store.mark(LOCAL, [one], MarkChange(tags=("b",), starred=True))
            store.mark(BOB, [two], MarkChange(starred=True))
            assert store.undo_mark(EVE) == []
            [undone] = store.undo_mark(ADA)
            assert (undone.key, undone.after.tags, undone.after.starred) == (one, ("b",), True)
            assert store.undo_mark(ADA) == []
            [undone] = store.undo_mark(LOCAL)
            assert (undone.key, undone.after.tags, undone.after.starred) == (one, (), False)
            marks = find_marks(store, ADA, two)
            assert marks is not None
            assert marks.starred

    def test_an_answer_counts_once_for_each_person_who_has_it(self, tmp_path: Path) -> None:
        """And nobody's totals depend on what they may not see: a fork of it may be private."""
        with self.peopled(tmp_path) as store:
            for person, name in (("ada", "one"), ("ada", "two"), ("bob", "three")):
                store.save_machine(LOCAL, person, person=person, host="", user="", at_ns=1)
                line = make_line(1, type="assistant", session_id=name, message_id="shared-answer")
                keep(store, {f"{name}.jsonl": line}, session_id=name, origin=person)
            one, two = make_key("one", origin="ada"), make_key("two", origin="ada")
            three = make_key("three", origin="bob")

            def count(scope: Scope) -> list[tuple[str | None, str]]:
                answers = store.read_usage(scope).list_answers()
                cells = store.read_usage(scope).list_cells()
                assert sum(cell.messages for cell in cells) == len(answers)
                assert len(store.read_usage(scope).find_answers(["shared-answer"])) == bool(answers)
                return sorted((each.cell.home.person, each.cell.home.key) for each in answers)

            first = min(one, two)
            later = max(one, two)
            assert count(LOCAL) == [("ada", first), ("bob", three)]
            assert count(ADA) == [("ada", first)]
            assert count(link_to(later)) == [("ada", later)]
            store.set_visibility(ADA, [later], _TEAM)
            assert count(LOCAL) == [("ada", first), ("bob", three)]
            assert count(BOB) == [("ada", later), ("bob", three)]
            assert count(ADA) == [("ada", first)]
            store.set_visibility(ADA, [first], _TEAM)
            assert count(BOB) == count(LOCAL) == [("ada", first), ("bob", three)]
            store.save_machine(LOCAL, "bob", person="ada", reassign=True)
            assert count(LOCAL) == count(EVE) + ([] if min(one, two, three) == first else [("ada", three)])
            assert len(count(LOCAL)) == len(count(ADA)) == 1


_FAR = 1 << 61
_TELLING = parse_query("*elling*")


class PeopleOfHooksContract(EngineBase):
    """Contracts of what a viewer learns of hook deliveries, and may forget."""

    def test_what_hooks_told_is_seen_by_whose_machine_it_was(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
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

    def _expect(self, store: MaintainedStore, scope: Scope, key: str, seen: list[HookDelivery]) -> None:
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
            near = session.list_hooks_near([HookMention("Stop", "call", 0)])
            assert {each.id for each in near} == found
            actions = session.list_actions()
            assert {each.number for each in actions if each.kind is ActionKind.HOOK} == found
            under = session.list_hooks_under(session.main, range(4), above=True)
            assert {each.id for _, each in under.hooks} == found

    def test_search_asks_for_persons_and_machines(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
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
        with self.opened_engine(tmp_path) as store:
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
        with self.opened_engine(tmp_path) as store:
            one, other = keep_of(store, "ada", "one"), keep_of(store, "bob", "one")
            own, claimed, here = _tell("ada", "one", 1), _tell("bob", "one", 2), _tell("", "one", 3)
            store.add_deliveries(LOCAL, [own, claimed, here])
            assert store.forget(ADA, [one]).deliveries == 1
            assert [replace(each, id=0) for each in store.list_deliveries(LOCAL)] == [claimed, here]
            assert store.add_deliveries(LOCAL, [_tell("ada", "one", 4), _tell("bob", "one", 5)]) == 1
            assert store.forget(LOCAL, [other]).deliveries == 3
            assert store.list_deliveries(LOCAL) == []

    def test_a_copy_of_somebody_elses_session_is_not_said_to_be_one(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
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
