"""What any store must keep to, one test for each contract.

A store's test module has a class of its own with two methods, and every store runs the same tests:

    class TestContract(StoreContract):
        def make_store(self, tmp_path):
            return MyStore.open(tmp_path / "store")

        def reopen(self, tmp_path):
            return MyStore.open(tmp_path / "store")

pytest collects it; nothing here imports pytest. For telling messages, call
`pytest.register_assert_rewrite("turnlog.testing")` in a conftest. Queries, lists and marks are here; the other
contracts are in the modules beside this one.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from inspect import signature
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import CursorError, MarkError, StoreError
from turnlog.store.batch import Derived
from turnlog.store.interface import (
    Archive,
    ChangeKind,
    FileCounts,
    KnownSessionSource,
    PresentFile,
    PresentFiles,
    Store,
    count_files,
    find_known,
    find_sessions,
)
from turnlog.store.lists import (
    MOST_TAGS,
    Facets,
    MarkChange,
    MarkedSession,
    Marks,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    StoredSession,
)
from turnlog.store.model import LOCAL, Scope
from turnlog.testing.archive_contract import ArchiveContract, ChapterContract, ScanContract, ValueContract
from turnlog.testing.batch_contract import BatchContract, FeedContract, PartialUpdateContract
from turnlog.testing.builders import TIME, make_batch, make_key, make_line, make_lines, make_session_row
from turnlog.testing.checks import ContractBase, SearchContract, collect_answers, keep, read_records

_TRANSCRIPT = "session-1.jsonl"
_OTHER = Scope("somebody else")


_MADE_OF_QUERIES = ("find_answers", "find_sessions", "read_all")


_NO_FILES = FileCounts(sessions=0, only_here=0, files=0, bytes=0, lines=0)


class QueryContract(ContractBase):
    """Contracts of all queries."""

    def test_an_empty_store_knows_nothing(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            assert not any(collect_answers(store, LOCAL).values())
            assert find_known(store, LOCAL, make_key()) is None
            with store.open_session(LOCAL, make_key(), hooks="session-1") as session:
                assert (session.files, session.main, session.list_turns(), session.list_agents()) == (
                    (), None, [], []
                )  # fmt: skip
                assert session.list_actions() == []
            assert count_files(store, LOCAL) == _NO_FILES
            assert store.read_feed(LOCAL).last == store.apply([]) == 0

    def test_all_sessions_are_known_by_their_keys(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keys = _fill(store, 5)
            assert [session.key for session in store.list_known(LOCAL)] == sorted(keys)
            assert [find_known(store, LOCAL, key) for key in sorted(keys)] == [*store.list_known(LOCAL)]

    def test_sessions_are_known_by_the_machine_that_they_come_from(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            here, there = (keep(store, {_TRANSCRIPT: make_lines(2)}, origin=name) for name in ("here", "there"))
            assert {session.key: session.origin for session in store.list_known(LOCAL)} == {
                here.key: "here",
                there.key: "there",
            }
            assert [session.key for session in store.list_known(LOCAL, "there")] == [there.key]
            assert list(store.list_known(LOCAL, "nowhere")) == []

    def test_the_files_of_a_machine_are_found_as_they_were_last_seen(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            assert store.find_present(LOCAL, "here") == PresentFiles({}, None)
            here, _ = (
                keep(store, {_TRANSCRIPT: make_lines(lines)}, origin=name)
                for name, lines in (("here", 2), ("there", 4))
            )
            found = store.find_present(LOCAL, "here")
            oldest = min(session.derivation for session in store.list_known(LOCAL))
            known = [
                (source.path, PresentFile(session.key, source.checkpoint))
                for session in store.list_known(LOCAL, "here")
                for source in session.sources
            ]
            assert (found.files, found.derivation) == (dict(known), oldest)
            assert {file.session for file in found.files.values()} == {here.key}
            assert store.find_present(LOCAL, "nowhere") == PresentFiles({}, oldest)

    def test_sessions_are_listed_newest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "b", last_time=TIME + 1)
            _add(store, "c", last_time=TIME + 2)
            _add(store, "a", last_time=TIME)
            _add(store, "never", first_time=None, last_time=None)
            assert _list_ids(store, order=SessionOrder.NEWEST) == "cbanever"

    def test_sessions_are_listed_oldest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "b", first_time=TIME + 1, last_time=TIME + 1)
            _add(store, "c", first_time=TIME + 2, last_time=TIME + 2)
            _add(store, "a", first_time=TIME, last_time=TIME)
            assert _list_ids(store, order=SessionOrder.OLDEST) == "abc"

    def test_sessions_are_listed_by_title_whatever_its_case(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "2", title="banana")
            _add(store, "3", title="Cherry")
            _add(store, "1", title="Apple")
            assert _list_ids(store, order=SessionOrder.TITLE) == "123"

    def test_sessions_are_listed_dearest_first_by_number_not_by_text(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "b", cost="9.500000")
            _add(store, "a", cost="10.25")
            _add(store, "d", cost=None)
            _add(store, "c", cost="0.000001")
            assert _list_ids(store, order=SessionOrder.COST) == "abcd"

    def test_sessions_are_listed_for_one_project(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "a", project="/home/ada/one")
            _add(store, "b", project="/home/ada/one/inner")
            _add(store, "c", project=None)
            for project, expected in (
                ("/home/ada/one", ["a"]),
                ("/home/ada/one/inner", ["b"]),
                ("/home/ada", []),
            ):
                found = store.list_sessions(LOCAL, SessionFilter(project=project)).sessions
                assert [session.row.session_id for session in found] == expected

    def test_sessions_are_found_by_the_beginning_of_id_and_key(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _add(store, "0a1b-one"), _add(store, "0a1b-two")
            percent, _ = _add(store, "50%_x"), _add(store, "50XXx")
            for prefix, expected in (
                ("0a1b-o", {one}),
                ("0a1b", {one, two}),
                ("0a1b-two", {two}),
                ("a1b", set()),
                ("0a1b-two-", set()),
                ("50%", {percent}),
                ("50%_", {percent}),
                ("50_", set()),
                (one, {one}),
                (two[:12], {two}),
                (two[1:], set()),
                ("\U0010ffff", set()),
            ):
                found = [session.key for session in find_sessions(store, LOCAL, prefix)]
                assert sorted(found) == sorted(expected), prefix

    def test_all_sessions_that_begin_alike_are_found_with_their_summaries(self, tmp_path: Path) -> None:
        """However many they are, and those that were put away as well."""
        with self.opened(tmp_path) as store:
            names = [f"s-{number:03}" for number in range(102)]
            rows = [make_session_row(name, last_time=TIME + at) for at, name in enumerate(names)]
            batches = [
                make_batch({f"{name}.jsonl": make_line(session_id=name)}, session_id=name) for name in names
            ]
            store.apply(
                [replace(each, derived=Derived(session=row)) for each, row in zip(batches, rows, strict=True)]
            )
            store.mark(LOCAL, [batches[7].key], MarkChange(archived=True))
            found = find_sessions(store, LOCAL, "s-")
            assert [each.row for each in found] == rows[::-1]
            assert all(row.summary for row in rows)
            page = store.list_sessions(LOCAL, SessionFilter(archived=None), limit=3)
            assert [each.row for each in page.sessions] == [replace(row, summary=b"") for row in rows[:98:-1]]
            page = store.list_sessions(LOCAL, SessionFilter(archived=None), limit=3, summaries=True)
            assert page.sessions == tuple(found[:3])

    def test_files_are_counted(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            sources = keep(store, {_TRANSCRIPT: make_lines(12), "session-1/notes": b"x"}).sources
            size = sum(source.length for source in sources)
            expected = FileCounts(sessions=1, only_here=0, files=2, bytes=size, lines=12)
            assert count_files(store, LOCAL) == expected
            keep(store, {})
            assert count_files(store, LOCAL) == replace(expected, only_here=1)
            assert count_files(store, _OTHER) == _NO_FILES

    def test_answers_are_found_by_their_ids(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: make_lines(40)}).key
            ids = [each.message_id for each in read_records(store, key).sightings]
            found = store.read_usage(LOCAL).find_answers([*ids[:3], "nobody", ids[0]])
            assert [answer.message_id for answer in found] == sorted(ids[:3])
            counted = {answer.message: answer.cell for answer in store.read_usage(LOCAL).list_answers()}
            for answer in found:
                cell = counted[answer.message_id]
                assert (answer.input, answer.output) == (cell.input, cell.output)
            assert store.read_usage(_OTHER).find_answers(ids) == []
            version = store.read_usage(LOCAL).find_version(key)
            keep(store, {"other.jsonl": make_lines(3, first=90, session_id="other")}, session_id="other")
            assert store.read_usage(LOCAL).find_answers(ids[:3]) == found[:3]
            assert store.read_usage(LOCAL).find_version(key) == version

    def test_every_query_is_asked_by_these_contracts(self, tmp_path: Path) -> None:
        """So that a query that is added later cannot be left out of the next contract."""
        with self.opened(tmp_path) as store:
            queries = [name for part in (KnownSessionSource, Store, Archive) for name in _list_queries(part)]
            assert sorted([*queries, *_MADE_OF_QUERIES]) == sorted(collect_answers(store, LOCAL))

    def test_another_owner_sees_nothing_in_any_query(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(4), "session-1/subagents/agent-a1.jsonl": make_lines(2)})
            sessions = list(store.list_known(LOCAL))
            store.mark(LOCAL, [session.key for session in sessions], MarkChange(tags=("tag",)))
            own = collect_answers(store, LOCAL, sessions)
            assert [name for name, found in own.items() if not found] == []
            for scope in (_OTHER, Scope(""), Scope("%"), Scope("LOCAL")):
                seen = collect_answers(store, scope, sessions)
                assert {name: found for name, found in seen.items() if found} == {}

    def test_owners_do_not_see_each_other(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(4)})
            keep(store, {_TRANSCRIPT: make_lines(2)}, owner=_OTHER.owner, origin="there")
            for scope, count in ((LOCAL, 4), (_OTHER, 2)):
                [session] = store.list_sessions(scope).sessions
                assert len(read_records(store, session.key, scope=scope).messages) == count
                assert [found.key for found in find_sessions(store, scope, "session-1")] == [session.key]
                assert [entry.session for entry in store.read_feed(scope, 0).entries] == [session.key]
                assert len([*store.read_usage(scope).list_answers()]) == count // 2
                assert count_files(store, scope).lines == count

    def test_nobody_writes_into_a_session_of_another_owner(self, tmp_path: Path) -> None:
        """Whether it is refused or kept apart."""
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(4)})
            before = collect_answers(store, LOCAL)
            for known in (None, find_known(store, LOCAL, batch.key)):
                with suppress(StoreError):
                    lines = make_lines(4) + make_line(4, text="not by its owner")
                    store.apply([make_batch({_TRANSCRIPT: lines}, known=known, owner=_OTHER.owner)])
                assert collect_answers(store, LOCAL) == before


def _list_queries(protocol: type) -> list[str]:
    """Return what is asked of a part of a store."""
    asked = {name: each for name, each in vars(protocol).items() if callable(each)}
    return [
        name
        for name, each in asked.items()
        if name.startswith(("find_", "list_", "open_", "read", "search"))
        and "scope" in signature(each).parameters
    ]


def _fill(store: Store, count: int) -> list[str]:
    """Put sessions of two lines each into a store, and return their keys."""
    return [
        keep(store, {f"{name}.jsonl": make_lines(2, session_id=name)}, session_id=name).key
        for name in (f"session-{number}" for number in range(count))
    ]


_HOUR = 3_600_000_000


class ListContract(ContractBase):
    """Contracts of lists."""

    def test_sessions_are_filtered_by_project(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "a", project="/home/ada/One")
            _add(store, "b", project="/home/ada/One/inner")
            _add(store, "c", project="/home/ada/One0")
            _add(store, "d", project=None)
            _add(store, "e", project="/home/ada/caf\udce9")
            _add(store, "f", project="C:\\work\\one")
            for asked, expected in (
                (SessionFilter(project="/home/ada/One"), "a"),
                (SessionFilter(project="/home/ada"), ""),
                (SessionFilter(under="/home/ada/One"), "ab"),
                (SessionFilter(under="/home/ada/One/"), "b"),
                (SessionFilter(under="/"), "abce"),
                (SessionFilter(under="C:\\work"), "f"),
                (SessionFilter(project_text="ONE"), "abcf"),
                (SessionFilter(project_text="ada/caf\udce9"), "e"),
                (SessionFilter(project_text="%"), ""),
            ):
                assert _list_ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_what_they_are_called(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "x1", title="About Straße")
            _add(store, "x2", title=None)
            _add(store, "y1", title="50%")
            store.mark(LOCAL, [make_key("x2")], MarkChange(name="Tea Time"))
            for asked, expected in (
                (SessionFilter(session="x"), "x1x2"),
                (SessionFilter(session="X"), ""),
                (SessionFilter(session=make_key("y1")[:12]), "y1"),
                (SessionFilter(text="STRASSE"), "x1"),
                (SessionFilter(text="tea t"), "x2"),
                (SessionFilter(text="%"), "y1"),
                (SessionFilter(text="_"), ""),
                (SessionFilter(name="TEA"), "x2"),
                (SessionFilter(name="time"), ""),
                (SessionFilter(name="tea", session="y"), ""),
            ):
                assert _list_ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_model_and_branch(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "a", models=("claude-opus-4-1", "claude-haiku-4-5"), branches=("main",))
            _add(store, "b", models=("claude-haiku-4-5",), branches=("Fix/Tea", "main-2"))
            _add(store, "c", models=("claude-3-5-sonnet-20241022",))
            for asked, expected in (
                (SessionFilter(model="OPUS"), "a"),
                (SessionFilter(model="Opus 4.1"), "a"),
                (SessionFilter(model="sonnet 3.5"), "c"),
                (SessionFilter(model="o_us"), ""),
                (SessionFilter(model="%opus%"), ""),
                (SessionFilter(model="claude-haiku-4-5"), "ab"),
                (SessionFilter(model='","'), ""),
                (SessionFilter(branch="main"), "ab"),
                (SessionFilter(branch="fix/"), "b"),
                (SessionFilter(branch="fix/", model="opus"), ""),
            ):
                assert _list_ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_marks_and_those_put_away_are_left_out(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            a, b, c, _ = [_add(store, name) for name in "abcd"]
            store.mark(LOCAL, [a, b], MarkChange(tags=("x", "y"), starred=True))
            store.mark(LOCAL, [b, c], MarkChange(archived=True, untags=("y",)))
            for asked, expected in (
                (SessionFilter(), "ad"),
                (SessionFilter(archived=True), "bc"),
                (SessionFilter(archived=None), "abcd"),
                (SessionFilter(starred=True), "a"),
                (SessionFilter(starred=False, archived=None), "cd"),
                (SessionFilter(tags=("x",), archived=None), "ab"),
                (SessionFilter(tags=("x", "y"), archived=None), "a"),
                (SessionFilter(tags=("X",), archived=None), ""),
            ):
                assert _list_ids(store, asked) == expected, asked
                assert store.list_sessions(LOCAL, asked, limit=1).total == len(expected)
            store.undo_mark(LOCAL)
            assert _list_ids(store) == "abcd"

    def test_sessions_are_filtered_by_when_something_happened_in_them(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name, first, last in (("a", 0, 2), ("b", 1, 4), ("c", 5, 5)):
                _add(store, name, first_time=TIME + first * _HOUR, last_time=TIME + last * _HOUR)
            _add(store, "d", first_time=None, last_time=None)
            for since, until, expected in (
                (3, None, "bc"),
                (4, None, "bc"),
                (None, 1, "a"),
                (3, 5, "b"),
                (6, None, ""),
            ):
                asked = SessionFilter(
                    since=None if since is None else TIME + since * _HOUR,
                    until=None if until is None else TIME + until * _HOUR,
                )
                assert _list_ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_what_went_wrong(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "a", errors=2, problems=0)
            _add(store, "b", errors=0, problems=3)
            for asked, expected in (
                (SessionFilter(errors=True), "a"),
                (SessionFilter(errors=False), "b"),
                (SessionFilter(problems=True), "b"),
                (SessionFilter(problems=False, errors=True), "a"),
            ):
                assert _list_ids(store, asked) == expected, asked

    def test_facets_count_the_sessions_that_are_asked_for(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            a = _add(store, "a", models=("opus", "haiku"), branches=("main", "main"))
            b = _add(store, "b", models=("haiku",), branches=("caf\u00e9",), errors=1)
            _add(store, "c", models=("sonnet",))
            store.mark(LOCAL, [a, b], MarkChange(tags=("y", "x")))
            store.mark(LOCAL, [b], MarkChange(untags=("y",)))
            found = store.list_facets(LOCAL)
            assert found.models == (("haiku", 2), ("opus", 1), ("sonnet", 1))
            assert found.branches == (("caf\u00e9", 1), ("main", 1))
            assert found.tags == (("x", 2), ("y", 1))
            found = store.list_facets(LOCAL, SessionFilter(errors=True))
            assert (found.models, found.tags) == ((("haiku", 1),), (("x", 1),))
            assert store.list_facets(Scope("somebody else")) == Facets(models=(), branches=(), tags=())

    def test_only_here_is_what_has_no_file_outside_any_more(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            agent = {"a/subagents/agent-1.jsonl": make_line(session_id="a", agent_id="1")}
            keep(store, {"a.jsonl": make_line(session_id="a"), **agent}, session_id="a")
            keep(store, {"b.jsonl": make_line(session_id="b")}, session_id="b")
            keep(store, agent, session_id="a")
            assert _list_ids(store, SessionFilter(only_here=True)) == ""
            [stored] = find_sessions(store, LOCAL, make_key("a"))
            assert (stored.present, stored.only_here) == (False, False)
            keep(store, {}, session_id="a")
            assert _list_ids(store, SessionFilter(only_here=True)) == "a"
            assert _list_ids(store, SessionFilter(only_here=False)) == "b"
            assert [stored.only_here for stored in find_sessions(store, LOCAL, make_key("a"))] == [True]
            assert [project.only_here for project in store.list_projects(LOCAL)] == [1]
            keep(store, {"a.jsonl": make_line(session_id="a")}, session_id="a")
            assert _list_ids(store, SessionFilter(only_here=True)) == ""

    def test_sessions_are_listed_in_every_order(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name, title, hours, messages, tokens, cost in (
                ("a", "Cherry", 3, 1, 70, "10.25"),
                ("b", "apple", 1, 30, 7, "9.5"),
                ("c", "Banana", 2, 4, 700, None),
            ):
                _add(
                    store,
                    name,
                    title=title,
                    first_time=TIME - hours * _HOUR,
                    last_time=TIME + hours,
                    messages=messages,
                    input_tokens=tokens,
                    output_tokens=1,
                    cost=cost,
                )
            store.mark(LOCAL, [make_key("c")], MarkChange(name="zebra"))
            assert {order: _list_ids(store, order=order) for order in SessionOrder} == {
                SessionOrder.NEWEST: "acb",
                SessionOrder.OLDEST: "bca",
                SessionOrder.TITLE: "bac",
                SessionOrder.COST: "abc",
                SessionOrder.DURATION: "acb",
                SessionOrder.MESSAGES: "bca",
                SessionOrder.TOKENS: "cab",
            }

    def test_pages_put_together_hold_each_session_once(self, tmp_path: Path) -> None:
        """Though all of them are equal in what they are ordered by: then their keys decide."""
        with self.opened(tmp_path) as store:
            for number in range(7):
                _add(store, f"s{number}", title="same", cost="1")
            for number in range(4):  # and those that lack it come last
                _add(store, f"n{number}", title=None, cost=None, first_time=None, last_time=None)
            for order in SessionOrder:
                whole = store.list_sessions(LOCAL, order=order)
                assert (len(whole.sessions), whole.next, whole.total) == (11, None, 11)
                if order not in (SessionOrder.MESSAGES, SessionOrder.TOKENS):
                    assert {(stored.row.session_id or "")[0] for stored in whole.sessions[-4:]} == {"n"}, order
                for limit in (1, 3, 11):
                    assert _walk(store, order, limit) == [*whole.sessions]
            empty = store.list_sessions(LOCAL, limit=0)
            assert (empty.sessions, empty.next, empty.total) == ((), None, 11)

    def test_sessions_that_come_in_meanwhile_shift_nothing(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for number in range(6):
                _add(store, f"old-{number}", last_time=TIME + number)
            first = store.list_sessions(LOCAL, limit=2)
            _add(store, "new", last_time=TIME + 99)
            _add(store, "between", last_time=TIME + 1)
            store.mark(LOCAL, [first.sessions[-1].key], MarkChange(archived=True))  # the one the cursor names
            second = store.list_sessions(LOCAL, limit=10, cursor=first.next)
            names = [stored.row.session_id for stored in (*first.sessions, *second.sessions)]
            assert sorted(map(str, names)) == ["between", *(f"old-{number}" for number in range(6))]
            assert second.total == 7

    def test_sessions_of_one_series_are_one_in_a_grouped_list(self, tmp_path: Path) -> None:
        """If they are three or more: the first in the list's order stands for all that are listed."""
        with self.opened(tmp_path) as store:
            for number in range(4):
                _add(store, f"n{number}", series="nightly", last_time=TIME + number, cost=str(4 - number))
            for number in range(2):
                _add(store, f"w{number}", series="weekly", last_time=TIME + 10 + number, cost="9")
            for number in range(3):  # equal in all that they are ordered by: their keys decide
                _add(
                    store,
                    f"e{number}",
                    series="equal",
                    title="same",
                    first_time=None,
                    last_time=None,
                    cost=None,
                )
            _add(store, "typed", last_time=TIME + 5, cost="2")
            for order in SessionOrder:
                every = store.list_sessions(LOCAL, order=order)
                assert (every.total, every.rows, {each.alike for each in every.sessions}) == (10, 10, {1})
                whole = store.list_sessions(LOCAL, order=order, grouped=True)
                assert (whole.total, whole.rows, whole.next) == (10, 5, None)
                firsts: dict[str, StoredSession] = {}
                for each in every.sessions:
                    series = each.row.series
                    firsts.setdefault(each.key if series in (None, "weekly") else str(series), each)
                assert [each.key for each in whole.sessions] == [each.key for each in firsts.values()], order
                alike = {each.row.series: each.alike for each in whole.sessions}
                assert alike == {"nightly": 4, "weekly": 1, "equal": 3, None: 1}
                for limit in (1, 2, 5):
                    assert _walk(store, order, limit, grouped=True) == [*whole.sessions]
            assert _list_ids(store, SessionFilter(series="nightly")) == "n0n1n2n3"
            assert _list_ids(store, SessionFilter(series="night")) == ""
            late = SessionFilter(since=TIME + 2)
            assert {each.alike for each in store.list_sessions(LOCAL, late, grouped=True).sessions} == {1}
            none = store.list_sessions(LOCAL, SessionFilter(text="nothing"), grouped=True)
            assert (none.sessions, none.total, none.rows) == ((), 0, 0)

    def test_a_series_that_grows_is_not_listed_twice(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for number in range(3):
                _add(store, f"run-{number}", series="nightly", last_time=TIME + 10 + number)
                _add(store, f"typed-{number}", last_time=TIME + number)
            first = store.list_sessions(LOCAL, limit=2, grouped=True)
            _add(store, "run-3", series="nightly", last_time=TIME + 99)
            second = store.list_sessions(LOCAL, limit=10, cursor=first.next, grouped=True)
            names = [each.row.session_id for each in (*first.sessions, *second.sessions)]
            assert names == ["run-2", "typed-2", "typed-1", "typed-0"]
            again = store.list_sessions(LOCAL, limit=1, grouped=True)
            assert (again.sessions[0].row.session_id, again.sessions[0].alike) == ("run-3", 4)

    def test_a_cursor_of_something_else_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for number in range(3):
                _add(store, f"s{number}")
            cursor = store.list_sessions(LOCAL, limit=1).next
            assert cursor is not None
            for wrong, order in (
                ("", SessionOrder.NEWEST),
                ("x", SessionOrder.NEWEST),
                ("é", SessionOrder.NEWEST),
                (cursor[:-3], SessionOrder.NEWEST),
                ("WyJuZXdlc3QiLDFlOTksImsiLDFd", SessionOrder.NEWEST),  # one part too many
                ("WyJuZXdlc3QiLDk5OTk5OTk5OTk5OTk5OTk5OTk5OTksImsiXQ", SessionOrder.NEWEST),  # too large
                (cursor, SessionOrder.COST),
            ):
                try:
                    store.list_sessions(LOCAL, order=order, cursor=wrong)
                except CursorError:
                    continue
                raise AssertionError(f"the store took {wrong!r}")

    def test_projects_add_up_their_sessions(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            huge = (1 << 63) - 1
            _add(store, "a", project="/tea", first_time=TIME, last_time=TIME + 5, cost="0.1", input_tokens=huge)
            b = _add(
                store, "b", project="/tea", first_time=TIME - 1, last_time=TIME, cost="0.2", input_tokens=huge
            )
            _add(store, "c", project="/Coffee", cost=None, first_time=None, last_time=None)
            _add(store, "d", project=None)
            store.mark(LOCAL, [b], MarkChange(archived=True))
            tea, nowhere, coffee = store.list_projects(LOCAL)
            assert (tea.path, nowhere.path, coffee.path) == ("/tea", None, "/Coffee")
            assert (tea.sessions, tea.archived, tea.only_here) == (2, 1, 0)
            assert (tea.first_time, tea.last_time) == (TIME - 1, TIME + 5)
            assert (tea.prompts, tea.answers) == (2, 4)
            assert (tea.input_tokens, tea.output_tokens) == (2 * huge, 16)
            assert (tea.cost, tea.unpriced) == (Decimal("0.3"), 0)
            assert (coffee.cost, coffee.unpriced, coffee.first_time) == (None, 1, None)

    def test_projects_are_found_by_a_part_of_their_path_and_ordered(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name, project, cost, tokens in (
                ("a", "/b/tea", "1", 5),
                ("b", "/A/Tea", "2", 3),
                ("c", "/A/Tea", None, 3),
                ("d", "/c", "1.5", 1),
            ):
                _add(store, name, project=project, cost=cost, input_tokens=tokens, output_tokens=0)
            assert [each.path for each in store.list_projects(LOCAL, text="TEA")] == ["/A/Tea", "/b/tea"]
            assert store.list_projects(LOCAL, text="coffee") == []
            for order, expected in _ORDERS.items():
                assert [each.path for each in store.list_projects(LOCAL, order=order)] == expected, order


_ORDERS = {
    ProjectOrder.NEWEST: ["/A/Tea", "/b/tea", "/c"],
    ProjectOrder.NAME: ["/A/Tea", "/b/tea", "/c"],
    ProjectOrder.SESSIONS: ["/A/Tea", "/b/tea", "/c"],
    ProjectOrder.COST: ["/A/Tea", "/c", "/b/tea"],
    ProjectOrder.TOKENS: ["/A/Tea", "/b/tea", "/c"],
}


def _add(store: Store, session_id: str, **changes: object) -> str:
    """Put a session of one line into a store, with a row that says what is wanted, and return its key."""
    derived = Derived(session=make_session_row(session_id, **changes))
    files = {f"{session_id}.jsonl": make_line(session_id=session_id)}
    return keep(store, files, session_id=session_id, derived=derived).key


def _list_ids(store: Store, asked: SessionFilter | None = None, order: SessionOrder | None = None) -> str:
    """Return the ids of what is listed, one behind the other; without an order by their names."""
    page = store.list_sessions(LOCAL, asked or SessionFilter(), order=order or SessionOrder.NEWEST)
    ids = [stored.row.session_id or "" for stored in page.sessions]
    return "".join(sorted(ids) if order is None else ids)


def _walk(store: Store, order: SessionOrder, limit: int, *, grouped: bool = False) -> list[StoredSession]:
    """Return all sessions, page by page."""
    found: list[StoredSession] = []
    cursor: str | None = None
    for number in count():
        page = store.list_sessions(LOCAL, order=order, limit=limit, cursor=cursor, grouped=grouped)
        assert page.total == (10 if grouped else 11)
        assert number < 12
        found += page.sessions
        cursor = page.next
        if cursor is None:
            break
    return found


class MarkContract(ContractBase):
    """Contracts of marks."""

    def test_a_session_that_was_never_marked_has_none(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            assert find_marks(store, LOCAL, key) == Marks()
            assert store.list_sessions(LOCAL).sessions[0].marks == Marks()
            assert store.list_facets(LOCAL).tags == ()
            assert store.undo_mark(LOCAL) == []

    def test_marks_add_up_and_are_there_in_every_answer(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            store.mark(LOCAL, [key], MarkChange(name="Tea", tags=("b", "a")))
            store.mark(LOCAL, [key], MarkChange(starred=True, note="two\nlines", tags=("c",), untags=("b",)))
            expected = Marks(name="Tea", tags=("a", "c"), starred=True, note="two\nlines")
            assert find_marks(store, LOCAL, key) == expected
            assert [stored.marks for stored in store.list_sessions(LOCAL).sessions] == [expected]
            assert [stored.marks for stored in find_sessions(store, LOCAL, key)] == [expected]
            assert store.list_facets(LOCAL).tags == (("a", 1), ("c", 1))

    def test_an_empty_name_or_note_takes_it_away(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            store.mark(LOCAL, [key], MarkChange(name="Tea", note="hot"))
            store.mark(LOCAL, [key], MarkChange(name=" ", note=None))
            assert find_marks(store, LOCAL, key) == Marks()

    def test_only_what_differs_is_told_and_is_in_the_feed(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _fill(store, 2)
            seq = store.read_feed(LOCAL).last
            change = MarkChange(starred=True)
            first = store.mark(LOCAL, [one, one, "nobody"], change)
            assert first == [MarkedSession(key=one, before=Marks(), after=Marks(starred=True))]
            assert [each.key for each in store.mark(LOCAL, [one, two], change)] == [two]
            assert store.mark(LOCAL, [one, two], change) == []
            told = store.read_feed(LOCAL, after=seq).entries
            assert [(each.kind, each.session) for each in told] == [
                (ChangeKind.SESSION_MARKED, one),
                (ChangeKind.SESSION_MARKED, two),
            ]
            known = find_known(store, LOCAL, one)
            assert known is not None
            assert told[0].revision == known.revision

    def test_the_last_change_is_taken_back_and_then_the_one_before(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _fill(store, 2)
            store.mark(LOCAL, [one], MarkChange(name="first"))
            store.mark(LOCAL, [one, two], MarkChange(name="both", archived=True))
            store.mark(LOCAL, [two], MarkChange(tags=("t",)))
            assert [each.key for each in store.undo_mark(LOCAL)] == [two]
            undone = store.undo_mark(LOCAL)
            assert {each.key: each.after for each in undone} == {one: Marks(name="first"), two: Marks()}
            assert find_marks(store, LOCAL, one) == Marks(name="first")
            store.mark(LOCAL, [two], MarkChange(starred=True))
            assert [each.after for each in store.undo_mark(LOCAL)] == [Marks()]
            assert [each.after for each in store.undo_mark(LOCAL)] == [Marks()]
            assert store.undo_mark(LOCAL) == []
            assert (find_marks(store, LOCAL, one), find_marks(store, LOCAL, two)) == (Marks(), Marks())

    def test_marks_stay_when_their_session_changes_and_when_its_files_are_gone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: make_lines(2)}).key
            store.mark(LOCAL, [key], MarkChange(name="Tea"))
            for files in ({_TRANSCRIPT: make_lines(4)}, {_TRANSCRIPT: make_lines(2, first=9)}, {}):
                keep(store, files)
                assert find_marks(store, LOCAL, key) == Marks(name="Tea")
        with self.reopened(tmp_path) as store:
            assert find_marks(store, LOCAL, key) == Marks(name="Tea")
            assert [each.after for each in store.undo_mark(LOCAL)] == [Marks()]

    def test_nobody_marks_or_takes_back_for_another_owner(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            store.mark(LOCAL, [key], MarkChange(name="Tea"))
            seq = store.read_feed(LOCAL).last
            assert store.mark(_OTHER, [key], MarkChange(name="Coffee")) == []
            assert store.undo_mark(_OTHER) == []
            assert find_marks(store, LOCAL, key) == Marks(name="Tea")
            assert (store.read_feed(LOCAL).last, store.read_feed(_OTHER).last) == (seq, 0)

    def test_of_a_change_that_one_session_cannot_have_nothing_is_written(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _fill(store, 2)
            store.mark(LOCAL, [two], MarkChange(tags=tuple(f"t{number}" for number in range(MOST_TAGS))))
            seq = store.read_feed(LOCAL).last
            try:
                store.mark(LOCAL, [one, two], MarkChange(tags=("more",)))
            except MarkError:
                assert find_marks(store, LOCAL, one) == Marks()
                assert store.read_feed(LOCAL).last == seq
            else:
                raise AssertionError("the store took too many tags")


def find_marks(store: Store, scope: Scope, key: str) -> Marks:
    """Return what is said about a session; of one that is not there, nothing is."""
    return next((found.marks for found in find_sessions(store, scope, key) if found.key == key), Marks())


class StoreContract(
    ArchiveContract,
    BatchContract,
    ChapterContract,
    PartialUpdateContract,
    QueryContract,
    ListContract,
    MarkContract,
    FeedContract,
    ValueContract,
    ScanContract,
    SearchContract,
):
    """All contracts of a store."""
