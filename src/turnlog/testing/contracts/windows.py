"""Windows of a conversation: both directions, filters, lines as they stand."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from turnlog.store.identity import LOCAL, Place, Scope
from turnlog.store.interface import Store
from turnlog.store.rows import CallRow, MessageRow
from turnlog.store.windows import (
    CallFilter,
    CallOutline,
    CallRange,
    FileCounts,
    MessageFilter,
    MessageOutline,
    TurnCall,
)
from turnlog.testing.builders import make_lines
from turnlog.testing.contracts.base import ContractBase, keep

__all__ = ["WindowContract"]

_TRANSCRIPT = "session-1.jsonl"
_OTHER = Scope("somebody else")


class WindowContract(ContractBase):
    """Contracts of windows."""

    def test_windows_go_in_both_directions(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            assert store.count_messages(LOCAL, key) == len(rows) == 40
            assert store.list_after(LOCAL, key, first=10, count=5) == rows[10:15]
            assert store.list_before(LOCAL, key, last=10, count=5) == rows[5:10]
            assert store.list_before(LOCAL, key, last=3, count=5) == rows[:3]
            assert store.list_after(LOCAL, key, first=38, count=5) == rows[38:]
            assert store.list_after(LOCAL, key, first=0, count=0) == []
            assert store.list_before(LOCAL, key, last=40, count=0) == []

    def test_windows_have_what_is_wanted_and_no_less(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            for where in (
                MessageFilter(roles=("user",)),
                MessageFilter(roles=("assistant", "tool_use")),
                MessageFilter(lanes=("main",), branch=0),
                MessageFilter(active=True),
                MessageFilter(active=False),
                MessageFilter(categories=("system",)),
                MessageFilter(roles=("nobody",)),
                MessageFilter(agent_id="agent-a"),
            ):
                wanted = [row for row in rows if _is_wanted(row, where)]
                assert store.list_after(LOCAL, key, first=0, count=100, where=where) == wanted
                assert store.list_before(LOCAL, key, last=40, count=3, where=where) == wanted[-3:]

    def test_a_message_is_found_by_its_id_in_any_chapter(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            for row in (rows[0], rows[17]):
                assert store.find_message(LOCAL, key, row.id) == row
            assert store.find_message(LOCAL, key, "nobody") is None
            assert store.find_message(_OTHER, key, rows[0].id) is None

    def test_a_message_is_looked_for_in_one_chapter_where_that_is_asked(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            assert store.find_message(LOCAL, key, rows[3].id, source=rows[3].source) == rows[3]
            assert store.find_message(LOCAL, key, rows[3].id, source="another") is None

    def test_messages_are_found_by_their_indexes(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            assert store.list_at(LOCAL, key, [17, 3, 3, 99]) == [rows[3], rows[17]]
            assert store.list_at(LOCAL, key, []) == store.list_at(_OTHER, key, [3]) == []

    def test_calls_are_found_by_their_messages_and_by_their_indexes(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            calls = store.list_calls(LOCAL, key)
            assert len(calls) >= 3
            for messages in (range(len(rows)), [5, 9], [0], [90, 99], []):
                found = store.list_calls_of(LOCAL, key, messages)
                assert found == [each for each in calls if each.message in messages]
            assert store.list_calls_at(LOCAL, key, [2, 0, 99]) == [calls[0], calls[2]]
            assert store.list_calls_at(_OTHER, key, [0]) == []

    def test_calls_come_in_pages_with_what_is_wanted(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, _ = _fill(store)
            calls = store.list_calls(LOCAL, key)
            for where in (
                CallFilter(),
                CallFilter(categories=("builtin",)),
                CallFilter(states=("resolved", "failed")),
                CallFilter(name=calls[0].name, states=("unresolved",)),
                CallFilter(name="Nothing"),
            ):
                wanted = [row for row in calls if _is_call_wanted(row, where)]
                whole = store.find_calls(LOCAL, key, where, count=1000)
                assert whole == CallRange(tuple(wanted), len(wanted))
                page = store.find_calls(LOCAL, key, where, source=calls[0].source, first=1, count=2)
                own = [row for row in wanted if row.source == calls[0].source]
                assert page == CallRange(tuple(own[1:3]), len(own))
            assert store.find_calls(_OTHER, key) == CallRange((), 0)

    def test_outlines_are_what_the_rows_say(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            outline = [MessageOutline(row.index, row.role, row.lane, row.parent) for row in rows]
            assert store.list_outline(LOCAL, key) == outline
            assert store.list_outline(LOCAL, key, source=rows[0].source, first=7, count=3) == outline[7:10]
            calls = store.list_calls(LOCAL, key, source=rows[0].source)
            assert store.list_call_outline(LOCAL, key) == [
                CallOutline(row.index, row.message, row.category, row.state, row.started, row.ended)
                for row in calls
            ]
            assert store.list_outline(_OTHER, key) == []
            assert store.list_call_outline(_OTHER, key) == []

    def test_turns_come_in_windows(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, _ = _fill(store)
            turns = store.list_turns(LOCAL, key)
            assert store.count_turns(LOCAL, key) == len(turns) >= 3
            assert store.list_turns(LOCAL, key, first=1, count=2) == turns[1:3]
            assert store.list_turns(LOCAL, key, first=len(turns) - 1) == turns[-1:]
            assert (store.count_turns(_OTHER, key), store.list_turns(_OTHER, key)) == (0, [])

    def test_calls_are_found_by_their_turns(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            turns = {row.index: row.turn for row in rows}
            calls = [
                TurnCall(turn, call.category, call.state, call.started, call.ended)
                for call in store.list_calls(LOCAL, key, source=rows[0].source)
                if call.message is not None and (turn := turns[call.message]) is not None
            ]
            assert len(calls) >= 3
            for first, count in ((0, 1000), (2, 3), (5, 0), (1000, 10)):
                found = store.list_turn_calls(LOCAL, key, first=first, count=count)
                assert found == [call for call in calls if first <= call.turn < first + count]
            assert store.list_turn_calls(_OTHER, key) == []

    def test_files_are_counted(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            assert store.count_files(LOCAL) == FileCounts(sessions=0, only_here=0, files=0, bytes=0, lines=0)
            known = keep(store, {_TRANSCRIPT: make_lines(12)})
            sources = known.sources
            assert store.count_files(LOCAL) == FileCounts(
                sessions=1,
                only_here=0,
                files=len(sources),
                bytes=sum(source.length for source in sources),
                lines=12,
            )
            assert store.count_files(_OTHER).sessions == 0

    def test_branches_are_told_by_their_messages(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, rows = _fill(store)
            for branch in store.list_branches(LOCAL, key):
                own = [row for row in rows if row.branch == branch.index]
                assert (branch.first, branch.last, branch.messages) == (own[0].index, own[-1].index, len(own))
                assert branch.parent == own[0].parent
                assert branch.active == any(row.active for row in own)
            assert {row.branch for row in rows} == {branch.index for branch in store.list_branches(LOCAL, key)}
            assert store.list_branches(_OTHER, key) == []

    def test_flawed_lines_are_listed_in_windows(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            lines = make_lines(1) + b"{broken\nnot JSON\n" + make_lines(4, first=1)
            key = keep(store, {_TRANSCRIPT: lines}).key
            flawed = [fact.number for fact in store.list_lines(LOCAL, key, 0) if fact.problems]
            found = store.list_flawed(LOCAL, key)
            assert [line.number for line in found] == flawed
            assert len(flawed) >= 2
            assert store.list_flawed(LOCAL, key, first=1, count=1) == found[1:2]
            assert store.list_flawed(_OTHER, key) == []

    def test_answers_are_found_by_their_ids(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, _ = _fill(store)
            ids = [row.message_id for row in store.list_sightings(LOCAL, key)]
            found = store.find_answers(LOCAL, [*ids[:3], "nobody", ids[0]])
            assert [answer.message_id for answer in found] == sorted(ids[:3])
            counted = {answer.message: answer.cell for answer in store.read_usage(LOCAL).list_answers()}
            for answer in found:
                assert (answer.input, answer.output) == (
                    counted[answer.message_id].input,
                    counted[answer.message_id].output,
                )
            assert store.find_answers(_OTHER, ids) == []
            version = store.find_usage_version(LOCAL, key)
            keep(store, {"other.jsonl": make_lines(3, first=90, session_id="other")}, session_id="other")
            assert store.find_answers(LOCAL, ids[:3]) == found[:3]
            assert store.find_usage_version(LOCAL, key) == version

    def test_lines_are_read_as_they_stand(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            lines = make_lines(12)
            key = keep(store, {_TRANSCRIPT: lines}).key
            facts = store.list_lines(LOCAL, key, 0)
            places = [Place(key, 0, fact.offset) for fact in facts]
            assert store.read_lines(LOCAL, places) == [
                store.archive.read(LOCAL, place, fact.length) for place, fact in zip(places, facts, strict=True)
            ]
            assert (
                store.read_lines(LOCAL, [places[7], places[2], places[7]])[0::2]
                == [store.archive.read(LOCAL, places[7], facts[7].length)] * 2
            )
            assert store.read_lines(LOCAL, []) == []
            assert store.measure_lines(LOCAL, [places[7], places[2]]) == [facts[7].length, facts[2].length]

    def test_no_line_is_read_where_none_begins_or_for_others(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: make_lines(3)}).key
            places = ((LOCAL, Place(key, 0, 1)), (LOCAL, Place(key, 7, 0)), (_OTHER, Place(key, 0, 0)))
            for scope, place in (*places, (LOCAL, Place("nothing", 0, 0))):
                for ask in (store.read_lines, store.measure_lines):
                    try:
                        ask(scope, [place])
                    except KeyError:
                        continue
                    raise AssertionError(f"something was read at {place}")

    def test_windows_of_others_are_empty(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key, _ = _fill(store)
            assert store.count_messages(_OTHER, key) == 0
            assert store.list_after(_OTHER, key) == store.list_before(_OTHER, key, last=40) == []
            assert store.list_calls_of(_OTHER, key, range(40)) == []


def _fill(store: Store) -> tuple[str, list[MessageRow]]:
    key = keep(store, {_TRANSCRIPT: make_lines(40)}).key
    return key, store.list_messages(LOCAL, key)


def _is_wanted(row: MessageRow, where: MessageFilter) -> bool:
    asked = ((row.lane, where.lanes), (row.role, where.roles), (row.category, where.categories))
    return all(words is None or word in words for word, words in asked) and (
        where.branch in (None, row.branch)
        and where.agent_id in (None, row.agent_id)
        and where.active in (None, row.active)
    )


def _is_call_wanted(row: CallRow, where: CallFilter) -> bool:
    return (
        (where.categories is None or row.category in where.categories)
        and (where.states is None or row.state in where.states)
        and where.name in (None, row.name)
    )
