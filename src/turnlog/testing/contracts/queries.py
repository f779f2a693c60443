"""Queries: lists, prefixes, what is counted, and whose data is seen."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from contextlib import suppress
from inspect import signature
from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import Derived
from turnlog.store.interface import Archive, FileCounts, Knows, Store, count_files, find_known, find_sessions
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.store.marks import MarkChange
from turnlog.store.model import LOCAL, Scope
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.contracts.base import ContractBase, keep, read_records
from turnlog.testing.row_builders import TIME, make_session_row

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

    def test_sessions_are_listed_newest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "b", last_time=TIME + 1)
            _list(store, "c", last_time=TIME + 2)
            _list(store, "a", last_time=TIME)
            _list(store, "never", first_time=None, last_time=None)
            assert _ids(store) == ["c", "b", "a", "never"]

    def test_sessions_are_listed_oldest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "b", first_time=TIME + 1, last_time=TIME + 1)
            _list(store, "c", first_time=TIME + 2, last_time=TIME + 2)
            _list(store, "a", first_time=TIME, last_time=TIME)
            assert _ids(store, SessionOrder.OLDEST) == ["a", "b", "c"]

    def test_sessions_are_listed_by_title_whatever_its_case(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "2", title="banana")
            _list(store, "3", title="Cherry")
            _list(store, "1", title="Apple")
            assert _ids(store, SessionOrder.TITLE) == ["1", "2", "3"]

    def test_sessions_are_listed_dearest_first_by_number_not_by_text(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "b", cost="9.500000")
            _list(store, "a", cost="10.25")
            _list(store, "d", cost=None)
            _list(store, "c", cost="0.000001")
            assert _ids(store, SessionOrder.COST) == ["a", "b", "c", "d"]

    def test_sessions_are_listed_for_one_project(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "a", project="/home/ada/one")
            _list(store, "b", project="/home/ada/one/inner")
            _list(store, "c", project=None)
            for project, expected in (
                ("/home/ada/one", ["a"]),
                ("/home/ada/one/inner", ["b"]),
                ("/home/ada", []),
            ):
                found = store.list_sessions(LOCAL, SessionFilter(project=project)).sessions
                assert [session.row.session_id for session in found] == expected

    def test_sessions_are_found_by_the_beginning_of_id_and_key(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _list(store, "0a1b-one"), _list(store, "0a1b-two")
            percent, _ = _list(store, "50%_x"), _list(store, "50XXx")
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
            queries = [name for part in (Knows, Store, Archive) for name in _list_queries(part)]
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


def _list(store: Store, session_id: str, **changes: object) -> str:
    """Put a session of one line into a store, with a row that says what is wanted, and return its key."""
    derived = Derived(session=make_session_row(session_id, **changes))
    files = {f"{session_id}.jsonl": make_line(session_id=session_id)}
    return keep(store, files, session_id=session_id, derived=derived).key


def _ids(store: Store, order: SessionOrder = SessionOrder.NEWEST) -> list[str | None]:
    return [session.row.session_id for session in store.list_sessions(LOCAL, order=order).sessions]
