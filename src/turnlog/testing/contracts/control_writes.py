"""Writes, in the control database: what was begun, what is to be published, and what others may undo."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from turnlog.errors import StoreError
from turnlog.store.control.interface import Control, LostWriteError
from turnlog.store.portable.database import Execute
from turnlog.testing.contracts.control_base import ControlBase, changes_of, make_change, refuses

__all__ = ["ControlWriteContract"]


def _note_fact(execute: Execute) -> None:
    execute("INSERT INTO @facts VALUES ('noted', ?)", (b"yes",))


def _count_facts(control: Control) -> int:
    query = "SELECT value FROM @facts WHERE name = 'noted'"
    return len(control.read(lambda execute: execute(query)))


class ControlWriteContract(ControlBase):
    """Contracts of writes."""

    def test_writes_have_growing_numbers_also_for_others(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            first = control.begin("a", [], b"")
            second = other.begin("b", [], b"")
            control.abandon(first)
            control.abandon(second)
            third = control.begin("a", [], b"")
            assert 0 < first < second < third, "a number is never given again"

    def test_what_was_begun_is_known_until_it_is_over(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            write = control.begin("a", ["m:1", "p:\udc00x"], b"\x00staged")
        with closing(self.open(tmp_path)) as control:
            [left] = control.list_unfinished()
            assert (left.write, left.owner, left.names) == (write, "a", ("m:1", "p:\udc00x"))
            assert (left.staged, left.publication) == (b"\x00staged", None)
            control.abandon(write)
            control.abandon(write)
            assert control.list_unfinished() == []

    def test_what_was_committed_is_known_until_it_is_finished(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            write = control.begin("a", ["m:1"], b"")
            control.commit(write, b"\xffto publish")
        with closing(self.open(tmp_path)) as control:
            assert [each.publication for each in control.list_unfinished()] == [b"\xffto publish"]
            assert control.finish(write, [make_change("a", "s")]) == 1
            assert control.list_unfinished() == []

    def test_finishing_twice_tells_of_changes_once(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            write = control.begin("a", [], b"")
            control.commit(write, b"x")
            changes = [make_change("a", "one"), make_change("a", "two")]
            assert control.finish(write, changes) == control.finish(write, changes) == 2
            assert changes_of(control, "a") == ["one", "two"]

    def test_what_is_done_along_comes_with_the_commit(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            write = control.begin("a", [], b"")
            control.commit(write, b"x", _note_fact)
            control.commit(write, b"x", _note_fact)  # as if the answer to the first had been lost
            assert _count_facts(control) == 1

    def test_nothing_is_committed_if_what_is_done_along_fails(self, tmp_path: Path) -> None:
        def fail(execute: Execute) -> None:
            _note_fact(execute)
            raise StoreError("no")

        with closing(self.open(tmp_path)) as control:
            write = control.begin("a", [], b"")
            with refuses(StoreError, "no"):
                control.commit(write, b"x", fail)
            assert _count_facts(control) == 0
            assert [each.publication for each in control.list_unfinished()] == [None]

    def test_what_will_be_undone_cannot_be_committed(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            write = control.begin("a", [], b"")
            assert control.doom(write)
            assert control.doom(write), "whoever undoes it may die as well"
            with refuses(LostWriteError):
                control.commit(write, b"x", _note_fact)
            assert [each.publication for each in control.list_unfinished()] == [None]
            control.abandon(write)
            with refuses(LostWriteError):
                control.commit(write, b"x", _note_fact)
            assert _count_facts(control) == 0

    def test_what_was_committed_cannot_be_undone(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            write = control.begin("a", [], b"")
            control.commit(write, b"x")
            assert not control.doom(write)
            assert [each.publication for each in control.list_unfinished()] == [b"x"]
            control.finish(write, [])
            assert not control.doom(write)

    def test_unfinished_writes_are_found_by_what_they_concern(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            one = control.begin("a", ["m:1"], b"")
            both = control.begin("a", ["m:1", "p:x"], b"")
            everything = control.begin("a", [], b"")
            others = control.begin("b", ["m:1"], b"")

            def find(owner: str | None = None, names: tuple[str, ...] = ()) -> list[int]:
                return [each.write for each in control.list_unfinished(owner, names)]

            assert find() == [one, both, everything, others]
            assert find("a") == [one, both, everything]
            assert find("a", ("p:x",)) == [both, everything]
            assert find("a", ("m:1",)) == [one, both, everything]
            assert find("a", ("m:2",)) == [everything]

    def test_writing_is_all_or_nothing(self, tmp_path: Path) -> None:
        def fail(execute: Execute) -> None:
            _note_fact(execute)
            raise StoreError("no")

        with closing(self.open(tmp_path)) as control:
            with refuses(StoreError, "no"):
                control.write(fail)
            assert _count_facts(control) == 0
            control.write(_note_fact)
            with closing(self.open(tmp_path)) as other:
                assert _count_facts(other) == 1

    def test_a_store_has_one_name(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            assert control.find_store() == other.find_store() != ""

    def test_closed_ones_say_so(self, tmp_path: Path) -> None:
        control = self.open(tmp_path)
        control.close()
        control.close()
        with refuses(StoreError, "closed"):
            control.begin("a", [], b"")
