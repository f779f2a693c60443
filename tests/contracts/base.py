"""An engine under test, and how it is damaged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import SkipTest

from turnlog.store.interface import MaintainedStore
from turnlog.testing.checks import ContractBase


class EngineBase(ContractBase):
    """An engine under test.

    How a store is damaged is its own affair: `spoil_records` and `spoil_bytes` do it behind its back. Where
    they are not written, the contracts that need them are skipped.
    """

    @abstractmethod
    def make_store(self, tmp_path: Path) -> MaintainedStore:
        """Return an empty store."""

    @abstractmethod
    def reopen(self, tmp_path: Path) -> MaintainedStore:
        """Return another handle on the store that was made for the same `tmp_path`, closed meanwhile or not."""

    def spoil_records(self, tmp_path: Path, key: str) -> None:
        """Make the segments of a session contradict each other, in a store which is closed."""
        raise SkipTest("nobody says how the records of this store are damaged")

    def spoil_bytes(self, tmp_path: Path, source: str) -> None:
        """Change archived bytes of a source in a store, which is closed, so that they cannot be read."""
        raise SkipTest("nobody says how the bytes of this store are damaged")

    @contextmanager
    def opened_engine(self, tmp_path: Path) -> Iterator[MaintainedStore]:
        """Yield an empty store, and close it behind the test."""
        with closing(self.make_store(tmp_path)) as store:
            yield store

    @contextmanager
    def reopened_engine(self, tmp_path: Path) -> Iterator[MaintainedStore]:
        """Yield another handle on the same store, and close it behind the test."""
        with closing(self.reopen(tmp_path)) as store:
            yield store
