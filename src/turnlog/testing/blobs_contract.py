"""What any `Blobs` must keep to, one test for each contract.

A test module has a class of its own with one method, and every implementation runs the same tests:

    class TestContract(BlobsContract):
        def open(self, tmp_path):
            return open_blobs(str(tmp_path / "blobs"))

The first call of a test gives what is empty, each further one opens the same again, as another server would.
"""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from turnlog.store.blobs.interface import Blobs

__all__ = ["BlobsContract"]

_NAMES = ("2026-10/a/1", "2026-11/a/1", "2026-11/a/10", "2026-11/a/9", "2026-11/a-b/3", "2026-11/b/2")
_NO_NAMES = ("", "/", "a/", "/a", "a//b", "..", "../a", "a/../b", "a/./b", ".hidden", "a/.hidden", "ä")
_LARGE = 35 << 20
"""Two parts of what is sent in parts, and some more."""


class BlobsContract(ABC):
    """All contracts of what keeps bytes."""

    @abstractmethod
    def open(self, tmp_path: Path) -> Blobs:
        """Return what keeps bytes."""

    def test_bytes_come_back_from_any_range(self, tmp_path: Path) -> None:
        data = Random(1).randbytes(100_000)
        self.open(tmp_path).put("2026-11/a/1", data)
        blobs = self.open(tmp_path)
        for start, length in ((0, 100_000), (0, 1), (99_999, 1), (500, 70_000), (0, 0), (100_000, 0)):
            assert blobs.get("2026-11/a/1", start, length) == data[start : start + length]

    def test_several_ranges_may_be_asked_for_at_once(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        for number in range(40):
            blobs.put(f"a/{number}", b"%d" % number * 10)
        wanted = [(f"a/{number}", number % 3, 5) for number in reversed(range(40))]
        assert blobs.get_many(wanted) == [blobs.get(*each) for each in wanted]
        assert blobs.get_many([]) == []
        _expect(KeyError, blobs.get_many, [*wanted, ("a/40", 0, 1)])

    def test_behind_the_end_there_are_no_bytes(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        blobs.put("a/1", b"abc")
        blobs.put("a/2", b"")
        assert blobs.get("a/1", 1, 10) == b"bc"
        assert blobs.get("a/1", 3, 10) == b""
        assert blobs.get("a/1", 30, 10) == b""
        assert blobs.get("a/2", 0, 10) == b""

    def test_what_is_not_there_is_a_key_error(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        blobs.put("a/1", b"abc")
        for name in ("a", "a/2", "b/1", "1"):
            for length in (0, 3):
                _expect(KeyError, blobs.get, name, 0, length)

    def test_what_has_a_name_is_replaced(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        for data in (b"first and long", b"second", b""):
            blobs.put("a/1", data)
            assert self.open(tmp_path).get("a/1", 0, 100) == data
        assert list(blobs.list_under()) == [("a/1", 0)]

    def test_large_bytes_come_back(self, tmp_path: Path) -> None:
        data = Random(2).randbytes(_LARGE)
        blobs = self.open(tmp_path)
        blobs.put("a/1", data)
        assert blobs.get("a/1", 0, _LARGE) == data
        assert blobs.get("a/1", _LARGE - 7, 100) == data[-7:]
        assert list(blobs.list_under("a/")) == [("a/1", _LARGE)]

    def test_names_are_listed_in_order_with_their_sizes(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        assert list(blobs.list_under()) == list(blobs.list_under("2026-11/")) == []
        assert blobs.list_folders() == []
        for size, name in enumerate(_NAMES):
            blobs.put(name, b"x" * size)
        sizes = {name: size for size, name in enumerate(_NAMES)}
        assert list(blobs.list_under()) == sorted(sizes.items())
        for prefix in ("2026-11/", "2026-11/a/", "2026-1/"):
            expected = sorted((name, size) for name, size in sizes.items() if name.startswith(prefix))
            assert list(blobs.list_under(prefix)) == expected
        assert blobs.list_folders() == ["2026-10", "2026-11"]

    def test_what_is_deleted_is_gone_and_the_rest_stays(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        for name in _NAMES:
            blobs.put(name, b"x")
        blobs.delete(["2026-11/a/1", "2026-11/a/2", "2026-11/b/2", "nowhere/1"])
        blobs.delete([])
        assert [name for name, _ in blobs.list_under()] == sorted({*_NAMES} - {"2026-11/a/1", "2026-11/b/2"})
        assert blobs.delete_under("2026-11/a/") == 2
        assert [name for name, _ in blobs.list_under()] == ["2026-10/a/1", "2026-11/a-b/3"]
        assert blobs.delete_under("2026-1/") == blobs.delete_under("nowhere/") == 0
        assert blobs.delete_under("2026-11/") == 1
        assert blobs.list_folders() == ["2026-10"]
        blobs.put("2026-11/a/1", b"again")
        assert blobs.get("2026-11/a/1", 0, 9) == b"again"

    def test_what_is_no_name_is_refused(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        for name in _NO_NAMES:
            _expect(ValueError, blobs.put, name, b"x")
            _expect(ValueError, blobs.get, name, 0, 1)
            _expect(ValueError, blobs.delete, [name])
        for prefix in ("", "/", "a", "../", "a/../"):
            _expect(ValueError, blobs.delete_under, prefix)
        assert list(blobs.list_under()) == []

    def test_several_threads_may_use_it(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)

        def work(number: int) -> int:
            name = f"2026-11/{number % 3}/{number}"
            blobs.put(name, b"%d" % number)
            found = int(blobs.get(name, 0, 9))
            blobs.delete([name])  # which may leave a folder empty that others write to
            return found

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(work, range(30))) == list(range(30))
        assert list(blobs.list_under()) == []

    def test_closing_again_does_nothing(self, tmp_path: Path) -> None:
        blobs = self.open(tmp_path)
        blobs.close()
        blobs.close()


def _expect(kind: type[Exception], call: Callable[..., object], *given: object) -> None:
    try:
        found = call(*given)
    except kind:
        return
    raise AssertionError(f"Expected {kind.__name__}, got {found!r}")
