"""The feed, in the control database: in the order of commits, each entry once."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from turnlog.store.changes import NewChange
from turnlog.store.control.interface import Control
from turnlog.store.interface import ChangeEntry, ChangeKind
from turnlog.testing.contracts.control_base import ControlBase, changes_of, make_change

__all__ = ["ControlFeedContract"]

_WRITERS = 4
_EACH = 10


def _tell(control: Control, changes: Sequence[NewChange]) -> int:
    """Do a write of which nothing but its changes is known."""
    write = control.begin(changes[0].owner, [], b"")
    control.commit(write, b"x")
    return control.finish(write, changes)


class ControlFeedContract(ControlBase):
    """Contracts of the feed."""

    def test_the_feed_gives_back_what_it_was_told(self, tmp_path: Path) -> None:
        plain = make_change("a", "key")
        odd = NewChange(
            owner="a",
            kind=ChangeKind.SESSION_FORGOTTEN,
            session="\udc00\x00 of hooks",
            revision=2**40,
            at_ns=2**60,
            person="ada",
            former="ben",
            shared=False,
            origin="\x00machine",
        )
        with closing(self.open(tmp_path)) as control:
            assert _tell(control, [plain, odd]) == 2
        with closing(self.open(tmp_path)) as control:
            found = control.list_changes("a", 0, 10)
            assert [each.change for each in found] == [plain, odd]
            assert found[1].entry == ChangeEntry(
                seq=2, kind=odd.kind, session=odd.session, revision=odd.revision, at_ns=odd.at_ns
            )

    def test_the_feed_is_read_in_parts(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            _tell(control, [make_change("a", f"s{n}") for n in range(120)])
            assert changes_of(control, "a") == [f"s{n}" for n in range(120)]
            first = control.list_changes("a", 0, 50)
            assert [each.entry.seq for each in first] == list(range(1, 51))
            assert changes_of(control, "a", after=118) == ["s118", "s119"]
            assert control.list_changes("a", 120, 10) == []

    def test_each_owner_has_a_feed(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control:
            assert control.find_last_change("a") == 0
            _tell(control, [make_change("a", "one")])
            last = _tell(control, [make_change("b", "two")])
            assert changes_of(control, "a") == ["one"]
            assert changes_of(control, "b") == ["two"]
            assert control.find_last_change("a") < control.find_last_change("b") == last
            assert control.find_last_change("c") == 0

    def test_whoever_follows_the_feed_misses_nothing(self, tmp_path: Path) -> None:
        """Numbers are in the order in which they can be seen, however many write."""
        with closing(self.open(tmp_path)) as control, ThreadPoolExecutor(_WRITERS) as pool:

            def write(writer: int) -> None:
                with closing(self.open(tmp_path)) as mine:
                    for each in range(_EACH):
                        _tell(mine, [make_change("a", f"{writer}/{each}")])

            writers = [pool.submit(write, writer) for writer in range(_WRITERS)]
            seen: list[str] = []
            last = 0
            while True:
                are_done = all(each.done() for each in writers)
                found = control.list_changes("a", last, 1000)
                assert [each.entry.seq for each in found] == sorted(each.entry.seq for each in found)
                last = found[-1].entry.seq if found else last
                seen += (each.entry.session for each in found)
                if are_done:
                    break
            for each in writers:
                each.result()
            assert sorted(seen) == sorted(f"{w}/{n}" for w in range(_WRITERS) for n in range(_EACH))

    def test_the_feed_has_a_name_that_can_be_changed(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            former = control.find_epoch()
            assert former == other.find_epoch() != ""
            control.renew_epoch()
            assert control.find_epoch() == other.find_epoch() != former
