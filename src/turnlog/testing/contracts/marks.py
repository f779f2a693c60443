"""Marks: kept apart from what was read, and the last change can be taken back."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from turnlog.errors import MarkError
from turnlog.store.interface import ChangeKind, Store, find_known, find_sessions
from turnlog.store.marks import MOST_TAGS, MarkChange, MarkedSession, Marks
from turnlog.store.model import LOCAL, Scope
from turnlog.testing.builders import make_key, make_lines
from turnlog.testing.contracts.base import ContractBase, keep

_TRANSCRIPT = "session-1.jsonl"
_OTHER = Scope("somebody else")


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


def _fill(store: Store, count: int) -> list[str]:
    """Put sessions of two lines each into a store, and return their keys."""
    names = [f"session-{number}" for number in range(1, count + 1)]
    for name in names:
        keep(store, {f"{name}.jsonl": make_lines(2, session_id=name)}, session_id=name)
    return [make_key(name) for name in names]


def find_marks(store: Store, scope: Scope, key: str) -> Marks:
    """Return what is said about a session; of one that is not there, nothing is."""
    return next((found.marks for found in find_sessions(store, scope, key) if found.key == key), Marks())
